"""`ConversationVectorStoreTokenBufferMemory`: old turns move to a vector store."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from langchain_core.messages import BaseMessage
from langchain_core.prompts.chat import SystemMessagePromptTemplate
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, InstanceOf, PrivateAttr

from holdover.compat.base import BaseChatMessageHistory, classic_module
from holdover.compat.both_ways import Operation, arun, run
from holdover.compat.messages import as_text
from holdover.compat.place import Place
from holdover.compat.token_buffer import ConversationTokenBufferMemory
from holdover.compat.tokens import counter_of
from holdover.compat.transcript import START, Cursor, Entry, beyond, everything, tail
from holdover.compat.vectors.exchanges import Exchange, exchanges, moment_of, turns_of
from holdover.compat.vectors.flushed import Flushed
from holdover.compat.vectors.needed import check_retriever, may_be_missing
from holdover.compat.vectors.splitting import split_text
from holdover.compat.vectorstore import VectorStoreRetrieverMemory
from holdover.compat.windows import fit, pruned_count

__all__ = [
    "DEFAULT_HISTORY_TEMPLATE",
    "TIMESTAMP_FORMAT",
    "ConversationVectorStoreTokenBufferMemory",
]

# Ours, where classic's own is not installed.
_TEMPLATE = """
It is now {current_time}.

What follows are parts of earlier conversations, each with its time, that may have to do
with this one (leave aside what does not):
{previous_history}

