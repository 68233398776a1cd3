"""Every property: a generator with a sentence, registered under a dotted name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from holdover.compat.testing.outcomes import Severity
from holdover.compat.testing.steps import Steps
from holdover.compat.testing.trial import Trial

Body = Callable[[Trial], Steps[None]]
_properties: dict[str, Property] = {}


@dataclass(frozen=True, slots=True)
class Property:
    """One thing a store should do.

    Attributes:
        name: Stable; `group.what`.
        meaning: One sentence that is true of a store that passes.
        severity: What a store that fails does to its users.
        needs: The capability without which it is not applicable; see
            `Capabilities.has`.
        sleeps: Whether it waits for time to pass; such ones wait together.
    """

    name: str
    meaning: str
    severity: Severity
    needs: str
    sleeps: bool
    body: Body

    @property
    def group(self) -> str:
        """What the name begins with."""
        return self.name.partition(".")[0]


class Group:
    """The properties of one module: the function's name and docstring are theirs."""

    def __init__(self, name: str, *, needs: str = "") -> None:
        self._name, self._needs = name, needs

    def holds(
        self, severity: Severity, *, needs: str | None = None, sleeps: bool = False
    ) -> Callable[[Body], Body]:
        """Register a generator that raises `Broken` where it does not hold."""

        def register(body: Body) -> Body:
            name = f"{self._name}.{body.__name__.strip('_').replace('_', '-')}"
            _properties[name] = Property(
                name,
                " ".join((body.__doc__ or "").split()),
                severity,
                self._needs if needs is None else needs,
                sleeps,
                body,
            )
            return body

        return register


def properties(only: Iterable[str] | None = None) -> list[Property]:
    """List the properties, or those that match names or patterns such as `key.*`.

    Raises:
        ValueError: A pattern matches none.
    """
    import holdover.compat.testing.catalogue  # noqa: F401, PLC0415 - they register

    if only is None:
        return list(_properties.values())
    wanted = set()
    for pattern in only:
        matching = {name for name in _properties if fnmatchcase(name, pattern)}
        if not matching:
            raise ValueError(f"No property is called {pattern}.")
        wanted |= matching
    return [found for name, found in _properties.items() if name in wanted]
