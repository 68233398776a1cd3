"""What becomes of a session whose thread may be there already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from langchain_core.messages import BaseMessage

from holdover.compat import records
from holdover.migrate.conflicts import Decision, OnConflict, settle
from holdover.migrate.threads.checkpoint import Origin, Thread, hash_of
from holdover.migrate.threads.joining import extended, joined
from holdover.migrate.threads.spool import Session
from holdover.migrate.threads.state import State, state_of
from holdover.migrate.threads.table import ASIDE, Change, Found, ThreadTable


class Decided(NamedTuple):
    """A session, its thread, what was decided, and how that is carried out."""

    session: Session
    thread: Thread
    state: State
    decision: Decision
    change: Change | None = None


class Decider:
    """Decides about threads, by their contents alone.

    Args:
        table: Where the threads go.
        run_id: The run that is, or would be, carried out.
        policy: What happens to a foreign thread of the same id.
    """

    def __init__(self, table: ThreadTable, run_id: str, policy: OnConflict) -> None:
        self._table, self._run_id = table, run_id
        # A thread has no revisions: where they are asked for, it stays a conflict.
        self._policy: OnConflict = "fail" if policy == "version" else policy

    def decide(self, thread_id: str, session: Session, found: Found | None) -> Decided:
        """Decide about one session."""
        state = state_of(session.contents, _seed(session))
        thread = self._thread(thread_id, session, state)
        if found is None:
            change = Change(thread)
            return Decided(session, thread, state, Decision.COPY, change)
        origin = found.origin
        if origin is None or origin.place != thread.origin.place:
            return self._foreign(session, thread, state)
        if not found.alone:
            return Decided(session, thread, state, Decision.SUPERSEDED)
        if origin.hash != thread.origin.hash:
            before = self._table.at(thread_id, str(found.checkpoint_id))
            if before is not None:
                join = joined if session.aligned else extended
                state = join(before, session.contents, _seed(session))
                thread = self._thread(thread_id, session, state)
        if origin.hash == thread.origin.hash:
            return Decided(session, thread, state, Decision.ALREADY)
        change = Change(thread, instead_of=found.checkpoint_id)
        return Decided(session, thread, state, Decision.UPDATE, change)

    def _thread(self, thread_id: str, session: Session, state: State) -> Thread:
        origin = Origin(
            locator=_storable(session.locator),
            root=_storable(session.root),
            session=_storable(session.id),
            run=self._run_id,
            hash=hash_of(state.messages),
        )
        ended_at = session.ended_at or records.now()
        return Thread(thread_id, state.messages, origin, ended_at)

    def _foreign(self, session: Session, thread: Thread, state: State) -> Decided:
        """A thread that something else made, perhaps of the same messages."""
        newest = self._table.newest(thread.id)
        decision = settle(_against(newest, thread), self._policy)
        change = None
        if decision is Decision.OVERWRITE:
            aside = ASIDE.format(run=self._run_id) + thread.id
            change = Change(thread, aside=aside)
        return Decided(session, thread, state, decision, change)

    def compared(self, decided: Decided, found: Found | None) -> str:
        """The class of a thread in a verification, by the name of its count."""
        thread = decided.thread
        if found is None:
            return "missing"
        if decided.decision is Decision.CONFLICT or decided.change is not None:
            return "different"
        if decided.decision is Decision.SKIP:
            return "different"
        if decided.decision is Decision.SUPERSEDED:
            return self._went_on(thread, found)
        held = (
            self._table.newest(thread.id)
            if found.origin is None
            else self._table.at(thread.id, str(found.checkpoint_id))
        )
        same = held is not None and hash_of(held) == thread.origin.hash
        return "equal" if same else "different"

    def _went_on(self, thread: Thread, found: Found) -> str:
        """Whether the application continued our thread, and not beside it."""
        if found.origin is None:
            return "changed"
        if found.alone:
            return "different"
        own = str(found.checkpoint_id)
        if self._table.has_child(thread.id, own):
            return "changed"
        newest = self._table.newest(thread.id)
        goes_on = newest is not None and _begins_with(newest, thread.messages)
        return "changed" if goes_on else "different"


def _against(newest: Sequence[BaseMessage] | None, thread: Thread) -> Decision:
    if newest is None:
        return Decision.CONFLICT
    if hash_of(newest) == thread.origin.hash:
        return Decision.ALREADY
    # Ours, continued, and its first checkpoint pruned away.
    if _begins_with(newest, thread.messages):
        return Decision.SUPERSEDED
    return Decision.CONFLICT


def _begins_with(newest: Sequence[BaseMessage], ours: Sequence[BaseMessage]) -> bool:
    held = {message.id for message in newest}
    return bool(ours) and all(message.id in held for message in ours)


def _seed(session: Session) -> str:
    return f"{session.root}\x00{session.id}"


def _storable(text: str) -> str:
    """Text that JSON of every database holds."""
    return text.replace("\x00", "\\x00").encode("utf-8", "backslashreplace").decode()
