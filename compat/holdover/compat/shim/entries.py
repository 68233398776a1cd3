"""What became of each import path of LangChain before 1.0.

`data/homes.json` is made by `docs/measure/old_paths.py` from the sources of the
releases; `data/reviewed.json` holds what was decided by hand. Nothing is read before
the first question.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

__all__ = [
    "ROOTS",
    "Answer",
    "Kind",
    "all_modules",
    "answer",
    "answer_without_classic",
    "in_classic",
    "is_gone",
    "knows_module",
    "names_of",
    "star_names",
]

ROOTS = ("langchain", "langchain_classic", "langchain_core", "langchain_community")
_OURS = "holdover.compat"
#: In `homes.json`, for "the same path in langchain_classic".
_SAME = "="
_CODES = {
    "langchain_core": "HO201",
    "langchain_community": "HO202",
    "langchain_text_splitters": "HO203",
    "langchain_classic": "HO204",
}
_ELSEWHERE = "HO205"
_REMOVED = "HO401"
#: What langchain-classic still serves by itself, so that its paths are left alone.
_ALIVE_IN_CLASSIC = (*_CODES, _OURS)


class Kind(StrEnum):
    """The three things that can have become of a path."""

    MOVED = "moved"
    FORWARDED = "forwarded"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one name.

    Attributes:
        kind: Moved to Holdover, forwarded to another package, or removed.
        module: Where to import it from now; empty if it was removed.
        name: What it is called there.
        code: The code of the warning, and of the codemod's rule.
        why: Of a removed name, the reason and what to use instead.
        package: What `pip install` needs for it; empty for what Holdover depends on.
    """

    kind: Kind
    module: str
    name: str
    code: str
    why: str = ""
    package: str = ""

    @property
    def path(self) -> str:
        """The new dotted path; empty if it was removed."""
        return f"{self.module}.{self.name}" if self.module else ""


@dataclass(frozen=True, slots=True)
class _Module:
    names: Mapping[str, Answer]
    star: tuple[str, ...]
    gone: bool


def answer(module: str, name: str) -> Answer | None:
    """What became of a name of a module; `None` if it stays, or never was one."""
    return _table(module).names.get(name)


def answer_without_classic(module: str, name: str) -> Answer | None:
    """The same for a path in langchain_classic, where that is not there any more."""
    root, dot, rest = module.partition(".")
    return (
        answer(f"langchain{dot}{rest}", name) if root == "langchain_classic" else None
    )


def names_of(module: str) -> Iterable[str]:
    """The names of a module that have an answer."""
    return _table(module).names.keys()


def all_modules() -> tuple[str, ...]:
    """The old modules, but for those of langchain_classic, in alphabetical order."""
    return tuple(_data())


def star_names(module: str) -> tuple[str, ...]:
    """What `from module import *` gave in the last release that had the module."""
    return _table(module).star


def knows_module(module: str) -> bool:
    """Whether some name of that module has an answer, or of a module below it."""
    if module.partition(".")[0] not in ROOTS:
        return False
    return bool(_table(module).names) or module in _parents()


def is_gone(module: str) -> bool:
    """Whether LangChain 1.x has no module of that name."""
    return knows_module(module) and _table(module).gone


@functools.cache
def _table(module: str) -> _Module:
    of_classic = module.partition(".")[0] == "langchain_classic"
    old = (
        "langchain" + module.removeprefix("langchain_classic") if of_classic else module
    )
    found = _data().get(old)
    if found is None:
        return _Module({}, (), gone=_is_gone_parent(module))
    names = _read(old, found)
    if of_classic:
        names = {name: one for name, one in names.items() if _leaves(module, one)}
    hidden = found.get("hidden")
    star = (
        name
        for name in names
        if (name[:1] != "_" if hidden is None else name not in hidden)
    )
    return _Module(names, tuple(star), gone=not of_classic and not found.get("stays"))


def _read(module: str, found: Mapping[str, Any]) -> dict[str, Answer]:
    names = {}
    for home, held in found["homes"].items():
        where = in_classic(module) if home == _SAME else home
        for entry in held:
            name, _, renamed = entry.partition("=")
            names[name] = _found(where, renamed or name)
    for name, why in found.get("removed", {}).items():
        names[name] = Answer(Kind.REMOVED, "", "", _REMOVED, why=why)
    return names


def _found(module: str, name: str) -> Answer:
    root = module.partition(".")[0]
    if root == "holdover":
        return Answer(Kind.MOVED, module, name, _code_of_ours(module, name))
    package = _reviewed()["packages"].get(root, root.replace("_", "-"))
    if root == "langchain_core":
        package = ""
    code = _CODES.get(root, _ELSEWHERE)
    return Answer(Kind.FORWARDED, module, name, code, package=package)


def _code_of_ours(module: str, name: str) -> str:
    if module == f"{_OURS}.prompt":
        return "HO105"
    if module.startswith(f"{_OURS}.chat_message_histories"):
        return "HO102"
    if name.startswith("Base") or name[0].islower():
        return "HO104"
    if name.endswith("ChatMessageHistory"):
        return "HO102"
    return "HO103" if name.endswith("EntityStore") else "HO101"


def _leaves(module: str, one: Answer) -> bool:
    """Whether a name must leave langchain_classic, or will when its memory goes."""
    if one.kind is not Kind.FORWARDED:
        return True
    if module.startswith("langchain_classic.memory"):
        return not one.module.startswith("langchain_classic.memory")
    return one.module.partition(".")[0] not in _ALIVE_IN_CLASSIC


@functools.cache
def _parents() -> frozenset[str]:
    """The packages above the modules of the table."""
    above = set()
    for module, found in _data().items():
        serves_ours = any(home.startswith(_OURS) for home in found["homes"])
        package = module
        while package := package.rpartition(".")[0]:
            above.add(package)
            if serves_ours and module.startswith("langchain."):
                above.add(in_classic(package))
    return frozenset(above)


def in_classic(module: str) -> str:
    """The same path of a module of langchain in langchain_classic."""
    return "langchain_classic" + module[len("langchain") :]


def _is_gone_parent(module: str) -> bool:
    return module not in ROOTS and not module.startswith("langchain_classic")


@functools.cache
def _data() -> dict[str, Any]:
    modules: dict[str, Any] = _read_data("homes.json")["modules"]
    return modules


@functools.cache
def _reviewed() -> dict[str, Any]:
    return _read_data("reviewed.json")


def _read_data(name: str) -> dict[str, Any]:
    from importlib.resources import files  # noqa: PLC0415 - slow, and often not needed

    data = files(__package__).joinpath("data", name).read_text("utf-8")
    found: dict[str, Any] = json.loads(data)
    return found
