"""What a `StoreBackend` of deepagents keeps: files, by their path under its route."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from holdover.compat import records
from holdover.compat.scope import encode_label
from holdover.migrate.layouts.shape import Shape, plain_text
from holdover.migrate.sources.base import SourceItem

if TYPE_CHECKING:
    from holdover.compat.stores.backend import Namespace

#: The kind of the file that says what is where.
GUIDE = "guide"
README = "/README.md"
_FOLDERS = {"entity": "entities", "turn": "turns", "triple": "facts"}
_SUMMARY = "/summary.md"
# What a StoreBackend accepts in a label, but for the dot, which no store does.
_FOREIGN = re.compile(r"[^A-Za-z0-9\-_@+:~]")
# What would be another path, another folder, or not be seen. `%` is the escape.
_UNSAFE = re.compile(r"[/\\%\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]|^\s|^\.|\s$")
_LONGEST = 200
_DIGEST = 32
_OPENING = (
    "Notes of earlier conversations. Each kind that there is has its place, and paths "
    "are relative to the folder of this file:"
)
_NAMES = (
    "In names, `%` and two hexadecimal digits stand for a character that no path can "
    "hold."
)
_GUIDE_LINES = {
    "entity": "- `/entities/NAME.md`: what is known of a person, a place or a thing. "
    "The first line is its name.",
    "turn": "- `/turns/ID.md`: an exchange of an earlier conversation, one in a file. "
    "Use `grep` to find one.",
    "triple": "- `/facts/ID.md`: one statement in a file.",
    "summary": "- `/summary.md`: a summary of the earlier conversation.",
}


class DeepagentsShape(Shape):
    """Files for `CompositeBackend(routes={"/memories/": StoreBackend(…)})`."""

    name = "deepagents"
    template = "{session}/filesystem"
    kinds = Shape.kinds | {GUIDE}
    index = ("content",)
    changing = frozenset({"created_at", "modified_at"})
    left_out = (
        "messages stay out: conversations are no files (--into threads moves them)"
    )

    def namespace(self, scope: Sequence[str]) -> Namespace:
        """The labels; a `StoreBackend` accepts fewer characters than a store."""
        return tuple(
            _FOREIGN.sub(_label_escape, encode_label(label, root=not at))
            for at, label in enumerate(scope)
        )

    def key(self, item: SourceItem) -> str:
        """The path of a file, without the route that leads to the backend."""
        if item.kind == GUIDE:
            return README
        if item.kind == "summary":
            return _SUMMARY
        name = item.key
        if item.kind != "entity":
            name = records.key_of(item.kind, item.content)
        return f"/{_FOLDERS[item.kind]}/{file_name(name)}.md"

    def value(self, item: SourceItem, moment: datetime) -> dict[str, Any]:
        """The file as the backend writes one."""
        made = (item.created_at or moment).isoformat()
        return {
            "content": plain_text(_content(item)),
            "encoding": "utf-8",
            "created_at": made,
            "modified_at": made,
        }

    def guides(self, root: str, session: str, kinds: Sequence[str]) -> list[SourceItem]:
        """The file that tells the agent what is stored where."""
        lines = [_GUIDE_LINES[kind] for kind in _GUIDE_LINES if kind in kinds]
        if not lines:
            return []
        text = "\n".join(
            (
                "# What is remembered here",
                "",
                _OPENING,
                "",
                *lines,
                "",
                _NAMES,
                "Edit a file when something changed; write a new one for what is new.",
                "",
            )
        )
        content = {"text": text}
        return [SourceItem(GUIDE, root, session, README, content, f"guide:{root}")]


def file_name(name: str) -> str:
    """Any name as one part of a path; `name_of` undoes it, but for very long ones."""
    safe = _UNSAFE.sub(_path_escape, name) or "%"
    if len(safe.encode()) <= _LONGEST:
        return safe
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
    head = safe.encode()[: _LONGEST - _DIGEST - 2].decode(errors="ignore")
    # An escape cut in two would be another name's.
    head = re.sub(r"%[0-9a-f]?$", "", head)
    return f"{head}%%{digest}"


def name_of(file: str) -> str:
    """The name that `file_name` made this of."""
    if file == "%":
        return ""
    raw = re.sub(
        rb"%([0-9a-f]{2})", lambda match: bytes([int(match[1], 16)]), file.encode()
    )
    return raw.decode("utf-8", "surrogatepass")


def _content(item: SourceItem) -> str:
    content = item.content
    if item.kind != "entity":
        text = str(content.get("text", ""))
        metadata = content.get("metadata")
        if item.kind == "turn" and metadata:
            shown = json.dumps(metadata, ensure_ascii=False, sort_keys=True)
            return f"{text}\n\n---\n{shown}\n"
        return text
    name = str(content.get("name", item.key))
    heading = " ".join(name.split())
    return f"# {heading}\n\n{content.get('summary', '')}\n"


def _path_escape(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02x}" for byte in match[0].encode("utf-8", "surrogatepass"))


def _label_escape(match: re.Match[str]) -> str:
    return "".join(f"~{byte:02x}" for byte in match[0].encode("utf-8", "surrogatepass"))
