"""What can come of a property, how bad it is, and what is known beforehand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from langgraph.store.base import BaseStore


class Severity(StrEnum):
    """What a store that fails a property does to its users."""

    LOSS = "data loss"
    LEAK = "leak"
    SEMANTICS = "semantics"


class Outcome(StrEnum):
    """What came of one property."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    ERROR = "error"
    DIFFERS = "differs as declared"
    VANISHED = "difference vanished"
    NOT_APPLICABLE = "not applicable"

    @property
    def is_failure(self) -> bool:
        """Whether it makes a check fail."""
        return self in (Outcome.FAIL, Outcome.ERROR, Outcome.VANISHED)


@dataclass(frozen=True, slots=True)
class Difference:
    """A property a store is known not to have, and why.

    It is an expectation: where the store has the property after all, the check
    fails, and the declaration has to go.

    Attributes:
        name: The property.
        reason: Why, in one sentence; reports show it.
        expected: A part of the finding's text. Where the store fails in another way
            than this, that is a failure.
        always: `False` where it depends on timing: both outcomes are accepted then.
    """

    name: str
    reason: str
    expected: str = ""
    always: bool = True


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a store claims to do; what it does not claim is not applicable.

    Attributes:
        ttl: Items have a lifetime. Without it, `put(ttl=...)` must be refused.
        vectors: The store was opened with `index_config()` of this package.
        sync: The sync methods can be used (in `acheck`: from another thread).
        async_: The async methods can be used (in `check`: in a loop of its own).
    """

    ttl: bool = False
    vectors: bool = False
    sync: bool = True
    async_: bool = True

    @classmethod
    def of(cls, store: BaseStore) -> Capabilities:
        """What the store says of itself; a vector index has to be declared."""
        return cls(ttl=bool(store.supports_ttl))

    def has(self, needs: str, *, way: str = "sync") -> bool:
        """Whether a property that needs this applies, checked in a way.

        `needs` is the name of a capability, `no` and one, `twin` for the methods of
        the other way, or empty.
        """
        if not needs:
            return True
        if needs == "twin":
            needs = "async_" if way == "sync" else "sync"
        claimed = bool(getattr(self, needs.removeprefix("no ")))
        return claimed is not needs.startswith("no ")


def by_name(differences: Iterable[Difference]) -> dict[str, Difference]:
    """Index differences; a name declared twice is an error.

    Raises:
        ValueError: Two of them name the same property.
    """
    found: dict[str, Difference] = {}
    for one in differences:
        if one.name in found:
            raise ValueError(f"The difference {one.name} is declared twice.")
        found[one.name] = one
    return found
