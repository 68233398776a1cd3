"""What a retriever, a writer and the vector store behind them can be asked to do.

Vector stores differ in what they take. What one refuses is done without.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import run_in_executor
from langchain_core.vectorstores import VectorStoreRetriever

from holdover.compat.both_ways import Do, Operation
from holdover.compat.errors import RetrieverReadOnly
from holdover.compat.vectors.scope import filter_for, filters_late

# A wrapping retriever keeps the one it wraps, or the vector store, under such a name.
_WITHIN = ("base_retriever", "vectorstore", "retriever", "vector_store")
_DEPTH = 5
# How a vector store says that it does not take an argument, or cannot do a thing.
REFUSALS = (TypeError, ValueError, NotImplementedError, AssertionError)
# These choose among what is near; they are not for listing.
_CHOOSING = ("score_threshold", "fetch_k", "lambda_mult")


def reach(start: Any, *methods: str) -> Any:
    """What has one of these methods: an object itself, or what it wraps; or `None`."""
    for _ in range(_DEPTH):
        if any(callable(getattr(start, method, None)) for method in methods):
            return start
        inner = (getattr(start, name, None) for name in _WITHIN)
        start = next((one for one in inner if one is not None), None)
    return None


def both(owner: Any, method: str, *args: Any, **kwargs: Any) -> Do:
    """A call of a method, and of its async twin where there is one."""
    call = getattr(owner, method)
    twin = getattr(owner, f"a{method}", None)

    async def acall() -> Any:
        if twin is not None:
            return await twin(*args, **kwargs)
        return await run_in_executor(None, lambda: call(*args, **kwargs))

    return Do(lambda: call(*args, **kwargs), acall)


def as_many_as_it_gives(
    ask: Callable[[int], Do], limit: int, least: int = 0
) -> Operation[list[Document] | None]:
    """What is found when asking for `limit`, or for as many as it accepts.

    Some vector stores refuse to give more than they hold.

    Args:
        ask: Makes the search for a number.
        limit: The number wanted.
        least: A number that it gave before; nothing is found if it takes no more.
    """
    found: list[Document] | None = None
    good, bad, wanted = least, limit + 1, limit
    while bad - good > 1:
        try:
            found, good = list((yield ask(wanted))), wanted
        except AssertionError:  # it is empty
            return []
        except REFUSALS:
            bad = wanted
        except Exception:  # noqa: BLE001 - whoever needs an answer asked before
            break
        wanted = (good + bad) // 2
    return found


class Access:
    """A retriever, and a writer for one that cannot add documents.

    Args:
        retriever: What finds documents.
        writer: A vector store, or anything with `add_documents` or `add_texts`.
        label: The scope that a search is narrowed to, where that is possible.
        k: How many documents to find; by default as many as the retriever gives.
        threshold: The least relevance (0 to 1) of what is found.
    """

    def __init__(
        self,
        retriever: BaseRetriever,
        writer: Any = None,
        *,
        label: str | None = None,
        k: int | None = None,
        threshold: float | None = None,
    ) -> None:
        self.retriever, self._writer = retriever, writer
        self._label, self.k, self.threshold = label, k, threshold
        self.options: dict[str, Any] = {}
        if isinstance(retriever, VectorStoreRetriever):
            self.options = dict(retriever.search_kwargs)

    @property
    def own_filter(self) -> Any:
        """The filter the retriever was made with."""
        return self.options.get("filter")

    @property
    def vectorstore(self) -> Any:
        """The vector store of the retriever itself, if it has one."""
        return getattr(self.retriever, "vectorstore", None)

    def narrowing(self, vectorstore: Any) -> dict[str, Any]:
        """The search arguments that leave other scopes out, if any are safe."""
        if self._label is None:
            return {}
        where = filter_for(vectorstore, self._label, self.own_filter)
        return {} if where is None else {"filter": where}

    def asking(self, k: int | None, narrowing: Mapping[str, Any]) -> BaseRetriever:
        """The retriever, with what one search changes in it."""
        retriever = self.retriever
        if not isinstance(retriever, VectorStoreRetriever):
            return retriever
        options = {**self.options, **narrowing}
        if k is not None:
            options["k"] = k
            if retriever.search_type == "mmr" or self._filters_late(options):
                options["fetch_k"] = max(options.get("fetch_k", 20), k)
        update: dict[str, Any] = {}
        if self.threshold is not None:
            options["score_threshold"] = float(self.threshold)
            update["search_type"] = "similarity_score_threshold"
        if options == self.options and not update:
            return retriever
        return retriever.model_copy(update={**update, "search_kwargs": options})

    def near(self, text: str, limit: int) -> Operation[list[Document] | None]:
        """Documents near a text, whatever the retriever makes of them; else `None`."""
        owner = self._owner("similarity_search")
        if owner is None:
            return None
        own = {n: v for n, v in self.options.items() if n not in _CHOOSING}
        narrowing = self.narrowing(owner)
        for options in ({**own, **narrowing}, own) if narrowing else (own,):

            def ask(k: int, options: Mapping[str, Any] = options) -> Do:
                late = {"fetch_k": k} if self._filters_late(options) else {}
                asked = {**options, **late, "k": k}
                return both(owner, "similarity_search", text, **asked)

            found = yield from as_many_as_it_gives(ask, limit)
            if found is not None:
                return found
        return None

    def there(self, ids: Sequence[str]) -> Operation[list[Document] | None]:
        """The documents of these ids; `None` where that cannot be asked."""
        owner = self._owner("get_by_ids")
        if owner is None:
            return None
        try:
            return list((yield both(owner, "get_by_ids", list(ids))) or ())
        except Exception:  # noqa: BLE001 - not implemented, or no ids as it has them
            return None

    def add(self, document: Document) -> Operation[None]:
        """Add a document; raises one of `REFUSALS` for what the writer does not take.

        Raises:
            RetrieverReadOnly: Nothing here can add documents.
        """
        writer = self._writer
        if writer is None:
            writer = reach(self.retriever, "add_documents", "add_texts")
        if writer is None:
            raise RetrieverReadOnly(
                f"{type(self.retriever).__name__} cannot add documents.",
                hint="Pass writer=, the vector store that it reads.",
            )
        if callable(getattr(writer, "add_documents", None)):
            yield both(writer, "add_documents", [document])
        else:
            options: dict[str, Any] = {"metadatas": [document.metadata]}
            if document.id is not None:
                options["ids"] = [document.id]
            yield both(writer, "add_texts", [document.page_content], **options)

    def delete(self, ids: Sequence[str]) -> Operation[bool]:
        """Delete documents by id; tell whether that can be done."""
        owner = self._owner("delete")
        # No ids would mean all of them to some vector stores.
        if owner is None or not ids:
            return False
        try:
            return (yield both(owner, "delete", list(ids))) is not False
        except REFUSALS:
            return False

    def _filters_late(self, options: Mapping[str, Any]) -> bool:
        return options.get("filter") is not None and filters_late(self.vectorstore)

    def _owner(self, method: str) -> Any:
        found = (reach(one, method) for one in (self._writer, self.retriever))
        return next((one for one in found if one is not None), None)
