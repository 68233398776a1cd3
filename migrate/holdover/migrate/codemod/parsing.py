"""Reads a source with libcst, and never with more nesting than it can stand."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from holdover.migrate.codemod.errors import Unparsable

_TOO_DEEP = "it is nested too deeply to be read"
#: Nodes within each other. From 3.13 on Python itself stands more than libcst does.
_DEEPEST = 1000


def parse(source: str) -> cst.Module:
    """The tree of a source.

    Raises:
        Unparsable: It is not Python 3, or nested too deeply.
    """
    # libcst's own parser overflows the stack of the process on deep nesting, where
    # Python's refuses. Other things that Python refuses may be a newer Python's.
    refused: Exception | None = None
    try:
        if _is_deep(_python(source, ast.PyCF_ONLY_AST)):
            raise Unparsable(_TOO_DEEP)
    except (RecursionError, MemoryError) as error:
        raise Unparsable(_TOO_DEEP) from error
    except UnicodeEncodeError as error:
        line = 1 + source.count("\n", 0, error.start)
        raise Unparsable("it holds half a character", line=line) from error
    except (SyntaxError, ValueError) as error:
        refused = error
        if "too many" in str(error):
            raise Unparsable(_TOO_DEEP, line=_line(error)) from error
    try:
        return cst.parse_module(source)
    except (cst.ParserSyntaxError, cst.CSTValidationError) as error:
        line, reason = getattr(error, "raw_line", 0), "it is not Python 3"
        if isinstance(refused, SyntaxError) and refused.msg:
            line, reason = _line(refused), f"{reason} ({refused.msg})"
        raise Unparsable(reason, line=line) from error
    except RecursionError as error:
        raise Unparsable(_TOO_DEEP) from error


def positions(tree: cst.Module) -> Mapping[cst.CSTNode, CodeRange]:
    """Where each node stands.

    Raises:
        Unparsable: It is nested too deeply.
    """
    try:
        wrapper = MetadataWrapper(tree, unsafe_skip_copy=True)
        return wrapper.resolve(PositionProvider)
    except (RecursionError, KeyError) as error:
        # Where it cannot go deeper, libcst misses a node that it has not reached.
        raise Unparsable(_TOO_DEEP) from error


def still_parses(before: str, after: str) -> bool:
    """Whether a rewritten source is as good Python as it was."""
    try:
        _python(after)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        try:
            _python(before)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass  # a newer Python's, perhaps
        else:
            return False
        try:
            cst.parse_module(after)
        except (
            cst.ParserSyntaxError,
            cst.CSTValidationError,
            RecursionError,
            UnicodeEncodeError,
        ):
            return False
    return True


def _python(source: str, flags: int = 0) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the source, such as a stray backslash
        return compile(source, "<source>", "exec", flags, dont_inherit=True)


def _is_deep(tree: object) -> bool:
    level = [tree] if isinstance(tree, ast.AST) else []
    for _ in range(_DEEPEST):
        level = [below for node in level for below in ast.iter_child_nodes(node)]
        if not level:
            return False
    return True


def _line(error: Exception) -> int:
    return (error.lineno or 0) if isinstance(error, SyntaxError) else 0
