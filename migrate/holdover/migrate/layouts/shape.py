"""What a layout decides: where a record goes, and what it looks like there."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from holdover.migrate.mapping import DEFAULT_TEMPLATE, Mapper
from holdover.migrate.sources.base import SourceItem

if TYPE_CHECKING:
    from holdover.compat.stores.backend import Namespace
    from holdover.migrate.options import Prepared

_HASH_DIGITS = 32


class ShapedRow(NamedTuple):
    """An item in another program's form, on its way."""

    namespace: Namespace
    key: str
    value: Mapping[str, Any]
    locator: str
    hash: str
    #: What the source embedded a text to stands for another text here.
    vector: None = None


class Shape(ABC):
    """A layout of another program's items.

    Attributes:
        name: As `--layout` names it.
        template: Where sessions go where `--template` does not say it.
        kinds: The kinds of records it has a form for.
        index: What an index embeds.
        changing: Fields of a value that say nothing of its content.
        left_out: What becomes of the other kinds, in a sentence.
    """

    name: str
    template: str
    kinds: frozenset[str] = frozenset({"entity", "turn", "triple", "summary"})
    index: Sequence[str]
    changing: frozenset[str] = frozenset()
    left_out: str

    @abstractmethod
    def namespace(self, scope: Sequence[str]) -> Namespace:
        """The namespace for the raw labels of a scope; only its items are in it."""

    @abstractmethod
    def key(self, item: SourceItem) -> str:
        """The key of an item: the same in every run."""

    @abstractmethod
    def value(self, item: SourceItem, moment: datetime) -> dict[str, Any]:
        """The value of an item."""

    def guides(self, root: str, session: str, kinds: Sequence[str]) -> list[SourceItem]:  # noqa: ARG002
        """Items that a session gets beside its records, by the kinds of its root."""
        return []

    def hash_of(self, value: Mapping[str, Any]) -> str:
        """The hash of what a value says."""
        said = {n: v for n, v in value.items() if n not in self.changing}
        raw = orjson.dumps(said, option=orjson.OPT_SORT_KEYS, default=str)
        return hashlib.sha256(raw).hexdigest()[:_HASH_DIGITS]


def shape_of(prepared: Prepared) -> Shape | None:
    """The shape that was asked for; `None` for records as they are."""
    return named(prepared.options.layout)


def named(layout: str) -> Shape | None:
    """The shape of a name; `None` for records as they are."""
    if layout == "langmem":
        from holdover.migrate.layouts.langmem import LangmemShape  # noqa: PLC0415

        return LangmemShape()
    if layout == "deepagents":
        from holdover.migrate.layouts.deepagents import (  # noqa: PLC0415
            DeepagentsShape,
        )

        return DeepagentsShape()
    return None


def mapper_of(prepared: Prepared, shape: Shape) -> Mapper:
    """Where sessions go: by `--template`, or as the other program has it."""
    template = prepared.options.template
    if template == DEFAULT_TEMPLATE:
        template = shape.template
    pattern = prepared.options.read.session_pattern
    return Mapper(template, prepared.session_map, pattern)


def plain_text(text: str) -> str:
    """A text that every store holds: NUL and lone surrogates become visible."""
    if "\x00" in text:
        text = text.replace("\x00", "\u2400")
    return text.encode("utf-8", "backslashreplace").decode()


def text_of(item: SourceItem) -> str:
    """What a record of any kind says, as a text that stands alone."""
    content = item.content
    if item.kind == "entity":
        return f"{content.get('name', item.key)}: {content.get('summary', '')}"
    return str(content.get("text", ""))
