"""Modules that do not exist: found last, and served name by name.

The finder stands at the end of `sys.meta_path`, so that a real module always wins.
Its modules hold no names; each is looked up when it is asked for.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from holdover.compat.real_modules import SERVED
from holdover.compat.shim import entries, usage
from holdover.compat.shim.resolving import SETTINGS, resolve

__all__ = ["OldPaths", "serve"]

_ORIGIN = "holdover.compat.shim"


def serve(module: str, name: str) -> Any:
    """The object of an old name, or the old module of it; the use is noted.

    Raises:
        AttributeError: It is neither.
        ImportError: It was removed, or is in a package that is not installed.
    """
    path = f"{module}.{name}"
    found = entries.answer(module, name) or entries.answer_without_classic(module, name)
    if found is None and entries.knows_module(path):
        return importlib.import_module(path)
    if found is None:
        value = resolve(module, name)  # raises before it is noted
        usage.note(module, name, None)
        return value
    if found.path != path:
        usage.note(module, name, found)
    return resolve(module, name)


class OldModule(ModuleType):
    """A module of LangChain before 1.0 that is gone."""

    def __getattr__(self, name: str) -> Any:
        """Look up a name, or say what became of it."""
        if name == "__all__":
            usage.note_star(self.__name__)
            return list(_resolvable(self.__name__))
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if (self.__name__, name) in SETTINGS:
            # langchain-core 0.3 asks at every call of a model, where it finds a
            # langchain; nobody's code is to be changed for that.
            return SETTINGS[self.__name__, name]
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
        return OldModule(spec.name, f"Served by {_ORIGIN}: see docs/import-paths.")

    def exec_module(self, module: ModuleType) -> None:
        """Mark it; there is nothing to run."""
        module.__class__ = OldModule  # a lazy loader has given it another
        setattr(module, SERVED, True)

    def withdraw(self) -> None:
        """Take all modules out of `sys.modules`, and off their parents."""
        for name, module in list(sys.modules.items()):
            if type(module) is not OldModule:
                continue
            del sys.modules[name]
            parent, _, last = name.rpartition(".")
            above = sys.modules.get(parent)
            if isinstance(vars(above).get(last) if above else None, OldModule):
                delattr(above, last)
