"""`VectorStoreRetrieverMemory`: the earlier turns that are near to the input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from langchain_core.documents import Document
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, InstanceOf, PrivateAttr

from holdover.compat.both_ways import Operation, arun, run
from holdover.compat.erasing import ForgetReport
from holdover.compat.io_keys import get_prompt_input_key, required
from holdover.compat.memory import StoreMemory
from holdover.compat.messages import as_text
from holdover.compat.place import Place
from holdover.compat.tokens import TokenCounter, estimate
from holdover.compat.vectors.access import Access
from holdover.compat.vectors.documents import DocumentTurns
from holdover.compat.vectors.needed import check_retriever, may_be_missing
from holdover.compat.vectors.records import IndexedPlace, RecordTurns
from holdover.compat.vectors.scope import VectorScope, labels_of
from holdover.compat.vectors.turn_text import turn_text

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore

    from holdover.compat.scope import Scope

__all__ = ["VectorStoreRetrieverMemory"]

_K = 4


class VectorStoreRetrieverMemory(StoreMemory):
    """Keeps turns in a vector store, and gives those near to the input.

    Over a retriever, documents are kept in the vector store behind it. With a session
    or scope they carry it, and only they are found; without, only documents that
    carry none, old ones among them, and what was saved through a retriever with a
    filter only by one with a filter. Over `store=`, turns are records of the scope,
    and the store needs an index.

    Args:
        args: As in the classic class.
        store: A `BaseStore` with an index, or an address for `open_store`; in place of
            a retriever.
        session_id: The session; any string.
        scope: The whole scope instead of `("memory_store", session_id)`.
        index: LangGraph's `IndexConfig`, where the store is an address.
        unsafe: Accept a store that is known to lose data.
        fields: `retriever` (any; one that cannot add documents needs a `writer`),
            `memory_key`, `input_key`, `return_docs`, `exclude_input_keys`, as in the
            classic class, and the fields below.
    """

    retriever: InstanceOf[BaseRetriever] | None = Field(exclude=True)
    memory_key: str = "history"
    input_key: str | None = None
    return_docs: bool = False
    exclude_input_keys: Sequence[str] = Field(default_factory=tuple)
    exclude_output_keys: Sequence[str] = Field(default_factory=tuple)
    return_messages: bool = False
    """Give what was found as one system message in a list."""
    k: int | None = None
    """How many turns to find; by default what the retriever says, else 4."""
    score_threshold: float | None = None
    """The least score: of a retriever its relevance (0 to 1), of a store its own."""
    max_context_tokens: int | None = None
    """What does not fit is left out, the nearest turns first."""
    token_counter: TokenCounter | None = Field(default=None, exclude=True)
    metadata: dict[str, Any] = Field(default_factory=dict)
    """What every document carries besides."""
    writer: Any = Field(default=None, exclude=True)
    """A vector store, or anything with `add_documents` or `add_texts`."""

    _live_fields: ClassVar[tuple[str, ...]] = ("retriever", "token_counter", "writer")

    _saved: dict[str, None] = PrivateAttr(default_factory=dict)

    def __init__(
        self,
        *args: Any,
        store: BaseStore | str | None = None,
        session_id: str | None = None,
        scope: Scope | tuple[str, ...] | str | None = None,
        index: Mapping[str, Any] | None = None,
        unsafe: bool = False,
        **fields: Any,
    ) -> None:
        may_be_missing(type(self), fields)
        if fields.get("retriever") is not None and store is not None:
            raise ValueError("Pass retriever= or store=, not both.")
        super().__init__(
            *args,
            store=store,
            session_id=session_id,
            scope=scope,
            unsafe=unsafe,
            **fields,
        )
        check_retriever(self, self._place, fields)
        if index is not None:
            self._place = IndexedPlace.of(self._place, index)

    def _at(self, place: Place) -> Self:
        """The same for a place that another memory uses, too."""
        other = self.model_copy()
        other._place, other._saved = place, {}  # noqa: SLF001 - its own
        return other

    def _is_at(self, place: Place) -> bool:
        """Whether its turns are those of a place."""
        own = self._place
        if self.retriever is not None:
            return labels_of(own) == labels_of(place)
        return own is place or (
            own.scope == place.scope and own.repository.store is place.repository.store
        )

    @property
    def memory_variables(self) -> list[str]:
        """The one name it gives."""
        return [self.memory_key]

    def _get_prompt_input_key(self, inputs: Mapping[str, Any]) -> str:
        if self.input_key is None:
            return get_prompt_input_key(inputs, self.memory_variables)
        return self.input_key

    def _turns(self) -> DocumentTurns | RecordTurns:
        if self.retriever is None:
            return RecordTurns(
                self._place.repository,
                self.metadata,
                k=_K if self.k is None else self.k,
                threshold=self.score_threshold,
            )
        own = getattr(self.retriever, "search_kwargs", {}).get("filter")
        scope = VectorScope(labels_of(self._place), own, self.metadata)
        access = Access(
            self.retriever,
            self.writer,
            label=scope.label,
            k=self.k,
            threshold=self.score_threshold,
        )
        return DocumentTurns(access, scope, self._saved)

    def _load(self, inputs: Mapping[str, Any]) -> Operation[dict[str, Any]]:
        key = self._get_prompt_input_key(inputs)
        query = as_text(required(inputs, key, "input_key"))
        found = yield from self._turns().find(query)
        return self._documents_to_memory_variables(self._fitting(found))

    def _fitting(self, found: list[Document]) -> list[Document]:
        """What fits `max_context_tokens`; a long turn makes place for shorter ones."""
        if self.max_context_tokens is None:
            return found
        count = self.token_counter or estimate
        left = self.max_context_tokens
        fitting = []
        for document in found:
            size = count([HumanMessage(document.page_content)])
            if size <= left:
                fitting.append(document)
                left -= size
        return fitting

    def _documents_to_memory_variables(self, docs: list[Document]) -> dict[str, Any]:
        if self.return_docs:
            return {self.memory_key: docs}
        text = "\n".join(doc.page_content for doc in docs)
        if self.return_messages:
            return {self.memory_key: [SystemMessage(text)] if docs else []}
        return {self.memory_key: text}

    def _form_documents(
        self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]
    ) -> list[Document]:
        text = turn_text(
            inputs,
            outputs,
            input_key=self.input_key,
            exclude_inputs={*self.exclude_input_keys, self.memory_key},
            exclude_outputs=set(self.exclude_output_keys),
        )
        return [Document(page_content=text)]

    def _save(
        self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]
    ) -> Operation[None]:
        for document in self._form_documents(inputs, outputs):
            if document.page_content.strip():
                yield from self._turns().keep(document)

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Give what is near to the input: as text, or as `return_…` says.

        Raises:
            ValueError: Nothing tells which input is meant.
            KeyError: The input that was named is not there.
            IndexRequired: The store has no index.
        """
        return run(self._load(inputs))

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """See `load_memory_variables`."""
        return await arun(self._load(inputs))

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Keep a turn; the same one is kept once.

        Raises:
            KeyError: The input that was named is not there.
            RetrieverReadOnly: Nothing here can add documents.
            IndexRequired: The store has no index.
        """
        run(self._save(inputs, outputs))

    async def asave_context(
        self, inputs: dict[str, Any], outputs: dict[str, Any]
    ) -> None:
        """See `save_context`."""
        await arun(self._save(inputs, outputs))

    def delete(self, text_or_id: str) -> bool:
        """Delete one turn: by its whole text, or by the id of its document.

        Returns:
            Whether there was one, where the vector store can tell.
        """
        return run(self._turns().delete(text_or_id))

    async def adelete(self, text_or_id: str) -> bool:
        """See `delete`."""
        return await arun(self._turns().delete(text_or_id))

    def forget(self, text_or_id: str | None = None) -> ForgetReport:
        """Erase one turn, or all of this scope.

        In a store it is erased with its journal, and never learnt again; in a vector
        store it is deleted.
        """
        return run(self._turns().forget(text_or_id))

    async def aforget(self, text_or_id: str | None = None) -> ForgetReport:
        """See `forget`."""
        return await arun(self._turns().forget(text_or_id))

    def clear(self) -> None:
        """Delete the turns of this scope, and nothing else."""
        run(self._turns().clear())

    async def aclear(self) -> None:
        """See `clear`."""
        await arun(self._turns().clear())

    def _dump_state(self) -> dict[str, Any]:
        if self.retriever is not None:
            return {}
        return {
            "turns": [
                {"content": dict(record.content), "at": record.meta.get("recorded_at")}
                for record in self.repository.records("turn")
                if not record.foreign
            ]
        }

    def _load_state(self, state: Mapping[str, Any]) -> None:
        for turn in state.get("turns", ()):
            meta = {"recorded_at": turn["at"]} if turn.get("at") else None
            self.repository.put("turn", turn["content"], meta=meta)
