"""The object that an old import path means now."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from holdover.compat.chat_message_histories.forwarded import FORWARDED, forwarded
from holdover.compat.errors import MissingDependency
from holdover.compat.real_modules import import_real
from holdover.compat.shim.entries import (
    Answer,
    Kind,
    answer,
    answer_without_classic,
    in_classic,
)

__all__ = ["SETTINGS", "Removed", "resolve", "said_of"]

_CORE = "langchain-core"
#: Settings that were attributes, and what they are where nobody sets them any more.
SETTINGS = {
    ("langchain", "debug"): False,
    ("langchain", "llm_cache"): None,
    ("langchain", "verbose"): False,
}


class Removed(MissingDependency):
    """A name that no package has any more."""

    code = "removed"


def resolve(module: str, name: str) -> Any:
    """The object that `module.name` means now.

    Raises:
        AttributeError: It never was a name of that module, as far as we know.
        ImportError: It was removed, or the package it is in now is not installed.
    """
    found = answer(module, name) or answer_without_classic(module, name)
    if found is None:
        return _unlisted(module, name)
    if (module, name) in SETTINGS:
        return SETTINGS[module, name]
    if found.kind is Kind.REMOVED:
        raise Removed(f"{module}.{name} does not exist any more.", hint=found.why)
    return _imported(f"{module}.{name}", found)


def _unlisted(module: str, name: str) -> Any:
    """A name that the table does not have, but classic's module of that path."""
    if module.startswith("langchain_community.") and name in FORWARDED:
        return forwarded(name)
    if module.partition(".")[0] == "langchain":
        try:
            return getattr(_real(in_classic(module)), name)
        except (ImportError, AttributeError):
            pass
    raise AttributeError(f"module {module!r} has no attribute {name!r}")


def _imported(old: str, found: Answer) -> Any:
    if found.kind is Kind.FORWARDED and found.name in FORWARDED:
        return forwarded(found.name)
    try:
        module = _real(found.module)
    except ModuleNotFoundError as error:
        raise _missing(old, found, error) from error
    try:
        return getattr(module, found.name)
    except AttributeError as error:
        package = found.package or _CORE
        raise MissingDependency(
            f"{old} is {found.path} now, which the installed {package} lacks.",
            hint=f"Run: pip install -U {package}",
        ) from error


def _missing(old: str, found: Answer, error: ModuleNotFoundError) -> ImportError:
    package = found.package or _CORE
    root = found.module.partition(".")[0]
    missing = error.name or root
    if missing.partition(".")[0] in (root, "langchain"):
        why = f"{package} is not installed, or lacks that module"
    else:
        # What a module is called says little about who distributes it.
        why = f"{package} needs the module {missing}, which is not installed"
    now = ":" if found.path == old else f" is {found.path} now;"
    hint = f"Run: pip install -U {package}"
    return MissingDependency(f"{old}{now} {why}.", hint=hint)


def _real(name: str) -> ModuleType:
    """Import a module, and not one that the shim made.

    What became langchain_classic is under the name of langchain in 0.3.
    """
    try:
        return import_real(name)
    except ModuleNotFoundError:
        root, _, rest = name.partition(".")
        if root != "langchain_classic":
            raise
        try:
            return import_real(f"langchain.{rest}")
        except ImportError:
            pass
        raise


def said_of(module: str, name: str, found: Answer | None) -> str:
    """What to write instead, in one sentence."""
    if found is None:
        return f"write: from {in_classic(module)} import {name}"
    if found.kind is Kind.REMOVED:
        return f"it was removed. {found.why}"
    renamed = f" as {name}" if found.name != name else ""
    return f"write: from {found.module} import {found.name}{renamed}"
