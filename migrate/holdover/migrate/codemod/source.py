"""Rewrites one source text: what the rules ask for, and not a byte more."""

from __future__ import annotations

from holdover.compat.shim.entries import ROOTS
from holdover.migrate.codemod import (
    arguments,
    fallbacks,
    from_imports,
    modules,
    paths,
)
from holdover.migrate.codemod.draft import Draft
from holdover.migrate.codemod.errors import Unparsable
from holdover.migrate.codemod.findings import Finding, Rewritten
from holdover.migrate.codemod.names import Names
from holdover.migrate.codemod.parsing import parse
from holdover.migrate.codemod.text import FormFeeds

__all__ = ["Finding", "Rewritten", "Unparsable", "rewrite"]

_PASSES = (
    modules.plan,
    arguments.plan,
    paths.plan,
    from_imports.write,
    fallbacks.collapse,
)


def rewrite(
    source: str,
    *,
    codes: frozenset[str],
    module: str = "",
    stub: bool = False,
) -> Rewritten:
    """Apply the rules in `codes` to a source text.

    Args:
        source: Python text, newlines untouched, without a byte order mark.
        codes: The rules to apply.
        module: The dotted package the file lies in, if known; with `.__init__` after
            it, the file is the package's own.
        stub: It is a `.pyi` file, whose imports are there for others to import.

    Raises:
        Unparsable: It is not Python 3, or nested too deeply.
    """
    if not any(root in source for root in (ROOTS[0], "holdover")):
        return Rewritten(source, ())
    reexports = stub or module.rpartition(".")[2] == "__init__"
    held = FormFeeds(source)
    tree = parse(held.without)
    try:
        draft = Draft(held, tree, Names(tree), codes, reexports=reexports)
        for run in _PASSES:
            run(draft)
        return draft.finish()
    except RecursionError as error:
        raise Unparsable("it is nested too deeply to be read") from error
