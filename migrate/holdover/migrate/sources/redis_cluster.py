"""A Redis Cluster as a source: every master is scanned, every key asked for at its own.

Masters die, replicas are promoted and slots are moved while it is read. Answers that
say so lead to the server that has the key now; a scan during which anything moved is
done a second time, so that a key that moved once is found in one of the two.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from redis.crc import key_slot
from redis.exceptions import (
    AskError,
    ClusterDownError,
    MasterDownError,
    MovedError,
    RedisError,
    ResponseError,
    TryAgainError,
)

from holdover.migrate.errors import SourceUnavailable
from holdover.migrate.sources import redis_wire
from holdover.migrate.sources.redis_wire import (
    Line,
    may_pass,
    packed,
    scan_command,
    unavailable,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Place = tuple[str, int]

SLOTS = 16384
_PAUSE = 0.02
_LONGEST_PAUSE = 1.0
_SCANS = 2
#: How often a lost server may be found again during one scan or one question.
_LOSSES = 5
#: How long to wait for a server that never answered yet.
_FIRST_SECONDS = 1.0
_ASKING = packed([b"ASKING"])
_AGAIN = (AskError, TryAgainError, ClusterDownError, MasterDownError)


class _Lost(Exception):
    """A server of the cluster broke off."""

    def __init__(self, place: Place, error: Exception) -> None:
        super().__init__(place)
        self.place, self.error = place, error


class _Map(NamedTuple):
    """Which server has which slot, and whether any is on its way to another."""

    owners: tuple[Place, ...]
    moving: bool

    @property
    def masters(self) -> list[Place]:
        return sorted(set(self.owners))


class ClusterWire:
    """The masters of a cluster as a `Wire`.

    Args:
        address: As it may be shown.
        seeds: Nodes to ask for the others.
        line: Makes the connection to a node.
    """

    db = 0

    def __init__(
        self, address: str, seeds: Sequence[Place], line: Callable[[Place], Line]
    ) -> None:
        self.address = address
        self._seeds, self._make = list(seeds), line
        self._lines: dict[Place, Line] = {}
        self._owners: tuple[Place, ...] = ()
        self._stale = True
        self._whole = False
        self._notes: dict[str, None] = {}

    def scan(self, pattern: str | None = None) -> Iterator[list[bytes]]:
        """See `Wire.scan`."""
        scans = losses = 0
        self._notes.clear()
        while scans < _SCANS:
            try:
                before = self._survey()
                for place in before.masters:
                    yield from self._scan_one(place, pattern)
                after = self._survey()
            except _Lost as lost:
                losses += 1
                self._recover(lost, losses)
                continue
            scans += 1
            if before == after and not before.moving:
                return
        self._notes[
            "Slots of the cluster moved while it was scanned; a key that moved twice "
            "meanwhile may be missing."
        ] = None

    def read(self, keys: Sequence[bytes]) -> tuple[list[Any], list[Any]]:
        """See `Wire.read`."""
        # MGET as on a single server: it needs no other right, and takes a key of
        # another type for an absent one.
        values, ttls = self.each([b"MGET", b"PTTL"], keys)
        plain = [one if isinstance(one, ResponseError) else one[0] for one in values]
        return plain, list(ttls)

    def each(
        self, commands: Sequence[bytes], keys: Sequence[bytes]
    ) -> list[Sequence[Any]]:
        """See `Wire.each`."""
        asked = [[packed([command, key]) for command in commands] for key in keys]
        answers = self._ask(keys, asked)
        return list(zip(*answers, strict=True)) if keys else [[] for _ in commands]

    def ask(self, commands: Sequence[Sequence[bytes]]) -> list[Any]:
        """See `Wire.ask`."""
        keys = [command[1] for command in commands]
        return [one for (one,) in self._ask(keys, [[packed(c)] for c in commands])]

    def _ask(
        self, keys: Sequence[bytes], commands: Sequence[Sequence[bytes]]
    ) -> list[list[Any]]:
        """The answers about each key to its packed commands."""
        answers: list[list[Any]] = [[]] * len(keys)
        #: Where a key on its way to another server is to be asked for.
        pending: dict[int, Place | None] = dict.fromkeys(range(len(keys)))
        began, losses, rounds = time.monotonic(), 0, 0
        while pending:
            try:
                if self._stale:
                    self._refresh()
                again, reason = self._ask_each(commands, keys, pending, answers)
            except _Lost as lost:
                losses += 1
                self._recover(lost, losses)
                pending = dict.fromkeys(pending)
                continue
            if again:
                if time.monotonic() - began > redis_wire.FAILOVER_SECONDS:
                    raise self._undecided(reason)
                time.sleep(min(_PAUSE * 2**rounds, _LONGEST_PAUSE))
                rounds += 1
                self._stale = any(place is None for place in again.values())
            pending = again
        return answers

    def notes(self) -> list[str]:
        """See `Wire.notes`."""
        return list(self._notes)

    def close(self) -> None:
        """See `Wire.close`."""
        for line in self._lines.values():
            line.close()

    def _ask_each(
        self,
        commands: Sequence[Sequence[bytes]],
        keys: Sequence[bytes],
        pending: dict[int, Place | None],
        answers: list[list[Any]],
    ) -> tuple[dict[int, Place | None], Exception | None]:
        """Ask once; give the keys that have to be asked for again, and why."""
        requests: dict[Place, list[bytes]] = {}
        asked: dict[Place, list[tuple[int, bool]]] = {}
        for at, elsewhere in pending.items():
            place = elsewhere or self._owners[key_slot(keys[at])]
            request = requests.setdefault(place, [])
            for command in commands[at]:
                if elsewhere:
                    request.append(_ASKING)
                request.append(command)
            asked.setdefault(place, []).append((at, elsewhere is not None))
        replies = self._exchange(requests)
        again: dict[int, Place | None] = {}
        reason = None
        for place, indices in asked.items():
            stream = iter(replies[place])
            for at, asking in indices:
                mine = []
                for _ in commands[at]:
                    if asking and isinstance(refused := next(stream), ResponseError):
                        raise unavailable(refused, self._node(place))
                    mine.append(next(stream))
                moved = next((one for one in mine if isinstance(one, _AGAIN)), None)
                if moved is None:
                    answers[at] = mine
                    continue
                reason = moved
                again[at] = (
                    (moved.host or place[0], moved.port)
                    if isinstance(moved, AskError) and not isinstance(moved, MovedError)
                    else None
                )
        return again, reason

    def _exchange(self, requests: dict[Place, list[bytes]]) -> dict[Place, list[Any]]:
        """Send to all servers, then take all answers: they work at the same time."""
        place: Place = ("", 0)
        try:
            for place, commands in requests.items():
                self._line(place).send(b"".join(commands))
            replies = {}
            for place, commands in requests.items():
                replies[place] = self._line(place).receive(len(commands))
        except (RedisError, OSError) as error:
            for one in requests:  # answers that are still on their way are lost
                self._line(one).close()
            raise _Lost(place, error) from None
        return replies

    def _scan_one(self, place: Place, pattern: str | None) -> Iterator[list[bytes]]:
        cursor, line = b"0", self._line(place)
        opened = 0
        while True:
            (answer,) = self._exchange({place: [scan_command(cursor, pattern)]})[place]
            if isinstance(answer, ResponseError):
                raise unavailable(answer, self._node(place))
            cursor, keys = answer
            yield keys
            opened = opened or line.opened
            if opened != line.opened:  # by somebody who asked in between
                raise _Lost(place, ConnectionResetError())
            if cursor == b"0":
                return

    def _survey(self) -> _Map:
        """Find out which server has which slot, and whether that is changing."""
        self._refresh()
        moving = False
        masters = sorted(set(self._owners))
        replies = self._exchange(
            {place: [packed([b"CLUSTER", b"NODES"])] for place in masters}
        )
        for (answer,) in replies.values():
            if isinstance(answer, ResponseError):
                self._notes[
                    "Whether slots of the cluster moved meanwhile is not known: its "
                    "user may not ask for CLUSTER NODES."
                ] = None
            else:
                moving = moving or _is_moving(answer)
        self._whole = True
        return _Map(self._owners, moving)

    def _refresh(self) -> None:
        """Ask who has what, of whoever answers first."""
        failure: _Lost | None = None
        # Those that may be gone for good come last: each may cost a long wait.
        places = dict.fromkeys([*self._owners, *self._seeds, *self._lines])
        for place in places:
            try:
                answer = self._exchange({place: [packed([b"CLUSTER", b"SLOTS"])]})
            except _Lost as lost:
                if not may_pass(lost.error):
                    raise unavailable(lost.error, self._node(place)) from None
                failure = failure or lost
                continue
            (slots,) = answer[place]
            if isinstance(slots, ResponseError):
                raise unavailable(slots, self._node(place))
            self._owners, self._stale = self._owners_of(slots, place), False
            return
        raise failure or AssertionError  # there is at least one seed

    def _owners_of(self, slots: Any, asked: Place) -> tuple[Place, ...]:
        owners: list[Place | None] = [None] * SLOTS
        for first, last, master, *_ in slots:
            # A node that does not know its own name says nothing or a question mark.
            host = (master[0] or b"").decode().strip("?") or asked[0]
            owners[first : last + 1] = [(host, master[1])] * (last + 1 - first)
        known = [owner for owner in owners if owner is not None]
        if len(known) < SLOTS:
            raise SourceUnavailable(
                f"The cluster at {self.address} has no server for "
                f"{SLOTS - len(known):,} of its {SLOTS:,} slots, so that a part of it "
                "cannot be read.",
                hint="Bring the servers back (redis-cli --cluster check), then run "
                "again.",
            )
        return tuple(known)

    def _recover(self, lost: _Lost, losses: int) -> None:
        """Wait until every slot has a master that answers."""
        began = time.monotonic()
        patience = redis_wire.FAILOVER_SECONDS if self._whole else _FIRST_SECONDS
        pause = _PAUSE
        while may_pass(lost.error) and losses <= _LOSSES:
            time.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
            try:
                self._survey()
            except _Lost as again:
                lost = again
                if time.monotonic() - began > patience:
                    break
            else:
                return
        raise unavailable(lost.error, self._node(lost.place)) from None

    def _undecided(self, reason: Exception | None) -> SourceUnavailable:
        if isinstance(reason, ClusterDownError | MasterDownError):
            return SourceUnavailable(
                f"The cluster at {self.address} is down.",
                hint="Bring its servers back (redis-cli --cluster check), then run "
                "again.",
            )
        return SourceUnavailable(
            f"The servers of the cluster at {self.address} send each other the "
            "questions for a key.",
            hint="Let its slots settle (redis-cli --cluster check), then run again.",
        )

    def _line(self, place: Place) -> Line:
        if place not in self._lines:
            self._lines[place] = self._make(place)
        return self._lines[place]

    def _node(self, place: Place) -> str:
        return f"{place[0]}:{place[1]}, a node of {self.address},"


def _is_moving(nodes: bytes) -> bool:
    """Whether the node that speaks is sending or taking a slot."""
    # <id> <place> <flags> <master> <ping> <pong> <epoch> <link> <slots…>
    for line in nodes.splitlines():
        _, _, flags, *rest = line.split()
        if b"myself" in flags.split(b","):
            return any(slots.startswith(b"[") for slots in rest[5:])
    return False
