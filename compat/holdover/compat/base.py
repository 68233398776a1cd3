"""The base classes of this environment: classic's where installed, else our equals.

An old `Chain` or `ConversationEntityMemory` accepts only instances of the classic
classes. No other module imports the classic packages at module level.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from pydantic import BaseModel

#: The package the bases come from; `None` where no classic package is.
CLASSIC: str | None = None


class BaseEntityStore(BaseModel, ABC):
    """The contract of entity stores, as classic's class of this name promises it."""

    @abstractmethod
    def get(self, key: str, default: str | None = None) -> str | None:
        """Give the summary of an entity, or `default`."""

    @abstractmethod
    def set(self, key: str, value: str | None) -> None:
        """Keep a summary."""

    @abstractmethod
    def delete(self, key: str) -> None:
        """Remove an entity."""

    @abstractmethod
    def exists(self, key: str) -> bool:
        """Tell whether an entity is there."""

    @abstractmethod
    def clear(self) -> None:
        """Remove all entities of the session."""


# Type checkers see the class above, whichever package is installed.
if not TYPE_CHECKING:
    try:
        from langchain_classic.memory.entity import BaseEntityStore

        CLASSIC = "langchain_classic"
    except ImportError:
        try:
            from langchain.memory.entity import BaseEntityStore

            CLASSIC = "langchain"
        except ImportError:
            pass  # ours stays

__all__ = ["CLASSIC", "BaseEntityStore"]
