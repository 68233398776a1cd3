"""Modules that still exist, and have lost names.

A hook at the head of `sys.meta_path` lets the real finders work and then makes the
module one that is asked again for what it lacks. With `override`, names that moved to
us are replaced in the module itself.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from holdover.compat.real_modules import is_served
from holdover.compat.shim import entries
from holdover.compat.shim.entries import Kind
from holdover.compat.shim.finding import OldPaths, serve

__all__ = ["LostNames"]

#: Packages whose modules lost names.
_PACKAGES = entries.ROOTS
_ABSENT = object()


class PartlyOld(ModuleType):
    """A module that still exists; Python asks here after its own `__getattr__`.

    A class, since a function in the module would stand between the module's own and
    its caller, whom that one warns by counting frames.
    """

    def __getattr__(self, name: str) -> Any:
        """Give a lost name."""
        module = self.__name__
        lost = entries.answer(module, name) or entries.is_gone(f"{module}.{name}")
        if name.startswith("__") or not lost:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return serve(module, name)


class LostNames:
    """Gives real modules their lost names, and takes them back."""

    def __init__(self, old_paths: OldPaths) -> None:
        #: Whether names that moved to us are replaced, too.
        self.overrides = False
        self._old_paths = old_paths
        self._lock = threading.RLock()
        self._patched: list[ModuleType] = []
        self._replaced: list[tuple[ModuleType, str, Any, Any]] = []

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Find what the others find, and come after its loader."""
        if fullname.partition(".")[0] not in _PACKAGES:
            return None
        spec = self._real_spec(fullname, path, target)
        if spec is None:
            return None
        if spec.loader is None:  # a folder that an old installation left
            return self._old_paths.find_spec(fullname, path) or spec
        spec.loader = _Afterwards(spec.loader, self.patch)  # type: ignore[assignment]
        return spec

    def _real_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None,
    ) -> ModuleSpec | None:
        """What the other finders say."""
        for other in sys.meta_path:
            find_spec = getattr(other, "find_spec", None)
            if find_spec is None or isinstance(other, LostNames | OldPaths):
                continue
            spec: ModuleSpec | None = find_spec(fullname, path, target)
            if spec is not None:
                return spec
        return None

    def patch_loaded(self) -> None:
        """Give their lost names to the modules that are loaded already."""
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] in _PACKAGES and issubclass(
                type(module), ModuleType
            ):
                self.patch(module)

    def patch(self, module: ModuleType) -> None:
        """Let a module be asked for its lost names."""
        if is_served(module):
            return
        with self._lock:
            if type(module) is ModuleType:
                module.__class__ = PartlyOld
                self._patched.append(module)
        if self.overrides:
            self._replace(module)

    def _replace(self, module: ModuleType) -> None:
        # Ours are imported before the lock is taken: another thread may hold the lock
        # of an import, and wait for ours.
        for name, ours in list(_moved(module.__name__)):
            with self._lock:
                before = vars(module).get(name, _ABSENT)
                if before is not ours:
                    self._replaced.append((module, name, before, ours))
                    setattr(module, name, ours)

    def replaced(self) -> Iterator[tuple[str, Any]]:
        """What `override` took out of modules: the path, and the old object."""
        for module, name, before, _ in self._replaced:
            if before is not _ABSENT:
                yield f"{module.__name__}.{name}", before

    def withdraw(self) -> None:
        """Put back what was there, unless somebody else has changed it since."""
        with self._lock:
            patched, self._patched = self._patched, []
            replaced, self._replaced = self._replaced, []
        for module, name, before, ours in reversed(replaced):
            if vars(module).get(name, _ABSENT) is not ours:
                continue
            if before is _ABSENT:
                delattr(module, name)
            else:
                setattr(module, name, before)
        for module in patched:
            if type(module) is PartlyOld:
                module.__class__ = ModuleType  # type: ignore[assignment]


class _Afterwards:
    """A loader, with something to do after it has run."""

    def __init__(self, loader: Any, then: Callable[[ModuleType], None]) -> None:
        self._loader = loader
        self._then = then

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        # The module is to look as if we had not been here.
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._then(sys.modules.get(module.__name__, module))

    def __getattr__(self, name: str) -> Any:
        """Sources, resources and code are the real loader's."""
        return getattr(self._loader, name)


def _moved(module: str) -> Iterator[tuple[str, Any]]:
    for name in entries.names_of(module):
        found = entries.answer(module, name)
        if found is not None and found.kind is Kind.MOVED:
            yield name, getattr(importlib.import_module(found.module), found.name)
