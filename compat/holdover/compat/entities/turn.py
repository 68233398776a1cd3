"""A turn whose entities are to be summarised, as it waits for that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import HumanMessage

from holdover.compat.message_records import message_content

_TEXTS = ("text", "before", "lines", "history")


@dataclass(frozen=True, slots=True)
class Turn:
    """What has to be known of a turn to summarise its entities.

    Attributes:
        names: As they were said; `None` where nobody has asked the model yet.
        text: What the human said.
        before: The conversation before the turn, as text; only without names.
        lines: The turn itself, as text.
        history: The conversation with the turn, as text.
    """

    names: Sequence[str] | None
    text: str
    before: str
    lines: str
    history: str

    def content(self, redact: Any = None) -> dict[str, Any]:
        """What the item holds; a redactor sees texts as messages, names as entities."""
        content: dict[str, Any] = {name: getattr(self, name) for name in _TEXTS}
        names = self.names
        if redact is not None:
            content = {name: _redacted(redact, text) for name, text in content.items()}
            if names is not None:
                found = [redact("entity", {"name": n, "summary": ""}) for n in names]
                names = [one.get("name") or "" for one in found]
        if names is not None:
            content["names"] = [name for name in names if name]
        return content

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Turn:
        """Read what an item holds."""
        names = content.get("names")
        said = (
            [n for n in names if isinstance(n, str)]
            if isinstance(names, list)
            else None
        )
        return cls(said, *(str(content.get(name) or "") for name in _TEXTS))


def _redacted(redact: Any, text: str) -> str:
    content = redact("message", message_content(HumanMessage(text)))
    data = content.get("data") if isinstance(content, Mapping) else None
    redacted = data.get("content") if isinstance(data, Mapping) else None
    return redacted if isinstance(redacted, str) else ""
