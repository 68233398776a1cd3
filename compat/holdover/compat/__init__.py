"""LangChain's classic memory classes, on LangGraph stores.

Names are loaded when they are first used: importing this package imports neither
LangChain's classic packages nor a database driver.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdover.compat.base import BaseEntityStore
    from holdover.compat.configuration import configure, configured
    from holdover.compat.entity_stores import InMemoryEntityStore, SQLiteEntityStore
    from holdover.compat.errors import HoldoverError
    from holdover.compat.redis_entity_stores import (
        RedisEntityStore,
        UpstashRedisEntityStore,
    )
    from holdover.compat.repository import Repository
    from holdover.compat.scope import Scope
    from holdover.compat.stores.opening import close_stores, open_store
    from holdover.compat.stores.probing import probe
    from holdover.compat.stores.redis import PlainRedisStore

_MODULES = {
    "BaseEntityStore": "base",
    "HoldoverError": "errors",
    "InMemoryEntityStore": "entity_stores",
    "PlainRedisStore": "stores.redis",
    "RedisEntityStore": "redis_entity_stores",
    "Repository": "repository",
    "SQLiteEntityStore": "entity_stores",
    "Scope": "scope",
    "UpstashRedisEntityStore": "redis_entity_stores",
    "close_stores": "stores.opening",
    "configure": "configuration",
    "configured": "configuration",
    "open_store": "stores.opening",
    "probe": "stores.probing",
}

__all__ = [
    "BaseEntityStore",
    "HoldoverError",
    "InMemoryEntityStore",
    "PlainRedisStore",
    "RedisEntityStore",
    "Repository",
    "SQLiteEntityStore",
    "Scope",
    "UpstashRedisEntityStore",
    "close_stores",
    "configure",
    "configured",
    "open_store",
    "probe",
]


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
