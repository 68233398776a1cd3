"""What a store item holds: building records to write, and reading what is there.

Strict when we write, tolerant when we read: two versions of Holdover and other
agents share a store during every rollout. The pydantic models of the same shape
are in `holdover.compat.schema`.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import orjson
import uuid_utils

from holdover.compat.errors import InvalidScope, UnportableValue
from holdover.compat.plain import copied, is_plain
from holdover.compat.scope import escape, unescape

VERSION = 1
MAX_DEPTH = 90
_INT64 = range(-(2**63), 2**63)
# Below, every integral float is written with all its digits.
_EXACT = 2**53
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
_ESCAPED = re.compile(r"[\x00~\ud800-\udfff]")
#: Where an item that is no record of ours usually keeps its text.
_OBVIOUS_TEXT = ("content", "text", "summary", "data")
_CONTENT = "content"
_META = "meta"
#: What is not stored, nor is null.
EMPTY: tuple[Any, ...] = ("", [], (), {})
_NO_PATHS: frozenset[str] = frozenset()
_HASH_DIGITS = 32


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of record.

    `label` is the last label of its namespace, `text` the field an agent would
    read, `fields` what this version writes into its content (others are carried
    over), `index` what a vector index embeds, `append_only` whether a new key needs
    no journal.
    """

    name: str
    label: str
    text: str
    fields: frozenset[str]
    index: tuple[str, ...] = ()
    append_only: bool = False


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            "entity",
            "entities",
            "summary",
            frozenset({"name", "summary"}),
            ("content.summary",),
        ),
        Kind(
            "message",
            "messages",
            "data",
            frozenset({"type", "data"}),
            append_only=True,
        ),
        Kind(
            "turn",
            "turns",
            "text",
            frozenset({"text"}),
            ("content.text",),
            append_only=True,
        ),
        Kind(
            "summary",
            "summary",
            "text",
            frozenset(
                {"text", "empty", "count", "hash", "before", "last", "recent", "memory"}
            ),
        ),
        Kind(
            "triple",
            "triples",
            "text",
            frozenset({"subject", "predicate", "object", "text"}),
            ("content.text",),
        ),
    )
}


def now() -> datetime:
    """The present moment, in UTC."""
    return datetime.now(UTC)


def timestamp(moment: datetime) -> str:
    """UTC, ISO 8601, microseconds: the only form records hold; it sorts as text."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def new_revision() -> str:
    """A UUIDv7: unique, and in the order in which it was made."""
    return str(uuid_utils.uuid7())


@dataclass(frozen=True, slots=True)
class Record:
    """A record as it was read.

    Attributes:
        key: The item's key.
        content: What the kind holds, unescaped; a foreign item's is its value.
        meta: The stored `meta`, with fields we do not know.
        text: What an agent would read: a summary, a turn's text.
        foreign: Whether the item is no record of ours.
        value: The stored value as it is.
    """

    kind: str
    key: str
    content: Mapping[str, Any]
    meta: Mapping[str, Any]
    text: str
    foreign: bool
    value: Mapping[str, Any]

    @property
    def name(self) -> str:
        """An entity's full name; elsewhere the key."""
        name = self.content.get("name")
        return name if isinstance(name, str) and not self.foreign else self.key

    @property
    def revision(self) -> str | None:
        """The UUIDv7 of this written state."""
        return self.meta.get("revision")

    def expired(self, moment: str) -> bool:
        """Whether its lifetime ended before `moment` (a `timestamp`)."""
        return is_expired(self.meta, moment)


def is_expired(meta: Mapping[str, Any], moment: str) -> bool:
    """Whether `meta.expires_at`, the only truth about expiry, has passed."""
    expires_at = meta.get("expires_at")
    return isinstance(expires_at, str) and expires_at <= moment


def remaining(meta: Mapping[str, Any]) -> timedelta | None:
    """What is left of a lifetime; `None` where it has no end."""
    try:
        return datetime.fromisoformat(meta["expires_at"]) - now()
    except (KeyError, TypeError, ValueError):
        return None


def build(
    kind: str, content: dict[str, Any], meta: dict[str, Any], *, careful: bool = False
) -> dict[str, Any]:
    """Make the value of an item: checked, escaped, with its hash.

    `meta` needs what only the caller knows (`revision`, `status`, `recorded_at`,
    `source`). What came from outside in it is checked only where `careful` says so
    (`portable` tells), but for the locator.

    Raises:
        UnportableValue: Some backend would refuse or change the content.
    """
    if careful:
        return _build_carefully(kind, content, meta)
    # Most contents are clean texts, or what JSON gave: one dump finds out, and is
    # hashed.
    source = meta.get("source")
    locator = source.get("locator", "") if source else ""
    flat = True
    for text in content.values():
        if type(text) is not str:
            flat = False
            break
    if flat or is_plain(content):
        try:
            canonical = orjson.dumps(
                {"content": content, "kind": kind}, option=orjson.OPT_SORT_KEYS
            )
        except TypeError:
            canonical = b"\\u0000"
        if b"\\u0000" not in canonical and not _UNSTORABLE.search(locator):
            digest = hashlib.sha256(canonical).hexdigest()[:_HASH_DIGITS]
            return {
                "kind": kind,
                "content": content if flat else copied(content),
                "meta": {"v": VERSION, **meta, "hash": digest},
            }
    return _build_carefully(kind, content, meta)


