"""Scopes, and the reversible codec between raw names and namespace labels or keys.

Every backend must keep labels and keys apart and give them back, so what some
backend refuses or folds is escaped as `~` and two hex digits per UTF-8 byte. The
rest stays readable: `alice@example.com` becomes `alice@example~2ecom`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from holdover.compat.errors import InvalidScope

if TYPE_CHECKING:
    from typing import Self

#: Root of every item that is not a current record; no encoded label equals it.
INTERNAL_ROOT = "~holdover"
DEFAULT_ROOT = "memory_store"
DEFAULT_SESSION = "default"

MAX_LABEL_BYTES = 200
MAX_KEY_BYTES = 512
MAX_SCOPE_BYTES = 1_000

_EMPTY = "~"
_CUT = "~~"
_DIGEST_DIGITS = 64
# LangGraph reserves this word as the first label of a namespace.
_RESERVED_ROOT = "langgraph"
_RESERVED_ROOT_ENCODED = "~6canggraph"

# `\s` is what `str.isspace` calls white space; the ranges are the control
# characters of Unicode (category Cc) and the lone surrogates.
_CONTROL = r"\x00-\x1f\x7f-\x9f\ud800-\udfff"
# A store that searches by LIKE takes `\` and `%` for more than themselves.
_LABEL_UNSAFE = re.compile(rf"[./*%\\~\s{_CONTROL}]")
_KEY_UNSAFE = re.compile(rf"[~{_CONTROL}]|\A\s+|\s+\Z")
_ESCAPES = re.compile(r"(?:~[0-9a-f]{2})+")
_UNESCAPE_STRAY = re.compile(r"~(?![0-9a-f]{2})")


def escape(text: str) -> str:
    """Escape every character of `text`, whatever it is."""
    raw = text.encode("utf-8", "surrogatepass")
    return "".join(f"~{byte:02x}" for byte in raw)


def _escape_match(match: re.Match[str]) -> str:
    return escape(match[0])


def unescape(text: str) -> str:
    """Undo `escape` wherever it was applied; raises `InvalidScope` elsewhere."""
    if _UNESCAPE_STRAY.search(text):
        raise InvalidScope(f"{text!r} is not an encoded name.")

    def decode(match: re.Match[str]) -> str:
        raw = bytes.fromhex(match[0].replace("~", ""))
        try:
            return raw.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise InvalidScope(f"{text!r} is not an encoded name.") from error

    return _ESCAPES.sub(decode, text)


def _pieces(encoded: str) -> Iterator[str]:
    """Split into what stands for one character each: an escape run, or itself."""
    at = 0
    while at < len(encoded):
        if encoded[at] != "~":
            yield encoded[at]
            at += 1
            continue
        lead = int(encoded[at + 1 : at + 3], 16)
        length = 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4  # noqa: PLR2004
        yield encoded[at : at + 3 * length]
        at += 3 * length


def _cut(raw: str, encoded: str, limit: int) -> str:
    """Shorten to a readable head and the digest of the whole raw name."""
    room = limit - len(_CUT) - _DIGEST_DIGITS
    head = []
    for piece in _pieces(encoded):
        room -= len(piece.encode())
        if room < 0:
            break
        head.append(piece)
    digest = hashlib.sha256(raw.encode("utf-8", "surrogatepass")).hexdigest()
    return "".join(head) + _CUT + digest


def _shortened(raw: str, encoded: str, limit: int) -> str:
    if len(encoded) * 4 <= limit or len(encoded.encode()) <= limit:
        return encoded
    return _cut(raw, encoded, limit)


def encode_label(label: str, *, root: bool = False) -> str:
    """Turn any string into a namespace label of at most 200 bytes.

    Reversible with `decode_label`, but for labels whose encoding is longer: those
    keep a head and a SHA-256, and the repository keeps the whole label under
    `("~holdover", "labels")`.

    Args:
        label: The raw label, for example a session id.
        root: Whether it is the first label, where LangGraph reserves a word.
    """
    if not label:
        return _EMPTY
    if root and label == _RESERVED_ROOT:
        return _RESERVED_ROOT_ENCODED
    return _shortened(label, _LABEL_UNSAFE.sub(_escape_match, label), MAX_LABEL_BYTES)


def encode_key(name: str) -> str:
    """Turn any string into an item key of at most 512 bytes.

    Ordinary names are their own key, so that `store.get(ns, "New York")` works.
    """
    if not name:
        return _EMPTY
    # Most names: the only white space that is printable is the space.
    if (
        name.isprintable()
        and "~" not in name
        and name[0] != " " != name[-1]
        and len(name) * 4 <= MAX_KEY_BYTES
    ):
        return name
    return _shortened(name, _KEY_UNSAFE.sub(_escape_match, name), MAX_KEY_BYTES)


def is_cut(encoded: str) -> bool:
    """Whether an encoded label or key holds only a head and a digest."""
    return _CUT in encoded


def decode_label(encoded: str, *, root: bool = False) -> str:
    """Undo `encode_label` with the same `root`.

    Raises:
        InvalidScope: The text never came out of `encode_label`, or it was cut
            (`is_cut`) and only the store knows the whole label.
    """
    raw = _decode(encoded)
    if encoded != encode_label(raw, root=root):
        raise InvalidScope(f"{encoded!r} is not an encoded label.")
    return raw


def decode_key(encoded: str) -> str:
    """Undo `encode_key`; raises as `decode_label` does."""
    raw = _decode(encoded)
    if encoded != encode_key(raw):
        raise InvalidScope(f"{encoded!r} is not an encoded key.")
    return raw


def _decode(encoded: str) -> str:
    if encoded == _EMPTY:
        return ""
    if is_cut(encoded):
        raise InvalidScope(f"{encoded!r} was shortened; its record holds the name.")
    return unescape(encoded)


class Scope(tuple[str, ...]):
    """Raw labels, outermost first; by default `(root, session)`.

    A scope says where records live. It is addressing, not authorisation: whether
    a caller may use a session is the application's decision.

    Raises:
        InvalidScope: No labels, a label that is not a string, or over 1,000 bytes
            when encoded.
    """

    __slots__ = ()

    def __new__(cls, *labels: str) -> Self:
        """Make a scope from raw labels."""
        if not labels:
            raise InvalidScope("A scope needs at least one label.")
        for label in labels:
            if not isinstance(label, str):
                raise InvalidScope(
                    f"A scope label must be a string, not {type(label).__name__}.",
                    hint="Convert the id with str() first.",
                )
        return super().__new__(cls, labels)

    @classmethod
    def of(cls, scope: str | tuple[str, ...] | list[str]) -> Self:
        """Accept what callers pass as `scope=`; a plain string is one label."""
        if isinstance(scope, cls):
            return scope
        return cls(scope) if isinstance(scope, str) else cls(*scope)

    @classmethod
    def decode(cls, namespace: tuple[str, ...]) -> Self:
        """Undo `namespace`, for labels that were not shortened."""
        return cls(
            *(
                decode_label(label, root=not position)
                for position, label in enumerate(namespace)
            )
        )

    def encoded(self) -> tuple[str, ...]:
        """The labels as they stand in a namespace.

        Raises:
            InvalidScope: Over 1,000 bytes in all.
        """
        labels = tuple(
            encode_label(label, root=not position)
            for position, label in enumerate(self)
        )
        if sum(len(label.encode()) + 1 for label in labels) > MAX_SCOPE_BYTES:
            raise InvalidScope(
                f"A scope of {len(labels)} labels is over {MAX_SCOPE_BYTES} bytes "
                "when encoded.",
                hint="Use fewer or shorter labels in the template or scope.",
            )
        return labels

    def cut_labels(self) -> dict[str, str]:
        """The labels that had to be shortened, by their encoded form."""
        pairs = zip(self.encoded(), self, strict=True)
        return {encoded: raw for encoded, raw in pairs if is_cut(encoded)}
