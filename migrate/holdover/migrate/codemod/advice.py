"""What a rule is, and what one says of the arguments of a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import libcst as cst


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a call.

    Attributes:
        keyword: Its name; empty for a positional one.
        star: `*` or `**` of an unpacked one, else empty.
        value: The expression.
        text: The expression as it is written.
    """

    keyword: str
    star: str
    value: cst.BaseExpression
    text: str


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do about the arguments of one call, each known by its position.

    Attributes:
        old: The argument in question, for the report.
        message: One sentence for a reader.
        new: What is written instead; empty where a person must say.
        keywords: New names of arguments; a positional one becomes a named one.
        values: New values.
        drops: Arguments that go.
        needs: A name of `holdover.compat` that each new value begins with.
        otherwise: What a person is to do where that cannot be imported.
    """

    old: str
    message: str
    new: str = ""
    keywords: Mapping[int, str] = field(default_factory=dict)
    values: Mapping[int, str] = field(default_factory=dict)
    drops: frozenset[int] = frozenset()
    needs: str = ""
    otherwise: str = ""

    @property
    def changes(self) -> bool:
        """Whether it changes the call; else a person must."""
        return bool(self.keywords or self.values or self.drops)


Advise = Callable[[Sequence[Argument]], Advice | None]
#: For each class whose old arguments a rule knows, what to do about them.
Calls = Mapping[str, Advise]


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of change, described for a reader.

    Attributes:
        code: Stable, such as `HO101`.
        what: What it changes, in a phrase.
        why: Why the old form does not work any more.
        before: A short source that has it.
        after: The same source after the rule.
        safe: It keeps the meaning, without review.
    """

    code: str
    what: str
    why: str
    before: str
    after: str
    safe: bool = True
