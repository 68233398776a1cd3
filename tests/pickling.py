"""Pickles of objects whose classes are not here."""

from __future__ import annotations

import pickle
import sys
from contextlib import contextmanager
from types import ModuleType


def old(path, /, **fields):
    """An object that is pickled as one of a class at an old path.

    Its state is of pydantic 1.
    """
    module, _, name = path.rpartition(".")
    kind = type(name, (_Old,), {"__module__": module, "__qualname__": name})
    made = kind()
    made.fields = fields
    return made


def message(kind, text, **fields):
    """A message as pickles have it."""
    fields = {"content": text, "additional_kwargs": {}, **fields}
    return old(f"langchain.schema.{kind}", **fields)


def history(*texts):
    """A history of what a human and an AI said in turn."""
    kinds = ("HumanMessage", "AIMessage")
    messages = [message(kinds[at % 2], text) for at, text in enumerate(texts)]
    return old("langchain.memory.ChatMessageHistory", messages=messages)


def buffer(*texts, **fields):
    """A buffer memory over such a history."""
    path = "langchain.memory.buffer.ConversationBufferMemory"
    fields.setdefault("memory_key", "history")
    return old(path, chat_memory=history(*texts), **fields)


def dumps(value, protocol=4):
    """Pickle a value with such objects in it, at any depth."""
    kinds = {}
    _collect(value, kinds, set())
    with _modules(kinds):
        return pickle.dumps(value, protocol)


class _Old:
    def __getstate__(self):
        return {
            "__dict__": self.fields,
            "__fields_set__": set(self.fields),
            "__private_attribute_values__": {},
        }


def _collect(value, kinds, seen):
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, _Old):
        kinds.setdefault((type(value).__module__, type(value).__name__), type(value))
        value.__class__ = kinds[type(value).__module__, type(value).__name__]
        _collect(value.fields, kinds, seen)
    elif isinstance(value, dict):
        for one in value.values():
            _collect(one, kinds, seen)
    elif isinstance(value, list | tuple):
        for one in value:
            _collect(one, kinds, seen)


@contextmanager
def _modules(kinds):
    before = {module: sys.modules.get(module) for module, _ in kinds}
    try:
        for (module, name), kind in kinds.items():
            if not isinstance(sys.modules.get(module), _Stub):
                sys.modules[module] = _Stub(module)
            setattr(sys.modules[module], name, kind)
        yield
    finally:
        for module, was in before.items():
            if was is None:
                del sys.modules[module]
            else:
                sys.modules[module] = was


class _Stub(ModuleType):
    pass