def without_empty(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are stored: neither null nor empty."""
    return {n: v for n, v in fields.items() if v is not None and v not in EMPTY}


def portable(meta: Mapping[str, Any]) -> bool:
    """Whether every backend keeps `meta` as it is, without any escape."""
    try:
        escaped: list[str] = []
        return _storable(meta, _META, escaped, 0) == meta and not escaped
    except UnportableValue:
        return False


def _build_carefully(
    kind: str, content: dict[str, Any], meta: dict[str, Any]
) -> dict[str, Any]:
    escaped: list[str] = []
    content = _storable(content, _CONTENT, escaped, 0)
    meta = _storable(meta, _META, escaped, 0)
    if escaped:
        meta["escaped"] = escaped
    meta = {"v": VERSION, **meta}
    value = {"kind": kind, "content": content, "meta": meta}
    meta["hash"] = content_hash(value)
    return value


def _storable(value: Any, path: str, escaped: list[str], depth: int) -> Any:
    """A copy that every backend keeps as it is."""
    if depth > MAX_DEPTH:
        raise UnportableValue(f"{path} is nested over {MAX_DEPTH} deep.", path=path)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        if not _UNSTORABLE.search(value):
            return str(value)
        escaped.append(path)
        return _ESCAPED.sub(lambda match: escape(match[0]), value)
    if isinstance(value, int):
        if value not in _INT64:
            raise UnportableValue(f"{path} does not fit in 64 bits.", path=path)
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise UnportableValue(f"{path} is not a finite number.", path=path)
        return float(value)
    if isinstance(value, Mapping):
        copy = {}
        for name, inner in value.items():
            if not isinstance(name, str) or _UNSTORABLE.search(name):
                raise UnportableValue(
                    f"{path} has a field name that is not storable text.", path=path
                )
            copy[name] = _storable(inner, _below(path, name), escaped, depth + 1)
        return copy
    if isinstance(value, list | tuple):
        return [
            _storable(inner, f"{path}.{at}", escaped, depth + 1)
            for at, inner in enumerate(value)
        ]
    raise UnportableValue(
        f"{path} is a {type(value).__name__}, which JSON cannot hold.", path=path
    )


def _below(path: str, name: str) -> str:
    """The path of a field; a dot in its name does not look like a deeper one."""
    if "." in name or "~" in name:
        name = name.replace("~", "~7e").replace(".", "~2e")
    return f"{path}.{name}"


def content_hash(value: Mapping[str, Any]) -> str:
    """The hash of a stored value's kind and content, computed anew.

    It is the same after a round trip through any backend: canonical JSON (sorted
    keys, integral floats and −0.0 as integers, numbers beyond 64 bits as decimal
    text), SHA-256, the first 32 hex digits. What is escaped where belongs to it.
    """
    content, meta = value.get(_CONTENT), value.get(_META)
    if not is_plain(content):
        content = _canonical(content)
    of = {"content": content, "kind": value.get("kind")}
    plain = type(meta) is dict and "escaped" not in meta
    escaped = () if plain else _escaped_paths(value)
    if paths := [path for path in escaped if path.startswith(_CONTENT)]:
        of["escaped"] = sorted(paths)
    canonical = orjson.dumps(of, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(canonical).hexdigest()[:_HASH_DIGITS]


def _canonical(value: Any) -> Any:
    if isinstance(value, str | bool) or value is None:
        return value
    if isinstance(value, float):
        # jsonb gives 1e22 back as an integer, and −0.0 as 0.
        if not value.is_integer():
            return value
        # Large ones as their shortest decimal text, which is what jsonb keeps.
        value = int(value) if abs(value) < _EXACT else int(Decimal(repr(value)))
    if isinstance(value, int):
        return value if value in _INT64 else str(value)
    if isinstance(value, Mapping):
        return {name: _canonical(inner) for name, inner in value.items()}
    return [_canonical(inner) for inner in value]


def has_content(value: Mapping[str, Any], digest: Any) -> bool:
    """Whether a stored value, whoever wrote it, has the content of that hash.

    Most do as they are: then nothing has to be made canonical to know it.
    """
    if not isinstance(digest, str):
        return False
    try:
        return _hash_as_it_is(value) == digest or bool(content_hash(value) == digest)
    except (TypeError, ValueError, RecursionError):
        return False


def _hash_as_it_is(value: Mapping[str, Any]) -> str | None:
    """The hash, if the content is canonical; else another one, or none."""
    meta = value.get(_META)
    if type(meta) is not dict or "escaped" in meta:
        return None
    of = {"content": value.get(_CONTENT), "kind": value.get("kind")}
    try:
        canonical = orjson.dumps(of, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return None
    return hashlib.sha256(canonical).hexdigest()[:_HASH_DIGITS]


def intact(value: Mapping[str, Any]) -> bool:
    """Whether nobody changed the content since the record was written."""
    meta = value.get(_META)
    return isinstance(meta, Mapping) and has_content(value, meta.get("hash"))


def revision_of(value: Any, kind: str) -> str | None:
    """The revision of a stored value, if it is a record that names one."""
    revision = value.get(_META, {}).get("revision") if is_record(value, kind) else None
    return revision if isinstance(revision, str) else None


def _escaped_paths(value: Mapping[str, Any]) -> frozenset[str]:
    meta = value.get(_META)
    paths = meta.get("escaped") if isinstance(meta, Mapping) else None
    if not isinstance(paths, list):
        return _NO_PATHS
    return frozenset(path for path in paths if isinstance(path, str))


def is_record(value: Any, kind: str) -> bool:
    """Whether a stored value is a record of that kind, in any version."""
    # `dict` first: what stores return is one, and the check is on a hot path.
    return (
        isinstance(value, dict | Mapping)
        and value.get("kind") == kind
        and isinstance(value.get("content"), dict | Mapping)
        and isinstance(value.get("meta", {}), dict | Mapping)
    )


def read(kind: str, key: str, value: Mapping[str, Any]) -> Record | None:
    """Read an item; `None` where it is no record and has no obvious text."""
    if is_record(value, kind):
        meta = value.get("meta", {})
        content = value["content"]
        if "escaped" in meta:
            content = _unescaped(content, _CONTENT, _escaped_paths(value))
        text = content.get(KINDS[kind].text)
        text = text if isinstance(text, str) else ""
        return Record(kind, key, content, meta, text, foreign=False, value=value)
    if isinstance(value, Mapping):
        for name in _OBVIOUS_TEXT:
            text = value.get(name)
            if isinstance(text, str):
                return Record(kind, key, value, {}, text, foreign=True, value=value)
    return None


def _unescaped(value: Any, path: str, escaped: frozenset[str]) -> Any:
    if isinstance(value, str):
        if path not in escaped:
            return value
        try:
            return unescape(value)
        except InvalidScope:
            # Somebody else changed the text and left the note.
            return value
    if isinstance(value, Mapping):
        return {
            name: _unescaped(inner, _below(path, name), escaped)
            for name, inner in value.items()
        }
    if isinstance(value, list):
        return [
            _unescaped(inner, f"{path}.{at}", escaped) for at, inner in enumerate(value)
        ]
    return value


#: Every field of `meta` this version writes itself; the others are carried over.
_OWN_META = frozenset(
    {
        "v", "revision", "parent", "status", "recorded_at", "valid_from", "valid_to",
        "expires_at", "confidence", "hash", "source", "escaped",
    }
)  # fmt: skip


def unknown_fields(
    value: Mapping[str, Any], known: frozenset[str]
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Fields an overwrite must carry over: of the value, its content, its meta."""
    escaped = _escaped_paths(value)
    content = _unescaped(value[_CONTENT], _CONTENT, escaped)
    meta = _unescaped(value.get(_META, {}), _META, escaped)
    return (
        {n: v for n, v in value.items() if n not in ("kind", _CONTENT, _META)},
        {n: v for n, v in content.items() if n not in known},
        {n: v for n, v in meta.items() if n not in _OWN_META},
    )


def normalised(text: str) -> str:
    """Text as two spellings of one thing share it: NFKC, case and space folded."""
    import unicodedata  # noqa: PLC0415 - only turns and tombstones need it

    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def key_of(kind: str, content: Mapping[str, Any]) -> str:
    """The raw key of a record whose kind derives it from the content."""
    if kind == "entity":
        return str(content["name"])
    if kind == "summary":
        return "current"
    if kind == "turn":
        of = normalised(content["text"])
    elif kind == "triple":
        of = "\x00".join(content[part] for part in ("subject", "predicate", "object"))
    else:
        raise UnportableValue(f"A {kind} has no key of its own; give one.")
    return hashlib.sha256(of.encode("utf-8", "surrogatepass")).hexdigest()
