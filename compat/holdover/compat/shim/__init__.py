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
from typing import TYPE_CHECKING, Any

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
_hooks: list[tuple[OldPaths, LostNames]] = []


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
    with _lock:
        if _hooks and not override:
            return
        if not _hooks:
            begin()
        if override:
            _build_bases()
        old_paths, lost_names = OldPaths(), LostNames(override=override)
        sys.meta_path.insert(0, lost_names)
        sys.meta_path.append(old_paths)
        _hooks.append((old_paths, lost_names))
        lost_names.patch_loaded()
        if override:
            _warn_of_keepers(lost_names)


def uninstall() -> None:
    """Leave `sys.meta_path`, `sys.modules` and the real modules as they were.

    Names that were imported stay; so do the real modules that they are in.
    """
    with _lock:
        while _hooks:
            old_paths, lost_names = _hooks.pop()
            for hook in (old_paths, lost_names):
                if hook in sys.meta_path:
                    sys.meta_path.remove(hook)
            lost_names.withdraw()
            old_paths.withdraw()


@contextlib.contextmanager
def installed(*, override: bool = False) -> Iterator[None]:
    """Let old paths be imported within a block.

    Inside another one, or after `install()`, they can be imported after it as well.
    """
    with _lock:
        outermost = not _hooks
        install(override=override)
    try:
        yield
    finally:
        if outermost:
            uninstall()


def startup_path() -> str:
    """A folder that installs the shim when Python starts, if in `PYTHONPATH`."""
    return str(Path(__file__).with_name("startup"))


def _build_bases() -> None:
    """Make our classes before anything is replaced: they build on the classic ones."""
    import holdover.compat.base  # noqa: F401, PLC0415


def _warn_of_keepers(lost_names: LostNames) -> None:
    """Name the modules that took an old class before it was replaced."""
    replaced = {id(old): path for path, old in lost_names.replaced()}
    keepers = sorted(
        f"{module.__name__} ({name})"
        for module in list(sys.modules.values())
        if not getattr(module, "__name__", "").startswith(("langchain", "holdover"))
        for name, value in list(getattr(module, "__dict__", {}).items())
        if id(value) in replaced and isinstance(value, type)
    )
    if keepers:
        warnings.warn(
            "These modules were imported before override=True and keep the old "
            f"classes: {', '.join(keepers)}. Install the shim before them.",
            LegacyImportWarning,
            stacklevel=3,
        )


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"holdover.compat.{_LATER[name]}"), name)
