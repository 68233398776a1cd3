"""What every memory of ours takes and gives besides what the classic ones do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import PrivateAttr

from holdover.compat.alike import have_same_fields, held
from holdover.compat.base import BaseMemory
from holdover.compat.both_ways import Operation, arun, run
from holdover.compat.notices import warn_of
from holdover.compat.place import Place

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore

    from holdover.compat.repository import Repository
    from holdover.compat.scope import Scope

FORMAT = 1
_PLACE = "_place"


def is_of_today(state: Any, part: str, name: str) -> bool:
    """Whether a state is one of ours: it has what none of a classic class has.

    Args:
        state: Whatever a pickle says.
        part: Which part of it would have that.
        name: What is looked for.
    """
    inside = state.get(part) if isinstance(state, Mapping) else None
    return isinstance(inside, Mapping) and name in inside


class StoreMemory(BaseMemory):  # noqa: PLW1641 - it changes
    """A memory that may keep its records in a store.

    Args:
        args: As in the classic class.
        store: A `BaseStore`, or an address for `open_store`.
        session_id: The session; any string. A configured store is used only with it.
        scope: The whole scope instead of `("memory_store", session_id)`.
        unsafe: Accept a store that is known to lose data.
        fields: As in the classic class; others are named in a warning.
    """

    #: Fields that `to_dict` leaves out, and `from_dict` has to be given again.
    _live_fields: ClassVar[tuple[str, ...]] = ()
    #: Fields and properties that `_dump_state` takes care of.
    _state_fields: ClassVar[tuple[str, ...]] = ()

    _place: Place = PrivateAttr(default_factory=Place)

    def __init__(
        self,
        *args: Any,
        store: BaseStore | str | None = None,
        session_id: str | None = None,
        scope: Scope | tuple[str, ...] | str | None = None,
        unsafe: bool = False,
        **fields: Any,
    ) -> None:
        known = type(self).model_fields
        # A subclass of somebody else's may have fields of these names.
        given = {"session_id": session_id, "store": store, "scope": scope}
        fields |= {n: v for n, v in given.items() if n in known and v is not None}
        super().__init__(*args, **fields)
        self._place = Place(store, scope=scope, session=session_id, unsafe=unsafe)
        if type(self).model_config.get("extra") not in ("allow", "forbid"):
            names = {*known, *(f.alias for f in known.values())}
            warn_of(fields.keys() - names, type(self))

    def __setstate__(self, state: dict[Any, Any]) -> None:
        """Take up a state, also that of a classic memory."""
        if is_of_today(state, "__pydantic_private__", _PLACE):
            super().__setstate__(state)
            return
        from holdover.compat.old_states import revive  # noqa: PLC0415 - rarely needed

        revive(self, state)

    def __eq__(self, other: object) -> bool:
        """As in classic: of one class, with the same fields and memories.

        Of two that keep them in a store, whether it is the same store and session.
        Nothing is read from a store or a history elsewhere.
        """
        if self is other:
            return True
        if not isinstance(other, StoreMemory):
            return NotImplemented
        if not have_same_fields(self, other):
            return False
        mine, theirs = self._records_place(), other._records_place()
        if mine.is_shared or theirs.is_shared:
            return mine.is_same(theirs)
        return held(self) == held(other)

    def _revived(self) -> None:
        """What is left to do when it was made of a classic one's state."""

    @property
    def base_store(self) -> BaseStore:
        """The LangGraph store behind this object; raises `ValueError` without one."""
        return self.repository.store

    @property
    def repository(self) -> Repository:
        """The records of its scope; raises `ValueError` without a store."""
        return self._records_place().repository

    def _records_place(self) -> Place:
        """Where what it derives is kept."""
        return self._place

    def _save(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> Operation[Any]:
        """What keeping a turn does."""
        raise NotImplementedError

    def _clear(self) -> Operation[None]:
        """What clearing does."""
        raise NotImplementedError

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Keep a turn.

        Raises:
            ValueError: Nothing tells which input or output is meant.
            KeyError: The key that was named is not there.
        """
        run(self._save(inputs, outputs))

    async def asave_context(
        self, inputs: dict[str, Any], outputs: dict[str, Any]
    ) -> None:
        """See `save_context`."""
        await arun(self._save(inputs, outputs))

    def clear(self) -> None:
        """Remove what was said, and what was derived from it."""
        run(self._clear())

    async def aclear(self) -> None:
        """See `clear`."""
        await arun(self._clear())

    def to_dict(self) -> dict[str, Any]:
        """This object as JSON: its settings, and all it remembers.

        Models, prompts and retrievers are not in it; their names are listed under
        `needs`, to be given to `from_dict` again.
        """
        known = type(self).model_fields
        live = [
            name
            for name in self._live_fields
            if name in known and getattr(self, name) is not None
        ]
        settings = self.model_dump(mode="json", exclude={*live, *self._state_fields})
        place = self._place
        return {
            "holdover": FORMAT,
            "class": type(self).__name__,
            "settings": settings,
            "session_id": place.session,
            "scope": place.given_scope,
            "needs": live,
            "state": self._dump_state(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], **arguments: Any) -> Self:
        """Make the object again that `to_dict` described.

        Args:
            data: What `to_dict` gave.
            arguments: What its `needs` lists, and anything else to change. A store
                that holds the session already keeps what it holds.

        Raises:
            ValueError: It describes another class, or was written by a newer version.
        """
        if data.get("class") != cls.__name__:
            raise ValueError(
                f"This describes a {data.get('class')}, not a {cls.__name__}."
            )
        if data.get("holdover", 0) > FORMAT:
            raise ValueError(
                "This was written by a newer Holdover; upgrade to read it."
            )
        settings = {**data["settings"], "session_id": data.get("session_id")}
        if scope := data.get("scope"):
            settings["scope"] = tuple(scope)
        memory = cls(**{**settings, **arguments})
        memory._load_state(data["state"])
        return memory

    def _dump_state(self) -> dict[str, Any]:
        """What it remembers, as JSON."""
        return {}

    def _load_state(self, state: Mapping[str, Any]) -> None:
        """Remember that again."""
