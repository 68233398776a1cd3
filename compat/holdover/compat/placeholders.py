"""What stands in a loaded pickle for classes and functions that no longer exist.

`holdover.compat.shim.load` makes them; nothing else does.
"""

from __future__ import annotations

import copy
import copyreg
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Self
from weakref import WeakValueDictionary

from holdover.compat.errors import HoldoverError

__all__ = ["NoLongerExists", "Placeholder", "is_lost", "placeholder_of", "reading"]


class NoLongerExists(HoldoverError, TypeError, AttributeError):
    """A placeholder was used as if it were what it stands for."""

    code = "no-longer-exists"


class _Reading(threading.local):
    depth = 0


_reading = _Reading()


@contextmanager
def reading() -> Iterator[None]:
    """While a pickle is read, placeholder classes can be called: it makes objects."""
    _reading.depth += 1
    try:
        yield
    finally:
        _reading.depth -= 1


class _Lost(type):
    """The class of the placeholder classes."""

    old_name: str
    why: str

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if not _reading.depth:
            raise NoLongerExists(
                f"{cls.old_name} does not exist here, and its placeholder cannot be "
                f"called{cls.why}.",
                hint="Put an object of today in its place.",
            )
        made: Placeholder = cls.__new__(cls, *args, **kwargs)  # type: ignore[arg-type]
        made.old_call = True
        return made

    def __repr__(cls) -> str:
        return f"<placeholder of {cls.old_name}>"


class Placeholder(metaclass=_Lost):
    """Stands for an object whose class, or the function that made it, is gone.

    What the pickle says of it can be read: its attributes are those that were pickled.
    It does nothing: calling it, and whatever attribute or method was not pickled,
    raises `NoLongerExists`. `len`, `iter` and `in` are the `TypeError` that they are
    for any object without them. It may be compared, is true, and attributes can be
    set, as with any object. Pickled again, it is read as the real object wherever that
    exists by then.

    Attributes:
        old_name: The full name it was pickled under.
        why: Why nothing was found there.
        old_args: What its class or function was called with.
        old_kwargs: The same, by name.
        old_call: Whether it was called at all, or an object made without.
        old_state: Its state as it was pickled; `None` if it had none.
        old_items: What was in it, for a kind of list.
        old_pairs: The same, for a kind of mapping.
    """

    old_name: ClassVar[str] = "an object"
    why: ClassVar[str] = ""
    old_args: tuple[Any, ...]
    old_kwargs: dict[str, Any]
    old_call: bool
    old_state: Any
    old_items: list[Any]
    old_pairs: list[tuple[Any, Any]]

    __slots__ = (
        "__dict__",
        "__weakref__",
        "old_args",
        "old_call",
        "old_items",
        "old_kwargs",
        "old_pairs",
        "old_state",
    )

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Keep what it is made with."""
        self = super().__new__(cls)
        self.old_args, self.old_kwargs, self.old_call = args, kwargs, False
        self.old_state, self.old_items, self.old_pairs = None, [], []
        return self

    def __setstate__(self, state: Any) -> None:
        """Keep a state of any form, and show its attributes."""
        self.old_state = state
        for part in state if isinstance(state, tuple) else (state,):
            if isinstance(part, Mapping):
                fields = part.get("__dict__")
                extra = part.get("__pydantic_extra__")
                self.__dict__.update(fields if isinstance(fields, Mapping) else part)
                self.__dict__.update(extra if isinstance(extra, Mapping) else {})

    def append(self, item: Any) -> None:
        """Keep an item, while a pickle is read."""
        self._refuse_afterwards("append")
        self.old_items.append(item)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Keep a pair, while a pickle is read."""
        self._refuse_afterwards("__setitem__")
        self.old_pairs.append((key, value))

    def _refuse_afterwards(self, name: str) -> None:
        if not _reading.depth:
            raise self._refusal(f"it has no {name}")

    def _refusal(self, what: str) -> NoLongerExists:
        kind = type(self)
        return NoLongerExists(
            f"{kind.old_name} does not exist here; this placeholder only keeps what "
            f"was pickled, and {what}{kind.why}.",
            hint="Put an object of today in its place.",
        )

    def __getattr__(self, name: str) -> Any:
        """Refuse what was not pickled."""
        raise self._refusal(f"it has no {name}")

    def __call__(self, *_args: Any, **_kwargs: Any) -> Any:
        """Refuse."""
        raise self._refusal("it cannot be called")

    def __repr__(self) -> str:
        """Show the name of what it stands for."""
        return f"<placeholder of a {type(self).old_name}>"

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Copy what it keeps."""
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        for name in _KEPT:
            setattr(made, name, copy.deepcopy(getattr(self, name), memo))
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return made

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Say how to make it again, or the real object."""
        from holdover.compat.shim import pickles  # noqa: PLC0415 - it imports us

        kind = type(self)
        kept = tuple(getattr(self, name) for name in _KEPT if name != "old_state")
        name = (kind.__module__, kind.__qualname__)
        return pickles.make_again, (*name, *kept), self.old_state


_KEPT = ("old_args", "old_kwargs", "old_call", "old_items", "old_pairs", "old_state")
# One class for each name: of two loads, too, as long as an object of it is there.
_classes: WeakValueDictionary[tuple[str, str], _Lost] = WeakValueDictionary()
_making = threading.Lock()


def placeholder_of(module: str, name: str, why: BaseException | None = None) -> Any:
    """The placeholder class of a name; the same for all who ask.

    Args:
        module: Where the pickle says that it is.
        name: Its name there.
        why: What was raised when it was looked for.
    """
    with _making:
        kind = _classes.get((module, name))
        if kind is None:
            said = {
                "__module__": module,
                "__qualname__": name,
                "__slots__": (),
                "__doc__": "Stands for what `old_name` says.",
                "old_name": f"{module}.{name}",
            }
            short = name.rpartition(".")[2].replace("\0", "?")
            # A pickle may hold any name; that of a class must be valid Unicode.
            short = short.encode("utf-8", "replace").decode()
            kind = _classes[module, name] = _Lost(short, (Placeholder,), said)
        if why is not None:
            kind.why = f" ({str(why).strip().rstrip('.')})"
    return kind


def is_lost(value: object) -> bool:
    """Whether it is a placeholder, of an object or of a class."""
    return isinstance(value, Placeholder | _Lost)


def _reduce_class(kind: _Lost) -> str | tuple[Callable[..., Any], tuple[str, str]]:
    if kind is Placeholder:
        return "Placeholder"
    from holdover.compat.shim import pickles  # noqa: PLC0415 - it imports us

    return pickles.find_again, (kind.__module__, kind.__qualname__)


# A class is pickled by its name, unless its metaclass says otherwise.
copyreg.pickle(_Lost, _reduce_class)
