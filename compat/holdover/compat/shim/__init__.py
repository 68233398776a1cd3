"""Old import paths of LangChain keep working, and say what to write instead.

    from holdover.compat import shim
    shim.install()
    from langchain.memory import ConversationEntityMemory

What became of each path is data: see `entries`. To find what an application still
uses, run it and read `report()`, or run it with `holdover exec`.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from holdover.compat.shim.entries import ROOTS
from holdover.compat.shim.finding import OldPaths
from holdover.compat.shim.patching import LostNames
from holdover.compat.shim.usage import (
    LegacyImportWarning,
    Report,
    Use,
    begin,
    report,
)

if TYPE_CHECKING:
    from holdover.compat.placeholders import NoLongerExists, Placeholder
    from holdover.compat.shim.pickles import load, loads

__all__ = [
    "LegacyImportWarning",
    "NoLongerExists",
    "Placeholder",
    "Report",
    "Use",
    "install",
    "installed",
    "load",
    "loads",
    "report",
    "startup_path",
    "uninstall",
]

#: What only reads pickles, by the module it is in.
_LATER = {
    "NoLongerExists": "placeholders",
    "Placeholder": "placeholders",
    "load": "shim.pickles",
    "loads": "shim.pickles",
}
_lock = threading.RLock()
_hooks: tuple[OldPaths, LostNames] | None = None
#: Whether `install()` was called, and how many blocks of `installed()` are running.
_is_wanted = False
_blocks = 0


def install(*, override: bool = False) -> None:
    """Let old paths be imported from now on; a second call changes nothing.

    A module that exists is used as it is, and gains only the names that it lost. With
    `override`, the classic memory classes of installed packages are replaced by ours
    as well: call it before the application's imports, since what was imported by name
    keeps the old class; a warning lists where.

    `HOLDOVER_SHIM` says what a use of an old path does besides working: `once`
    (default) warns once for each line, `silent` only keeps it for `report()`, `error`
    raises `LegacyImportWarning`.

    Raises:
        UnknownMode: `HOLDOVER_SHIM` is something else; a `ValueError`.
    """
    global _is_wanted  # noqa: PLW0603
    with _lock:
        _switch_on(override=override)
        _is_wanted = True


def uninstall() -> None:
    """Leave `sys.meta_path`, `sys.modules` and the real modules as they were.

    It ends every block of `installed()` as well. Names that were imported stay; so do
    the real modules that they are in.
    """
    global _is_wanted, _blocks
    with _lock:
        _is_wanted, _blocks = False, 0
        _switch_off()


@contextlib.contextmanager
def installed(*, override: bool = False) -> Iterator[None]:
    """Let old paths be imported within a block.

    The last of several blocks ends it, whichever that is, and none after `install()`.
    """
    global _blocks  # noqa: PLW0603
    with _lock:
        _switch_on(override=override)
        _blocks += 1
    try:
        yield
    finally:
        with _lock:
            _blocks = max(_blocks - 1, 0)
            if not _blocks and not _is_wanted:
                _switch_off()


def _switch_on(*, override: bool) -> None:
    global _hooks  # noqa: PLW0603
    if _hooks is None:
        begin()
        old_paths = OldPaths()
        _hooks = (old_paths, LostNames(old_paths))
        sys.meta_path.insert(0, _hooks[1])
        sys.meta_path.append(old_paths)
        _hooks[1].patch_loaded()
    if override and not _hooks[1].overrides:
        _build_bases()
        _hooks[1].overrides = True
        _hooks[1].patch_loaded()
        _warn_of_keepers(_hooks[1])


def _switch_off() -> None:
    global _hooks  # noqa: PLW0603
    if _hooks is None:
        return
    for hook in _hooks:
        if hook in sys.meta_path:
            sys.meta_path.remove(hook)
        hook.withdraw()
    _hooks = None


def startup_path() -> str:
    """A folder that installs the shim when Python starts, if in `PYTHONPATH`."""
    return str(Path(__file__).with_name("startup"))


def _build_bases() -> None:
    """Make our classes before anything is replaced: they build on the classic ones."""
    import holdover.compat.base  # noqa: F401, PLC0415


def _warn_of_keepers(lost_names: LostNames) -> None:
    """Name the modules that took an old class before it was replaced."""
    replaced = {id(old) for _, old in lost_names.replaced() if isinstance(old, type)}
    # Objects of others are asked by their type alone: some raise when they are not.
    keepers = sorted(
        f"{place} ({name})"
        for place, module in list(sys.modules.items())
        if issubclass(type(module), ModuleType)
        if place.partition(".")[0] not in (*ROOTS, "holdover")
        for name, value in list(ModuleType.__getattribute__(module, "__dict__").items())
        if issubclass(type(value), type)
        if not replaced.isdisjoint(map(id, type.__getattribute__(value, "__mro__")))
    )
    if keepers:
        warnings.warn(
            "These modules were imported before override=True and keep the old "
            f"classes: {', '.join(keepers)}. Install the shim before them.",
            LegacyImportWarning,
            stacklevel=4,
        )


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"holdover.compat.{_LATER[name]}"), name)
