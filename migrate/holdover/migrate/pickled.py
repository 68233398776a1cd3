"""What stands in an unpickled value for objects, classes and functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

__all__ = ["Name", "Placeholder", "parts_of"]


class Name:
    """A class or function that a pickle names; nothing was looked up.

    Attributes:
        module: Where the pickle says that it is.
        name: Its name there.
    """

    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __repr__(self) -> str:
        """Show what it names."""
        return f"<name of {self.module}.{self.name}>"


class Placeholder:
    """An object that was pickled: what it was made of, and nothing that acts.

    It is equal to itself alone, as what it holds may hold it.

    Attributes:
        module: Where its class, or the function that made it, was.
        name: The name of that.
        args: What that was called with.
        named: The same, by name.
        state: Its state, in whatever form the release pickled it; see `fields`.
        items: What is in it, for a kind of list or set.
        pairs: The same, for a kind of mapping.
    """

    __slots__ = ("args", "items", "module", "name", "named", "pairs", "state")

    def __init__(
        self,
        module: str,
        name: str,
        args: tuple[Any, ...] = (),
        named: Mapping[Any, Any] | None = None,
    ) -> None:
        self.module, self.name, self.args = module, name, args
        self.named: Mapping[Any, Any] = named or {}
        self.state: Any = None
        self.items: list[Any] | tuple[()] = ()
        self.pairs: list[tuple[Any, Any]] | tuple[()] = ()

    def add_items(self, items: Iterable[Any]) -> None:
        """Take what an unpickler would append."""
        if not isinstance(self.items, list):
            self.items = []
        self.items += items

    def add_pairs(self, pairs: Iterable[tuple[Any, Any]]) -> None:
        """Take what an unpickler would set by key."""
        if not isinstance(self.pairs, list):
            self.pairs = []
        self.pairs += pairs

    @property
    def fields(self) -> dict[str, Any]:
        """A copy of its attributes, whether pydantic 1, 2 or none made the state."""
        return {
            name: value
            for part in reversed(list(parts_of(self.state)))
            for name, value in part.items()
            if isinstance(name, str)
        }

    def get(self, name: str, default: Any = None) -> Any:
        """One of its attributes; of a large state, nothing is copied."""
        for part in parts_of(self.state):
            if name in part:
                return part[name]
        return default

    def __repr__(self) -> str:
        """Show what it stands for; what is in it is somebody's."""
        return f"<placeholder of a {self.module}.{self.name}>"


def parts_of(state: Any) -> Iterator[dict[Any, Any]]:
    """The mappings of attributes in the state of an object; the first one counts."""
    # Of a class with slots, it is a pair.
    for part in state if isinstance(state, tuple) else (state,):
        if not isinstance(part, dict):
            continue
        extra, fields = part.get("__pydantic_extra__"), part.get("__dict__")
        if not isinstance(fields, dict):
            yield part
            continue
        if isinstance(extra, dict):
            yield extra
        yield fields
