"""Process-wide defaults: where records go, below which labels, how they are redacted.

Which store serves an object: its own `store=`, else the configured one, else the
class's own place, else one private to the object.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from holdover.compat.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Callable

    from langgraph.store.base import BaseStore

    Redactor = Callable[[str, dict[str, Any]], dict[str, Any]]

_UNSET: Any = object()


@dataclass(frozen=True, slots=True)
class Configuration:
    """What is configured; `None` where nothing is."""

    store: BaseStore | str | None = None
    scope: tuple[str, ...] = ()
    redact: Redactor | None = None

    def __repr__(self) -> str:
        """Show an address without its password."""
        from holdover.compat.stores.address import redact_url  # noqa: PLC0415

        store = self.store
        shown = redact_url(store) if isinstance(store, str) else store
        return (
            f"Configuration(store={shown!r}, scope={self.scope!r}, "
            f"redact={self.redact!r})"
        )

    def opened(self) -> BaseStore | None:
        """The configured store, opened once if it was given as an address."""
        if isinstance(self.store, str):
            from holdover.compat.stores.opening import open_store  # noqa: PLC0415

            return open_store(self.store)
        return self.store


_default = Configuration()
_current: ContextVar[Configuration | None] = ContextVar("holdover", default=None)


def in_context() -> Configuration | None:
    """What the innermost `configured` around here says, if there is one."""
    return _current.get()


def configuration() -> Configuration:
    """What holds here: the innermost `configured`, else what `configure` set."""
    return _current.get() or _default


def configure(
    *, store: Any = _UNSET, scope: Any = _UNSET, redact: Any = _UNSET
) -> None:
    """Set defaults for the process; an argument left out keeps its value.

    Args:
        store: A `BaseStore`, an address for `open_store`, or `None`.
        scope: Outermost labels, which every object's own `(root, session)` follow.
        redact: Called with a kind and a content before every write; what it
            returns is written.

    Raises:
        TypeError: `store` is neither.
        AddressError: It is an empty address.
    """
    global _default  # noqa: PLW0603 - one default for the process is its purpose
    _default = _changed(_default, store, scope, redact)


@contextmanager
def configured(
    *, store: Any = _UNSET, scope: Any = _UNSET, redact: Any = _UNSET
) -> Iterator[None]:
    """Set defaults for a block, seen by this thread or task only; see `configure`."""
    token = _current.set(_changed(configuration(), store, scope, redact))
    try:
        yield
    finally:
        _current.reset(token)


def _changed(
    before: Configuration, store: Any, scope: Any, redact: Any
) -> Configuration:
    if store is not _UNSET:
        from holdover.compat.stores.choosing import given_store  # noqa: PLC0415

        before = replace(before, store=given_store(store))
    if scope is not _UNSET:
        before = replace(before, scope=tuple(Scope.of(scope)) if scope else ())
    if redact is not _UNSET:
        before = replace(before, redact=redact)
    return before
