"""Move what LangChain's classic memory left behind into a LangGraph store.

One function per command of `holdover`, usable from Python; each returns a
dataclass, and the command line only prints it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdover.migrate.care import forget, probe, sweep
    from holdover.migrate.errors import MigrateError
    from holdover.migrate.options import Options
    from holdover.migrate.rollback import rollback
    from holdover.migrate.run import migrate, verify
    from holdover.migrate.scan import scan
    from holdover.migrate.sources.base import ReadOptions
    from holdover.migrate.status import status

_FROM = {
    "MigrateError": ("errors", "MigrateError"),
    "Options": ("options", "Options"),
    "ReadOptions": ("sources.base", "ReadOptions"),
    "forget": ("care", "forget"),
    "migrate": ("run", "migrate"),
    "probe": ("care", "probe"),
    "rollback": ("rollback", "rollback"),
    "scan": ("scan", "scan"),
    "status": ("status", "status"),
    "sweep": ("care", "sweep"),
    "verify": ("run", "verify"),
}

__all__ = [
    "MigrateError",
    "Options",
    "ReadOptions",
    "forget",
    "migrate",
    "probe",
    "rollback",
    "scan",
    "status",
    "sweep",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in _FROM:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _FROM[name]
    return getattr(importlib.import_module(f"{__name__}.{module}"), attribute)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
