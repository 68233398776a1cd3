"""What a check found, as text and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from holdover.compat.errors import HoldoverError
from holdover.compat.testing.outcomes import Capabilities, Outcome, Severity

SCHEMA = 1
_ORDER = (
    Outcome.PASS,
    Outcome.DIFFERS,
    Outcome.VANISHED,
    Outcome.FAIL,
    Outcome.ERROR,
    Outcome.NOT_APPLICABLE,
)


class ConformanceFailed(HoldoverError):
    """A store lacks properties it should have; `failed` names them."""

    code = "conformance-failed"

    def __init__(
        self, message: str, *, failed: tuple[str, ...] = (), hint: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.failed = failed


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one property.

    Attributes:
        detail: What came instead; empty where it holds.
        reason: That of the declared difference.
    """

    name: str
    outcome: Outcome
    severity: Severity
    meaning: str
    detail: str = ""
    reason: str = ""

    def as_dict(self) -> dict[str, str]:
        """The result as JSON has it."""
        found = {
            "name": self.name,
            "outcome": str(self.outcome),
            "severity": str(self.severity),
            "meaning": self.meaning,
        }
        found |= {"detail": self.detail} if self.detail else {}
        return found | ({"reason": self.reason} if self.reason else {})


@dataclass(frozen=True, slots=True)
class Report:
    """What a check found.

    Attributes:
        store: The class of the store.
        way: `sync` or `async`: by which methods it was checked.
        about: Facts of the caller, such as versions.
        seed: Gives the same random operations again.
    """

    store: str
    way: str
    capabilities: Capabilities
    seed: int
    started: str
    seconds: float
    results: tuple[Result, ...]
    about: Mapping[str, str] = field(default_factory=dict)

    @property
    def failed(self) -> tuple[str, ...]:
        """The properties that make the check fail, vanished differences too."""
        return tuple(one.name for one in self.results if one.outcome.is_failure)

    @property
    def lacking(self) -> tuple[str, ...]:
        """The properties the store does not have, declared or not."""
        lacking = (Outcome.FAIL, Outcome.ERROR, Outcome.DIFFERS)
        return tuple(one.name for one in self.results if one.outcome in lacking)

    @property
    def counts(self) -> dict[str, int]:
        """How often each outcome came."""
        found = Counter(str(one.outcome) for one in self.results)
        return {str(one): found[str(one)] for one in _ORDER if found[str(one)]}

    def __getitem__(self, name: str) -> Result:
        """The result of one property."""
        for one in self.results:
            if one.name == name:
                return one
        raise KeyError(name)

    def require(self) -> None:
        """Raise `ConformanceFailed` unless all is as it should be or was declared."""
        if self.failed:
            raise ConformanceFailed(
                f"{self.store} is not as it should be in {len(self.failed)} of "
                f"{len(self.results)} properties: {', '.join(self.failed)}.",
                failed=self.failed,
                hint="The report's text says what came instead.",
            )

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON has it."""
        return {
            "schema": SCHEMA,
            "store": self.store,
            "way": self.way,
            "about": dict(self.about),
            "capabilities": {
                "ttl": self.capabilities.ttl,
                "vectors": self.capabilities.vectors,
                "sync": self.capabilities.sync,
                "async": self.capabilities.async_,
            },
            "seed": self.seed,
            "started": self.started,
            "seconds": self.seconds,
            "counts": self.counts,
            "properties": [one.as_dict() for one in self.results],
        }

    def json(self) -> str:
        """The report as JSON text; `schema` changes when its form does."""
        return json.dumps(self.as_dict(), indent=2, ensure_ascii=False) + "\n"

    def text(self, *, passed: bool = False) -> str:
        """The report for people: what is wrong first, then what was declared.

        Args:
            passed: Name also what passed and what is not applicable.
        """
        facts = ", ".join(f"{name} {value}" for name, value in self.about.items())
        counts = ", ".join(f"{count} {name}" for name, count in self.counts.items())
        lines = [
            f"{self.store}, {self.way} methods{f' ({facts})' if facts else ''}",
            (
                f"{len(self.results)} properties in {self.seconds:.1f} s, "
                f"seed {self.seed}: {counts}"
            ),
        ]
        quiet = (Outcome.PASS, Outcome.NOT_APPLICABLE)
        for outcome in (*reversed(_ORDER[1:-1]), *(quiet if passed else ())):
            found = [one for one in self.results if one.outcome is outcome]
            if found:
                lines += ["", f"{outcome}:"]
            for one in found:
                lines += self._lines_of(one)
        return "\n".join(lines) + "\n"

    @staticmethod
    def _lines_of(one: Result) -> list[str]:
        lines = [f"  {one.name}  [{one.severity}]  {one.meaning}"]
        lines += [f"      found: {one.detail}"] if one.detail else []
        return lines + ([f"      known: {one.reason}"] if one.reason else [])
