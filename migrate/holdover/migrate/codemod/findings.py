"""What a rewrite reports."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One use of an old path or argument.

    Attributes:
        code: The rule's code, such as `HO101`.
        line: Where it stands in the source as it was given, from 1.
        column: Likewise, from 1.
        old: What stands there: a dotted path, or an argument.
        new: What belongs there; empty where a person must say.
        message: One sentence for a reader.
        safe: The rewrite keeps the meaning and needs no review.
        fixed: `Rewritten.text` no longer has it.
    """

    code: str
    line: int
    column: int
    old: str
    new: str
    message: str
    safe: bool
    fixed: bool


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A text after the rules, with what they found.

    Attributes:
        text: Equal to the source where nothing changed.
        findings: In the order of the source.
    """

    text: str
    findings: tuple[Finding, ...]
