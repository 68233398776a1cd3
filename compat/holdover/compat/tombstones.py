"""Tombstones: the notes that something was forgotten, which hold no content.

A tombstone's key is an HMAC of a scope (its encoded labels) with a name or with a
value, or of the scope alone: what was forgotten can be recognised but not read. Names
and values are compared by their normalised text: another spelling of a forgotten
name is forgotten too.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from holdover.compat.records import KINDS, VERSION, Record, new_revision, normalised
from holdover.compat.scope import INTERNAL_ROOT
from holdover.compat.stores.backend import Page, Read, Steps, Write

NAMESPACE = (INTERNAL_ROOT, "tombstones")
KEYS = (INTERNAL_ROOT, "tombstone-keys")
#: Tells in one read that there is any tombstone at all.
ANY = "~any"
ENVIRONMENT_KEY = "HOLDOVER_TOMBSTONE_KEY"
_WHOLE_SCOPE = ("scope",)


class Keyring:
    """The HMAC keys of one store: usually one, more only if two were made at once."""

    def __init__(self, keys: Iterable[bytes]) -> None:
        self.keys = tuple(keys)

    def digests(self, scope: tuple[str, ...], *what: str) -> list[str]:
        """The keys a tombstone may have; the first is the one to write."""
        text = "\x00".join((str(len(scope)), *scope, *what))
        raw = text.encode("utf-8", "surrogatepass")
        return [hmac.new(key, raw, hashlib.sha256).hexdigest() for key in self.keys]

    def candidates(
        self, scope: tuple[str, ...], kind: str, content: Mapping[str, Any]
    ) -> list[str]:
        """Every tombstone that would stop this content: scope, name and value."""
        found = self.digests(scope, *_WHOLE_SCOPE)
        name, text = content.get("name"), content.get(KINDS[kind].text)
        if isinstance(name, str):
            found += self.digests(scope, "name", kind, normalised(name))
        if isinstance(text, str) and text:
            found += self.digests(scope, "value", kind, normalised(text))
        return found

    def of_record(self, scope: tuple[str, ...], record: Record) -> list[str]:
        """What to write when a record is forgotten."""
        found = []
        if "name" in record.content and not record.foreign:
            found += self.digests(scope, "name", record.kind, normalised(record.name))
        if record.text:
            found += self.digests(scope, "value", record.kind, normalised(record.text))
        return found

    def of_scope(self, scope: tuple[str, ...]) -> list[str]:
        """What to write when a whole scope is forgotten."""
        return self.digests(scope, *_WHOLE_SCOPE)

    def of_name(self, scope: tuple[str, ...], kind: str, name: str) -> list[str]:
        """What stops a name from coming back."""
        return self.digests(scope, "name", kind, normalised(name))


def tombstone(at: str) -> dict[str, Any]:
    """The value of a tombstone."""
    return {"kind": "tombstone", "meta": {"v": VERSION, "recorded_at": at}}


def any_there() -> Steps[bool]:
    """Whether the store holds any tombstone."""
    values = yield Read([(NAMESPACE, ANY)])
    return values[0] is not None


def read_keyring() -> Steps[Keyring]:
    """The keys in use: the environment's, or those kept in the store."""
    # Both: what was forgotten before the variable was set stays forgotten.
    given = os.environ.get(ENVIRONMENT_KEY)
    entries = yield Page(KEYS)
    kept = [bytes.fromhex(value["key"]) for _, value in entries]
    return Keyring([given.encode(), *kept] if given else kept)


def make_keyring(put_op: Any) -> Steps[Keyring]:
    """The keys in use, after making one where there is none.

    Two processes may each make one: both are kept, and both are looked up.
    """
    keyring = yield from read_keyring()
    if not keyring.keys:
        value = {"key": secrets.token_hex(32)}
        yield Write([[put_op(KEYS, new_revision(), value)]])
        keyring = yield from read_keyring()
    return keyring


def stopped(
    keyring: Keyring,
    scope: tuple[str, ...],
    kind: str,
    contents: Sequence[Mapping[str, Any]],
) -> Steps[list[bool]]:
    """Which of the contents a tombstone stops."""
    candidates = [keyring.candidates(scope, kind, content) for content in contents]
    wanted = sorted({digest for found in candidates for digest in found})
    values = yield Read([(NAMESPACE, digest) for digest in wanted])
    there = {d for d, value in zip(wanted, values, strict=True) if value is not None}
    return [not there.isdisjoint(found) for found in candidates]
