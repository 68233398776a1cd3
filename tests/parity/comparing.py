"""Scenarios, what they give, and how two outcomes are compared."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, ToolMessage
from parity.library import NEEDS

WAYS = ("sync", "async")


@dataclass(frozen=True)
class Scenario:
    """One thing done with both libraries.

    Attributes:
        of: The class it is about.
        name: What is done, in a few words; unique for the class.
        run: Does it with a `Library`, and gives plain data.
        ways: The ways in which it is done.
        needs: A module that classic needs for it.
    """

    of: str
    name: str
    run: Callable[[Any], Any]
    ways: tuple[str, ...] = WAYS
    needs: str | None = None

    @property
    def id(self) -> str:
        return f"{self.of}-{self.name}"


@dataclass(frozen=True)
class Raises:
    """An outcome: an exception of this type, by the name of its class."""

    name: str
    #: With modules, and its bases after it; no part of what a row declares.
    kinds: tuple[str, ...] = field(default=(), compare=False, repr=False)

    def allows(self, other: object) -> bool:
        """Whether who catches this catches the other one."""
        return isinstance(other, Raises) and self.kinds[0] in other.kinds


@dataclass(frozen=True)
class Difference:
    """Where we mean to differ: both outcomes, exactly, and why.

    Attributes:
        of: The classes; of the same scenario of each.
        scenario: Its name.
        classic: What classic gives.
        ours: What we give.
        why: For a reader who decides whether to switch.
        way: Only in this way, if one is named.
        lane: Only in this lane, if one is named: `current` or `legacy`.
        like: Another scenario, whose row stands for this one on the page.
        shown: How the two outcomes are written on the page, if not as they are.
    """

    of: str | tuple[str, ...]
    scenario: str
    classic: Any
    ours: Any
    why: str
    way: str | None = None
    lane: str | None = None
    like: str | None = None
    shown: tuple[str, str] | None = None

    @property
    def classes(self) -> tuple[str, ...]:
        return (self.of,) if isinstance(self.of, str) else self.of

    def covers(self, scenario: Scenario, way: str, lane: str) -> bool:
        return (
            scenario.of in self.classes
            and scenario.name == self.scenario
            and self.way in (None, way)
            and self.lane in (None, lane)
        )


@dataclass(frozen=True)
class Section:
    """The rows about a class, or about several."""

    title: str
    #: What is the same, in a sentence.
    same: str
    rows: tuple[Difference, ...]


SCENARIOS: list[Scenario] = []


def scenario(*of: str, ways: tuple[str, ...] = WAYS, needs: str | None = None):
    """Register a function as a scenario of one class or of several.

    Its name, up to two underscores, says what is done. A function for several classes
    takes a second argument: the name of the class.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        name = function.__name__.split("__")[0].replace("_", " ")
        takes_class = len(inspect.signature(function).parameters) == 2
        for one in of:
            run = _bound(function, one) if takes_class else function
            SCENARIOS.append(Scenario(one, name, run, ways, needs or NEEDS.get(one)))
        return function

    return register


def _bound(function: Callable[..., Any], name: str) -> Callable[[Any], Any]:
    def run(lib: Any) -> Any:
        return function(lib, name)

    run.__wrapped__ = function
    return run


def outcome(one: Scenario, lib: Any) -> Any:
    """What a scenario gives with a library, or how it ends."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(one.run(lib))
        except Exception as error:
            kinds = type(error).__mro__
            names = (f"{kind.__module__}.{kind.__qualname__}" for kind in kinds)
            return Raises(kinds[0].__name__, tuple(names))


def plain(value: Any) -> Any:
    """A result as data that both libraries can have equally."""
    if isinstance(value, BaseMessage):
        parts: tuple[Any, ...] = (value.type, plain(value.content))
        calls = getattr(value, "tool_calls", None)
        if calls:
            parts += ([(call["name"], call["args"]) for call in calls],)
        if isinstance(value, ToolMessage):
            parts += (value.tool_call_id,)
        return parts
    if isinstance(value, Document):
        return ("document", value.page_content, plain(value.metadata))
    if isinstance(value, Mapping):
        return {plain(key): plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, tuple):
        return tuple(plain(one) for one in value)
    if isinstance(value, set | frozenset):
        return sorted(plain(one) for one in value)
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, BaseException):
        return type(value).__name__
    if value is None or isinstance(value, str | int | float | bool | bytes):
        return value
    return type(value).__name__
