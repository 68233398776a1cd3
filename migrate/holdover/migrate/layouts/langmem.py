"""What langmem's store manager and tools write: a memory of one text, under a UUID."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from holdover.compat import records
from holdover.compat.scope import encode_label
from holdover.migrate.layouts.shape import Shape, plain_text, text_of
from holdover.migrate.sources.base import SourceItem

if TYPE_CHECKING:
    from holdover.compat.stores.backend import Namespace

_KEYS = uuid.UUID("0c5a3b52-6d5e-5b67-9a77-2f1f6f0c9d10")


class LangmemShape(Shape):
    """`("memories", session)`, `{"kind": "Memory", "content": {"content": text}}`."""

    name = "langmem"
    template = "memories/{session}"
    index = ("content.content",)
    left_out = (
        "messages stay out: langmem keeps no conversations (--into threads moves them)"
    )

    def namespace(self, scope: Sequence[str]) -> Namespace:
        """The labels, encoded where a store would refuse them."""
        return tuple(encode_label(label, root=not at) for at, label in enumerate(scope))

    def key(self, item: SourceItem) -> str:
        """A UUID, which its tools insist on."""
        name = item.key
        if item.kind not in ("entity", "summary"):
            name = records.key_of(item.kind, item.content)
        of = f"{item.kind}\x00{item.root}\x00{item.session}\x00{name}"
        return str(uuid.uuid5(_KEYS, of.encode("utf-8", "backslashreplace").decode()))

    def value(self, item: SourceItem, moment: datetime) -> dict[str, Any]:  # noqa: ARG002
        """A memory in its default schema."""
        return {"kind": "Memory", "content": {"content": plain_text(text_of(item))}}