"""

TIMESTAMP_FORMAT = "%Y-%m-%d %H:%M:%S %Z"

if TYPE_CHECKING:
    DEFAULT_HISTORY_TEMPLATE: str


def __getattr__(name: str) -> Any:
    if name != "DEFAULT_HISTORY_TEMPLATE":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        classic = classic_module("memory.vectorstore_token_buffer_memory")
        template = classic.DEFAULT_HISTORY_TEMPLATE
    except ImportError:
        template = _TEMPLATE
    globals()[name] = template
    return template


def _default_template() -> str:
    template: str = getattr(sys.modules[__name__], "DEFAULT_HISTORY_TEMPLATE")  # noqa: B009 - by `__getattr__`
    return template


# A turn moves no more than this many old exchanges: an old history is long.
_STEP = 50


class ConversationVectorStoreTokenBufferMemory(ConversationTokenBufferMemory):
    """Gives the newest messages that fit a limit, after what is near from before.

    Exchanges that no longer fit `max_token_limit` are embedded, with the time they
    were said. The messages stay in the history; a cursor says which are embedded, each
    once. The cursor is kept where the history is a store's, or with `store=`; else, of
    a history that is there already, what does not fit counts as embedded.

    Documents carry the session or scope of the memory, else of its history, and only
    they are found, and cleared with the messages; without, they are shared, and stay.

    Args:
        retriever: Finds earlier exchanges. It may be left out where there is a store
            with an index.
        writer: What adds documents, for a retriever that cannot.
        previous_history_template: Has `current_time` and `previous_history`.
        split_chunk_size: The largest part (characters) an answer is embedded in.
    """

    retriever: InstanceOf[BaseRetriever] | None = Field(exclude=True)
    previous_history_template: str = Field(default_factory=_default_template)
    split_chunk_size: int = 1000
    writer: Any = Field(default=None, exclude=True)

    _live_fields: ClassVar[tuple[str, ...]] = (
        "llm",
        "retriever",
        "token_counter",
        "writer",
    )

    _memory_retriever: VectorStoreRetrieverMemory | None = PrivateAttr(default=None)
    _flushed: Flushed = PrivateAttr(default_factory=Flushed)
    _moments: dict[tuple[int, str], datetime] = PrivateAttr(default_factory=dict)

    def __init__(self, *args: Any, **fields: Any) -> None:
        may_be_missing(type(self), fields)
        super().__init__(*args, **fields)
        check_retriever(self, self._records_place(), fields)

    @property
    def memory_retriever(self) -> VectorStoreRetrieverMemory:
        """The memory that holds earlier exchanges: of the session there is now."""
        found, place = self._memory_retriever, self._documents_place()
        if found is None or not found._is_at(place):  # noqa: SLF001 - our own
            made = found or VectorStoreRetrieverMemory.model_construct(
                retriever=self.retriever, writer=self.writer
            )
            found = self._memory_retriever = made._at(place)  # noqa: SLF001
        return found

    def _documents_place(self) -> Place:
        """Whose the documents are: by what this memory was told, else its history."""
        own = self._place
        told = self.retriever is not None and own.is_named
        return own if told else self._records_place()

    def _owns_documents(self) -> bool:
        """Whether they are of this conversation, and no other's."""
        place = self._records_place()
        named = place.is_named or self.retriever is None
        return named and self.memory_retriever._is_at(place)  # noqa: SLF001 - our own

    def _cursor(self) -> Operation[Cursor]:
        return (yield from self._flushed.read(self._records_place()))

    def _kept(self) -> Operation[list[BaseMessage]]:
        count, limit = counter_of(self.llm, self.token_counter), self.max_token_limit
        cursor = yield from self._cursor()
        messages = yield from tail(
            self.chat_memory, lambda read: count(read) > limit, beyond=cursor
        )
        return fit(messages, limit, count)

    def _recall(self, inputs: Mapping[str, Any]) -> Operation[dict[str, Any]]:
        query = as_text(self._said(inputs))
        memory = self.memory_retriever
        try:
            found = yield from memory._turns().find(query)  # noqa: SLF001 - our own
        except AssertionError:  # an empty vector store, as some say it
            found = []
        previous = self._previous("\n".join(one.page_content for one in found))
        kept = yield from self._kept()
        if self.return_messages:
            return {self.memory_key: [previous, *kept]}
        text = str(previous.content)
        end = "" if text.endswith("\n") or not kept else "\n"
        return {self.memory_key: f"{text}{end}{self._buffer_as_str(kept)}"}

    def _previous(self, history: str) -> BaseMessage:
        template = SystemMessagePromptTemplate.from_template(
            self.previous_history_template
        )
        now = datetime.now(UTC).astimezone().strftime(TIMESTAMP_FORMAT)
        return template.format(previous_history=history, current_time=now)

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Give what is near to the input from before, and the newest messages.

        Raises:
            ValueError: Nothing tells which input is meant.
            IndexRequired: The store has no index.
        """
        return run(self._recall(inputs))

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """See `load_memory_variables`."""
        return await arun(self._recall(inputs))

    def _save(
        self, inputs: dict[str, Any], outputs: dict[str, Any]
    ) -> Operation[list[BaseMessage]]:
        yield from self._begin()
        turn = yield from super()._save(inputs, outputs)
        yield from self._flush(self.max_token_limit)
        return turn

    def _begin(self) -> Operation[None]:
        """Of a history that is there already, what does not fit was moved before."""
        place = self._records_place()
        if place.is_shared or self._flushed.began(place):
            return
        messages = yield from everything(self.chat_memory)
        count = counter_of(self.llm, self.token_counter)
        gone = pruned_count(messages, self.max_token_limit, count)
        entries = yield from beyond(self.chat_memory, START)
        moved = [one for one in exchanges(entries) if one.first.count <= gone]
        last = moved[-1].last if moved else START
        yield from self._flushed.write(place, last)

    def _flush(self, limit: int | None) -> Operation[None]:
        """Move what does not fit a limit; without one, everything."""
        # Of one session throughout, should another history be assigned meanwhile.
        place, history = self._records_place(), self.chat_memory
        moving = self._flush_alone(place, history, self.memory_retriever, limit)
        yield from self._flushed.alone(place, moving)

    def _flush_alone(
        self,
        place: Place,
        history: BaseChatMessageHistory,
        memory: VectorStoreRetrieverMemory,
        limit: int | None,
    ) -> Operation[None]:
        count = counter_of(self.llm, self.token_counter)

        def enough(read: list[BaseMessage]) -> bool:
            # What follows the first step is more than is kept: the step is not.
            return limit is not None and count(read[2 * _STEP :]) > limit

        cursor = yield from self._flushed.read(place)
        entries = yield from beyond(history, cursor, enough)
        self._note(entries)
        gone = len(entries)
        if limit is not None:
            gone = pruned_count([entry.message for entry in entries], limit, count)
        done = entries[gone - 1].cursor.count if gone else 0
        todo = [
            one
            for one in exchanges(entries)
            if one.first.count <= done and (one.whole or limit is None)
        ]
        for exchange in todo if limit is None else todo[:_STEP]:
            yield from self._move(exchange, memory)
            yield from self._flushed.write(place, exchange.last)
            for moment in [m for m in self._moments if m[0] <= exchange.last.count]:
                del self._moments[moment]

    def _note(self, entries: list[Entry]) -> None:
        """Note when a message was first seen, where its key does not tell."""
        now = datetime.now(UTC)
        for entry in entries:
            if moment_of(entry.cursor) is None:
                self._moments.setdefault(_place_of(entry.cursor), now)

    def _move(
        self, exchange: Exchange, memory: VectorStoreRetrieverMemory
    ) -> Operation[None]:
        moment = moment_of(exchange.last) or self._moments[_place_of(exchange.last)]
        time = moment.astimezone().strftime(TIMESTAMP_FORMAT)
        parts = self._split_long_ai_text(exchange.answered)
        for said, answered in turns_of(exchange, time, parts):
            yield from memory._save(said, answered)  # noqa: SLF001 - our own

    def _split_long_ai_text(self, text: str) -> list[str]:
        return split_text(text, self.split_chunk_size)

    def save_remainder(self) -> None:
        """Move all that is left, as at the end of a session."""
        run(self._flush(None))

    async def asave_remainder(self) -> None:
        """See `save_remainder`."""
        await arun(self._flush(None))

    def _clear(self) -> Operation[None]:
        place = self._records_place()
        yield from self._flushed.alone(place, self._clear_alone(place))

    def _clear_alone(self, place: Place) -> Operation[None]:
        if self._owns_documents():
            # First: those of messages that are gone would come back.
            yield from self.memory_retriever._turns().clear()  # noqa: SLF001 - our own
        yield from super()._clear()
        self._moments.clear()
        yield from self._flushed.clear(place)

    def _dump_state(self) -> dict[str, Any]:
        cursor = run(self._cursor())
        moments = [
            [count, digest, moment.isoformat()]
            for (count, digest), moment in self._moments.items()
        ]
        return {
            **super()._dump_state(),
            "flushed": [cursor.count, cursor.hash],
            "moments": moments,
        }

    def _load_state(self, state: Mapping[str, Any]) -> None:
        super()._load_state(state)
        place = self._records_place()
        if run(self._cursor()) == START:
            count, digest = state["flushed"]
            run(self._flushed.write(place, Cursor(count, digest)))
        for count, digest, moment in state["moments"]:
            self._moments[count, digest] = datetime.fromisoformat(moment)


def _place_of(cursor: Cursor) -> tuple[int, str]:
    return cursor.count, cursor.hash
