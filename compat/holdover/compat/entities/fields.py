"""The fields of an entity memory, and where what it keeps is kept."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, MutableMapping, Sequence
from typing import Any, ClassVar

from langchain_core.messages import BaseMessage
from pydantic import Field, PrivateAttr

from holdover.compat import prompt as prompts
from holdover.compat.base import InMemoryChatMessageHistory
from holdover.compat.chat_memory import BaseChatMemory
from holdover.compat.entities.access import Entities, access, is_private, is_stored
from holdover.compat.entities.state import (
    EntityStore,
    State,
    lifetime_beside,
    place_beside,
    seeds,
)
from holdover.compat.entities.summaries import Asking
from holdover.compat.entities.turnstile import Turnstile, turnstile
from holdover.compat.entity_stores import (
    InMemoryEntityStore,
    StoreEntityStore,
    _EntityView,
)
from holdover.compat.notices import warn_once
from holdover.compat.place import Place
from holdover.compat.prompting import Model, Prompt
from holdover.compat.repository import Repository


class EntityFields(BaseChatMemory):
    """See `ConversationEntityMemory`."""

    human_prefix: str = "Human"
    ai_prefix: str = "AI"
    llm: Model
    extraction_llm: Model | None = None
    entity_extraction_prompt: Prompt = Field(
        default_factory=lambda: prompts.ENTITY_EXTRACTION_PROMPT
    )
    entity_summarization_prompt: Prompt = Field(
        default_factory=lambda: prompts.ENTITY_SUMMARIZATION_PROMPT
    )
    #: The entities of the last load; a user's own are summarised by the next save.
    entity_cache: list[str] = Field(default_factory=list)
    k: int = 3
    chat_history_key: str = "history"
    entity_store: EntityStore = Field(default_factory=InMemoryEntityStore)
    background: bool = False
    debounce: float = Field(default=0.0, ge=0)
    max_summary_chars: int | None = Field(default=4000, gt=0)
    max_entities: int = Field(default=20, ge=0)

    _live_fields: ClassVar[tuple[str, ...]] = (
        "llm",
        "extraction_llm",
        "entity_extraction_prompt",
        "entity_summarization_prompt",
    )
    _state_fields: ClassVar[tuple[str, ...]] = (
        "chat_memory",
        "entity_cache",
        "entity_store",
    )

    _state: State = PrivateAttr(default_factory=State)
    _beside: tuple[Any, Place] | None = PrivateAttr(default=None)

    def __init__(self, *args: Any, **fields: Any) -> None:
        given = fields.get("store")
        initial = fields.pop("store") if isinstance(given, Mapping) else None
        buffer = fields.pop("buffer", None)
        if "memory_key" in fields:
            fields.setdefault("chat_history_key", fields.pop("memory_key"))
        super().__init__(*args, **fields)
        place = self._place
        if fields.get("entity_store") is None and initial is None and place.is_shared:
            self.entity_store = InMemoryEntityStore(
                place.store,
                session_id=place.session,
                scope=fields.get("scope"),
                unsafe=fields.get("unsafe", False),
            )
        beside = None if place.is_shared else self._place_beside()
        if beside is not None and fields.get("chat_memory") is None:
            self.chat_memory = self._history_beside(beside)
        if initial is not None:
            self._begin_with(initial)
        if buffer is not None:
            self._begin_after(buffer)
        if self.debounce and not self.background:
            warn_once("debounce= does nothing without background=True.")

    def _history_beside(self, place: Place) -> Any:
        from holdover.compat.chat_message_histories.store import (  # noqa: PLC0415
            StoreChatMessageHistory,
        )

        return StoreChatMessageHistory.at(place, lifetime_beside(self.entity_store))

    def _place_beside(self) -> Place | None:
        """Where an entity store of ours keeps its entities, if that is a store."""
        entities = self.entity_store
        if self._beside is None or self._beside[0] is not entities:
            if not (isinstance(entities, StoreEntityStore) and is_stored(entities)):
                return None
            self._beside = entities, place_beside(entities)
        return self._beside[1]

    def _begin_with(self, entities: Mapping[str, Any]) -> None:
        if not is_private(self.entity_store):
            raise ValueError(
                "store={…} gives the first entities of a memory that keeps them "
                "itself; give the entity store its own."
            )
        for name, summary in entities.items():
            self.entity_store.set(name, summary)

    def _begin_after(self, buffer: Sequence[BaseMessage | str] | str) -> None:
        history = self.chat_memory
        if not isinstance(history, InMemoryChatMessageHistory):
            raise ValueError(  # noqa: TRY004 - the argument does not go with the others
                "buffer=[…] gives the first messages of a memory that keeps them "
                "itself; add them to the history: memory.chat_memory.add_messages."
            )
        history.add_messages(seeds(buffer, self.human_prefix, self.ai_prefix))

    @property
    def buffer(self) -> list[BaseMessage]:
        """The messages."""
        return self.chat_memory.messages

    @property
    def memory_key(self) -> str:
        """Another word for `chat_history_key`."""
        return self.chat_history_key

    @property
    def store(self) -> MutableMapping[str, str | None]:
        """The entities as a mapping; the `BaseStore` is `base_store`.

        Raises:
            AttributeError: The entity store cannot list what it holds.
        """
        entities: Any = self.entity_store
        if isinstance(entities, StoreEntityStore):
            shown = getattr(entities, "store", None)
            return _EntityView(entities) if shown is None else shown
        return entities.store  # type: ignore[no-any-return]

    @property
    def memory_variables(self) -> list[str]:
        """The two names it adds."""
        return ["entities", self.chat_history_key]

    def _records_place(self) -> Place:
        return self._waiting_place() or self._place

    def _waiting_place(self) -> Place | None:
        """Where turns wait for their summaries, if that is a store."""
        return self._place if self._place.is_shared else self._place_beside()

    def _queue(self) -> Repository:
        place = self._waiting_place()
        return place.repository if place else self._state.queue()

    def _entities(self) -> Entities:
        return access(self.entity_store, self._state.names)

    def _session(self) -> Hashable:
        return self._queue().identity

    def _turnstile(self) -> Turnstile:
        return turnstile(self._session())

    def _asking(self) -> Asking:
        return Asking(
            self.llm, self.entity_summarization_prompt, self.max_summary_chars
        )
