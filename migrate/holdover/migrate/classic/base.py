"""What every classic place promises: it fills up out of sight, session by session."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Any, ClassVar, NamedTuple

from holdover.migrate.sources.store import Space


class Entry(NamedTuple):
    """One record on its way back.

    `key` is an entity's name and "" for a message; `value` is its summary, or what a
    classic history would have stored; `lifetime` is what is left of its life.
    """

    key: str
    value: Any
    locator: str
    lifetime: timedelta | None = None


class Refusal(NamedTuple):
    """Why something has no place here: a stable reason code, and a sentence."""

    reason: str
    detail: str


SURROGATE = Refusal("not-utf8", "It holds a lone surrogate, which is no UTF-8.")


class Form(ABC):
    """A place that classic classes read.

    Nothing of it is seen by them before it is complete, as far as the place has a way
    to do that: `finish` shows it. Whoever was stopped goes on; nothing is there twice.
    """

    #: What it is to a person.
    label: ClassVar[str]
    #: The kinds it has a form for.
    kinds: ClassVar[frozenset[str]]
    #: Whether it can tell how many records it holds in all.
    counts_all: ClassVar[bool] = False

    def __init__(self, address: str) -> None:
        #: The address without its password.
        self.address = address

    @abstractmethod
    def begun(self) -> str | None:
        """The mark that one who was stopped left here, if one was."""

    @abstractmethod
    def taken(self, roots: Iterable[tuple[str, str]]) -> list[str]:
        """What is already there, by `(kind, root)`: then nothing may be written."""

    def refuses(self, space: Space) -> Refusal | None:  # noqa: ARG002
        """Why a whole session cannot be written here; the same whenever it is asked."""
        return None

    def refuses_entry(self, space: Space, entry: Entry) -> Refusal | None:  # noqa: ARG002
        """Why a record of it cannot; the same whenever it is asked."""
        return None

    @abstractmethod
    def begin(self, mark: str) -> None:
        """Prepare to write; `mark` says what, to whoever goes on."""

    def holds(self, space: Space) -> bool:  # noqa: ARG002
        """Whether a session was written before we were stopped."""
        return False

    @abstractmethod
    def write(self, space: Space, entries: Iterable[Entry]) -> int:
        """Write one session whole, in order; return how many records that were."""

    def prepare_reading(self) -> None:  # noqa: B027 - most places need nothing
        """Make reading back fast, until `finish`."""

    @abstractmethod
    def messages(self, space: Space) -> Iterator[Any]:
        """What the classic class will read of a session, oldest first."""

    def summaries(self, space: Space, names: Sequence[str]) -> list[str | None]:
        """What the classic class will read of these entities."""
        raise NotImplementedError

    @abstractmethod
    def finish(self) -> None:
        """Show everything, and take the mark away."""

    def held(self) -> int:
        """How many records the place holds in all, where `counts_all`."""
        raise NotImplementedError

    @abstractmethod
    def close(self) -> None:
        """Give back connections; what was not finished stays as it is."""


def unstorable(text: str) -> bool:
    """Whether a text holds a lone surrogate, which no database takes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
