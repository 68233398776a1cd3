"""Modules that are installed, as opposed to those the shim serves in their place."""

from __future__ import annotations

import importlib
from types import ModuleType

__all__ = ["SERVED", "import_real", "is_served"]

#: What the shim's own modules carry in their namespace.
SERVED = "__holdover_shim__"


def is_served(module: ModuleType) -> bool:
    """Whether a module is one that the shim made."""
    return SERVED in vars(module)


def import_real(name: str) -> ModuleType:
    """Import a module that is installed.

    Raises:
        ModuleNotFoundError: There is none, or only one that the shim serves.
    """
    module = importlib.import_module(name)
    if is_served(module):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return module
