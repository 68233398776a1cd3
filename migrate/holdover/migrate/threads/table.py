"""What the checkpoint tables of a database promise, whichever it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.base import BaseCheckpointSaver

from holdover.migrate.threads.checkpoint import Origin, Thread, messages_of

#: Where a thread goes that `--on-conflict overwrite` replaces.
ASIDE = "~holdover/{run}/"


class Found(NamedTuple):
    """What there is under a thread's id.

    Attributes:
        origin: Where its first state came from, if a migration wrote that.
        checkpoint_id: The checkpoint with that state.
        alone: Whether nobody has gone on with it: no other checkpoint, no write.
    """

    origin: Origin | None
    checkpoint_id: str | None
    alone: bool


class Change(NamedTuple):
    """A thread to write.

    Attributes:
        thread: What is written.
        instead_of: The checkpoint of ours that it replaces.
        aside: The id that what is there gets, where it is somebody else's.
    """

    thread: Thread
    instead_of: str | None = None
    aside: str | None = None


class ThreadTable(ABC):
    """The checkpoint tables of one database, by statements of our own.

    Rows are those that the saver writes (`tests/migrate/test_threads_tables.py`);
    states are read by the saver.
    """

    label = "checkpointer"

    @property
    @abstractmethod
    def ready(self) -> bool:
        """Whether the tables are there."""

    @abstractmethod
    def prepare(self) -> None:
        """Create the tables where they are missing, as the saver does."""

    @abstractmethod
    def look(self, ids: Sequence[str]) -> Mapping[str, Found]:
        """What there is under these ids; ids without anything are left out."""

    @abstractmethod
    def has_child(self, thread_id: str, checkpoint_id: str) -> bool:
        """Whether a later checkpoint went on from this one."""

    @abstractmethod
    def saver(self) -> BaseCheckpointSaver[Any]:
        """The saver on the same connection."""

    @abstractmethod
    def write(self, changes: Sequence[Change]) -> set[str]:
        """Write threads in one transaction; return the ids that were taken meanwhile.

        A thread is written only where nothing is under its id, or nothing but the
        checkpoint it replaces, or what it replaces is put aside.
        """

    @abstractmethod
    def of_run(self, run_id: str) -> Iterator[tuple[str, str]]:
        """Thread and checkpoint of all that a run wrote and that is still there."""

    @abstractmethod
    def remove(self, thread_id: str, checkpoint_id: str) -> bool:
        """Remove a thread unless somebody has gone on with it."""

    @abstractmethod
    def aside(self, prefix: str) -> Iterator[str]:
        """The ids of threads that begin so."""

    @abstractmethod
    def rename(self, thread_id: str, new: str) -> bool:
        """Give a thread another id, unless there is one of that id."""

    @abstractmethod
    def close(self) -> None:
        """Give back the connection."""

    def newest(self, thread_id: str) -> list[BaseMessage] | None:
        """The conversation a graph would go on with; `None` if it has another form."""
        return self._messages({"thread_id": thread_id, "checkpoint_ns": ""})

    def at(self, thread_id: str, checkpoint_id: str) -> list[BaseMessage] | None:
        """The conversation of one checkpoint."""
        config = {"thread_id": thread_id, "checkpoint_ns": ""}
        return self._messages({**config, "checkpoint_id": checkpoint_id})

    def _messages(self, configurable: dict[str, Any]) -> list[BaseMessage] | None:
        found = self.saver().get_tuple({"configurable": configurable})
        return messages_of(found.checkpoint) if found else None
