"""Records that wait for a person: kept where no agent searches, until approved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdover.compat import records
from holdover.compat.erasing import Erasing, review_namespace
from holdover.compat.errors import RevisionNotFound
from holdover.compat.reading import PAGE
from holdover.compat.records import Record
from holdover.compat.stores.backend import Page, Read, Steps, Write
from holdover.compat.writing import Outcome


class Reviewing(Erasing):
    """The operations on proposed records."""

    def _propose(
        self, kind: str, content: Mapping[str, Any], reason: str
    ) -> Steps[str]:
        given = dict(content)
        if self._redact:
            given = self._redact(kind, given)
        proposal = records.new_revision()
        value = records.build(
            kind,
            given,
            {
                "revision": proposal,
                "status": "pending",
                "reason": reason,
                "recorded_at": records.timestamp(records.now()),
                "source": {"kind": "agent"},
            },
        )
        namespace = review_namespace(self._labels, kind)
        put = self._backend.put_op(namespace, proposal, value)
        yield from self._write([[put]])
        self._emit("pending")
        return proposal

    def _proposed(self, kind: str) -> Steps[dict[str, Record]]:
        found: dict[str, Record] = {}
        after = None
        namespace = review_namespace(self._labels, kind)
        while entries := (yield Page(namespace, after, PAGE)):
            for proposal, value in entries:
                record = records.read(kind, proposal, value)
                if record:
                    found[proposal] = record
            after = entries[-1][0]
        return found

    def _approve(self, kind: str, proposal: str) -> Steps[Outcome]:
        namespace = review_namespace(self._labels, kind)
        (value,) = yield Read([(namespace, proposal)])
        record = records.read(kind, proposal, value) if value else None
        if record is None:
            raise RevisionNotFound("No such proposal waits for approval.")
        # Written before it is removed: a kill in between leaves it in both places,
        # and approving again changes nothing.
        (outcome,) = yield from self._put_many(
            kind, [record.content], origin="human", status="verified"
        )
        yield Write([[self._backend.put_op(namespace, proposal, None)]])
        return outcome

    def _reject(self, kind: str, proposal: str) -> Steps[bool]:
        namespace = review_namespace(self._labels, kind)
        (value,) = yield Read([(namespace, proposal)])
        yield Write([[self._backend.put_op(namespace, proposal, None)]])
        return value is not None
