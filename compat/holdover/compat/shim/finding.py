"""Modules that do not exist: found last, and served name by name.

The finder stands at the end of `sys.meta_path`, so that a real module always wins.
Its modules hold no names; each is looked up when it is asked for.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Iterable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from holdover.compat.real_modules import SERVED
from holdover.compat.shim import entries, usage
from holdover.compat.shim.resolving import resolve

__all__ = ["OldPaths", "serve"]

_ORIGIN = "holdover.compat.shim"


def serve(module: str, name: str) -> Any:
    """The object of an old name, or the old module of it; the use is noted.

    Raises:
        AttributeError: It is neither.
        ImportError: It was removed, or is in a package that is not installed.
    """
    found = entries.answer(module, name) or entries.answer_without_classic(module, name)
    if found is None and entries.knows_module(f"{module}.{name}"):
        return importlib.import_module(f"{module}.{name}")
    if found is None:
        value = resolve(module, name)  # raises before it is noted
    usage.note(module, name, found)
    return value if found is None else resolve(module, name)


class OldModule(ModuleType):
    """A module of LangChain before 1.0 that is gone."""

    def __getattr__(self, name: str) -> Any:
        """Look up a name, or say what became of it."""
        if name == "__all__":
            usage.note_star(self.__name__)
            return list(_resolvable(self.__name__))
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return serve(self.__name__, name)

    def __dir__(self) -> Iterable[str]:
        """What can be imported from it here."""
        return sorted({*vars(self), *_resolvable(self.__name__)})


def _resolvable(module: str) -> Iterable[str]:
    for name in entries.star_names(module):
        try:
            resolve(module, name)
        except (ImportError, AttributeError):
            continue
        yield name


class OldPaths:
    """Finds the modules that became something else."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[str, OldModule] = {}

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """Serve a module that the table knows; every one may have modules below it."""
        if not entries.knows_module(fullname):
            return None
        return ModuleSpec(fullname, self, origin=_ORIGIN, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Make an empty module."""
        module = OldModule(spec.name, f"Served by {_ORIGIN}: see docs/import-paths.")
        with self._lock:
            self._made[spec.name] = module
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Mark it; there is nothing to run."""
        setattr(module, SERVED, True)

    def withdraw(self) -> None:
        """Take all modules out of `sys.modules`, and off their parents."""
        with self._lock:
            made, self._made = self._made, {}
        for name, module in made.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]
            parent, _, last = name.rpartition(".")
            above = sys.modules.get(parent)
            if above is not None and vars(above).get(last) is module:
                delattr(above, last)


def real_spec(
    finder: object,
    fullname: str,
    path: Sequence[str] | None,
    target: ModuleType | None,
) -> ModuleSpec | None:
    """What the other finders say, without ours."""
    for other in sys.meta_path:
        if other is finder or isinstance(other, OldPaths):
            continue
        find_spec = getattr(other, "find_spec", None)
        spec = find_spec(fullname, path, target) if find_spec else None
        if spec is not None:
            return spec  # type: ignore[no-any-return]
    return None
