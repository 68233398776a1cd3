"""What files of old serialized memories hold, by the manifests of their releases."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from old_pickles import value

from holdover.compat.message_records import content_of

HERE = Path(__file__).parent / "corpus"
#: The corpus here, and the folders that `HOLDOVER_CORPUS` names besides.
ROOTS = [
    HERE,
    *map(Path, filter(None, os.environ.get("HOLDOVER_CORPUS", "").split(os.pathsep))),
]
FOLDERS = sorted(folder for root in ROOTS for folder in root.glob("*/serialized"))
_FORMS = (".lcdumps.json", ".lcdumpd.json", ".model_dump.json", ".dict.json", ".json")
_TYPES = {
    "HumanMessage": "human",
    "AIMessage": "ai",
    "SystemMessage": "system",
    "ChatMessage": "chat",
    "FunctionMessage": "function",
    "ToolMessage": "tool",
    "RemoveMessage": "remove",
}
#: What every message has: the fields that `.json()` from 0.3 on writes.
_COMMON = {"content", "additional_kwargs", "response_metadata", "name", "id"}


@dataclass
class Held:
    """What a file holds: what arrives, what is refused, what is left out.

    Attributes:
        messages: Type and the fields that are known, of each that arrives.
        tail: Whether the file holds the last of these only.
    """

    messages: list[tuple[str, dict]] = field(default_factory=list)
    tail: bool = False
    entities: dict[str, str] = field(default_factory=dict)
    summary: str | None = None
    triples: list[list[str]] = field(default_factory=list)
    rejects: Counter = field(default_factory=Counter)
    skipped: Counter = field(default_factory=Counter)


@dataclass(frozen=True)
class OldFile:
    """A file of an old release."""

    path: Path
    release: str
    name: str
    form: str
    said: dict

    def __str__(self):
        return f"{self.release}-{self.path.name}"

    @property
    def version(self):
        """The release as numbers; classic 1.0 is the newest."""
        return tuple(map(int, self.release.rpartition("-")[2].split(".")))

    @property
    def is_typeless(self):
        """Whether its form does not say who spoke."""
        return (
            self.form in (".json", ".dict.json")
            and (0, 0, 100) < self.version <= (0, 0, 303)
            and self.name in _WITH_MESSAGES
        )

    @property
    def loses_fields(self):
        """Whether its form lost what pydantic 2 does not see."""
        is_json = self.form.endswith(".json") and "lc" not in self.form
        return self.version >= (0, 3) and is_json

    def held(self):
        """What is in it, by the manifest."""
        if self.name == "kg.gml":
            return Held(triples=self.said["triples"])
        if self.name == "messages":
            return self._dumped_messages()
        if self.form.startswith(".lc"):
            return Held(rejects=Counter({"not-serialized": 1}))
        truth = self.said["truth"]
        if self.name == "simple":
            return Held(skipped=Counter(constant=len(truth["memories"])))
        if self.loses_fields and self.name in ("combined", "readonly"):
            number = len(truth.get("memory_keys", "1"))
            return Held(rejects=Counter({"empty-object": number}))
        held = Held(
            self._messages(truth),
            tail=self.name in ("token_buffer", "summary_buffer"),
            summary=truth.get("summary"),
            triples=truth.get("triples", []),
        )
        if self.name == "combined":
            held.skipped["repeated-part"] = len(held.messages)
        if self.name == "buffer_file_history":
            held.messages = []  # in a file of their own
        if self.name == "summary" and self.version == (0, 0, 100):
            held.messages = []
        self._add_entities(held, truth)
        return held

    def _messages(self, truth):
        if "turns" in truth:
            return [
                (kind, {"content": text})
                for turn in truth["turns"]
                for kind, text in zip(("human", "ai"), turn, strict=True)
            ]
        if self.name == "entity_none_values":
            return self._turn_of_entities()
        return [self._message(*said) for said in truth.get("messages", [])]

    def _turn_of_entities(self):
        """The manifest tells what was said under another name."""
        return [
            ("human", {"content": "Sam works with Devé"}),
            ("ai", {"content": "ok"}),
        ]

    def _message(self, kind, fields, notes=None):
        dropped = (notes or {}).get("kwargs_silently_dropped_by_this_release", [])
        kept = {name: one for name, one in fields.items() if name not in dropped}
        if self.loses_fields:
            kept = {name: one for name, one in kept.items() if name in _COMMON}
        if self.form.startswith(".lc") and self.version >= (1,):
            kept.pop("example", None)
        # Numbers over 64 bits are kept as text, wherever a message comes from.
        data = content_of("", value(kept))["data"]
        return _TYPES.get(kind, kind), data

    def _dumped_messages(self):
        if self.version <= (0, 0, 200):
            return Held(rejects=Counter({"not-serialized": len(self.said["messages"])}))
        return Held([self._message(*said) for said in self.said["messages"]])

    def _add_entities(self, held, truth):
        entities = truth.get("entities", {})
        lost = self.said.get("entities_not_in_pickle") or "entities_live_in" in truth
        if lost or self.loses_fields:
            return
        held.entities = {name: text for name, text in entities.items() if text}
        if empty := len(entities) - len(held.entities):
            held.skipped["no-summary"] = empty


_WITH_MESSAGES = {
    "buffer", "buffer_named", "buffer_return_messages", "buffer_rich", "window",
    "token_buffer", "entity", "entity_none_values", "combined", "readonly",
    "chat_message_history",
}  # fmt: skip


def _files(folder):
    said = json.loads((folder / "MANIFEST.json").read_text("utf-8"))["files"]
    release = folder.parent.name
    for path in sorted(folder.iterdir()):
        if path.suffix == ".db" or path.name in ("MANIFEST.json", "side_history.json"):
            continue
        if path.name in said and path.name != "chain_memory.pkl":
            # Message lists and graphs; the lists of `message_to_dict` are file
            # histories.
            if not path.name.endswith("to_dict.json"):
                name = path.name.removesuffix(".lcdumps.json")
                form = path.name.removeprefix(name) or path.suffix
                yield OldFile(path, release, name, form, said[path.name])
            continue
        form = next((one for one in _FORMS if path.name.endswith(one)), path.suffix)
        name = path.name.removesuffix(form)
        # A chain's memory, with the turns of `buffer`.
        told = said["buffer" if name == "chain_memory" else name]
        yield OldFile(path, release, name, form, told)


FILES = [one for folder in FOLDERS for one in _files(folder)]
