"""The pickles that old releases wrote, and what was said to them."""

from __future__ import annotations

import importlib
import json
import pickle
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "corpus"
FOLDERS = sorted(HERE.glob("*/serialized"))
#: What the old applications were of besides LangChain.
FOREIGN = {"fakes": "the application's own module"}


@dataclass(frozen=True)
class OldPickle:
    """A file, and what the program that wrote it had told the object.

    Attributes:
        path: The file.
        truth: What was said and set, by the manifest.
        lost: Why the entities are not in the file; empty if they are.
    """

    path: Path
    truth: dict[str, Any]
    lost: str = ""

    @property
    def release(self):
        return self.path.parent.parent.name

    @property
    def name(self):
        return self.path.stem

    def __str__(self):
        return f"{self.release}-{self.name}"

    @property
    def said(self):
        """What was said, one after the other."""
        return [text for turn in self.truth.get("turns", ()) for text in turn]

    def rest_of_the_file(self):
        """What the file says, read without any class."""
        return _Reader.read(self.path)

    def names(self):
        """Each class and function it names."""
        with self.path.open("rb") as file:
            reader = _Reader(file)
            reader.load()
        return sorted(reader.named)

    def missing(self):
        """The names that lead nowhere, as things are imported now."""
        return [name for name in self.names() if not exists(*name)]


def exists(module, name):
    try:
        with warnings.catch_warnings():
            # LangChain's own, of its old paths.
            warnings.simplefilter("ignore")
            return hasattr(importlib.import_module(module), name)
    except ImportError:
        return False


class Stub:
    """Anything, by its state."""

    def __init__(self, *args):
        self.args = args
        self.state = {}

    def __setstate__(self, state):
        self.state = (state[0] or state[1]) if isinstance(state, tuple) else state

    @property
    def fields(self):
        state = self.state
        extra = state.get("__pydantic_extra__") or {}
        return {**state.get("__dict__", state), **extra}


class _Reader(pickle.Unpickler):
    def __init__(self, file):
        super().__init__(file)
        self.named = set()

    @classmethod
    def read(cls, path):
        with path.open("rb") as file:
            return cls(file).load()

    def find_class(self, module, name):
        if module in ("builtins", "__builtin__"):
            return super().find_class(module, name)
        if name == "_reconstructor":
            return lambda kind, base, state: kind()
        self.named.add((module, name))
        return type(name, (Stub,), {"__module__": module})


def _pickles(folder):
    files = json.loads((folder / "MANIFEST.json").read_text("utf-8"))["files"]
    for name, said in files.items():
        path = folder / f"{name}.pkl"
        if path.exists():
            lost = said.get("entities_not_in_pickle", "")
            yield OldPickle(path, said["truth"], lost)
    chain = folder / "chain_memory.pkl"
    # A chain's memory, with the turns of `buffer`.
    yield OldPickle(chain, files["buffer"]["truth"])


PICKLES = [one for folder in FOLDERS for one in _pickles(folder)]


def value(told):
    """A value of the manifest, which writes long ones short."""
    if isinstance(told, dict) and set(told) == {"$repeat"}:
        unit, times = told["$repeat"]
        return unit * times
    if isinstance(told, dict):
        return {name: value(one) for name, one in told.items()}
    if isinstance(told, list):
        return [value(one) for one in told]
    return told
