"""`ConversationKGMemory`: what is known about the entities a line mentions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from langchain_core.messages import BaseMessage, SystemMessage
from langchain_core.runnables import run_in_executor
from pydantic import Field, PlainSerializer, PlainValidator, PrivateAttr

from holdover.compat import prompt as prompts
from holdover.compat.both_ways import Do, Operation, arun, run
from holdover.compat.chat_memory import BaseChatMemory
from holdover.compat.entities.extraction import parse_entities
from holdover.compat.graph import EntityGraph
from holdover.compat.messages import as_text, render
from holdover.compat.prompting import Model, Prompt, ask
from holdover.compat.transcript import tail
from holdover.compat.triples import KnowledgeTriple, parse_triples

__all__ = [
    "ConversationKGMemory",
    "EntityGraph",
    "KnowledgeTriple",
    "NetworkxEntityGraph",
    "get_entities",
    "parse_triples",
]

# As community names what it has instead.
get_entities = parse_entities
NetworkxEntityGraph = EntityGraph


def _read_graph(value: Any) -> EntityGraph:
    if isinstance(value, Mapping) and isinstance(value.get("triples"), list):
        return EntityGraph(value["triples"])
    try:
        return EntityGraph.of(value)
    except TypeError as error:  # pydantic lets it through
        raise ValueError(error) from None


def _dump_graph(graph: EntityGraph) -> dict[str, Any]:
    return {"triples": [list(triple) for triple in run(graph.all())]}


Graph = Annotated[
    EntityGraph,
    PlainValidator(_read_graph),
    PlainSerializer(_dump_graph, return_type=dict, when_used="json"),
]


class ConversationKGMemory(BaseChatMemory):
    """Learns facts from what is said, and gives those about the entities in a line.

    Args:
        k: How many turns the model is shown besides the line.
        kg: The facts; by default those of the store, or none. The triples of a
            `NetworkxEntityGraph` are taken over.
    """

    k: int = 2
    human_prefix: str = "Human"
    ai_prefix: str = "AI"
    kg: Graph = Field(default_factory=EntityGraph)
    knowledge_extraction_prompt: Prompt = Field(
        default_factory=lambda: prompts.KNOWLEDGE_TRIPLE_EXTRACTION_PROMPT
    )
    entity_extraction_prompt: Prompt = Field(
        default_factory=lambda: prompts.ENTITY_EXTRACTION_PROMPT
    )
    llm: Model
    summary_message_cls: type[BaseMessage] = SystemMessage
    memory_key: str = "history"

    _live_fields: ClassVar[tuple[str, ...]] = (
        "llm",
        "knowledge_extraction_prompt",
        "entity_extraction_prompt",
        "summary_message_cls",
    )
    _state_fields: ClassVar[tuple[str, ...]] = ("chat_memory", "kg")

    # The graph that goes where the history goes; one that was kept elsewhere stays.
    _following: EntityGraph | None = PrivateAttr(default=None)

    def __init__(self, *args: Any, **fields: Any) -> None:
        super().__init__(*args, **fields)
        self._graph()

    def _graph(self) -> EntityGraph:
        """The facts, kept where this memory's records are.

        `kg` may be assigned, and so may a history of another session: the facts of one
        session are not given in another.
        """
        assigned: object = self.kg
        graph = EntityGraph.of(assigned)
        place = self._records_place()
        if graph is self._following and not (
            graph.place is not None and graph.place.is_same(place)
        ):
            graph = self._following = EntityGraph()
        if graph.place is None and place.is_shared:
            graph.keep_in(place)
            self._following = graph
        if graph is not assigned:
            self.kg = graph
        return graph

    @property
    def memory_variables(self) -> list[str]:
        """The one name it adds."""
        return [self.memory_key]

    def get_current_entities(self, input_string: str) -> list[str]:
        """Ask the model which entities a line mentions."""
        return run(self._entities(input_string))

    async def aget_current_entities(self, input_string: str) -> list[str]:
        """See `get_current_entities`."""
        if self._replaces("get_current_entities"):
            return await run_in_executor(None, self.get_current_entities, input_string)
        return await arun(self._entities(input_string))

    def get_knowledge_triplets(self, input_string: str) -> list[KnowledgeTriple]:
        """Ask the model which facts a line states."""
        return run(self._triplets(input_string))

    async def aget_knowledge_triplets(self, input_string: str) -> list[KnowledgeTriple]:
        """See `get_knowledge_triplets`."""
        if self._replaces("get_knowledge_triplets"):
            return await run_in_executor(
                None, self.get_knowledge_triplets, input_string
            )
        return await arun(self._triplets(input_string))

    def _replaces(self, method: str) -> bool:
        """Whether a subclass has its own: classic's has no async twin to override."""
        own = getattr(ConversationKGMemory, method)
        return getattr(type(self), method) is not own

    def _entities(self, line: str) -> Operation[list[str]]:
        answer = yield from self._ask(self.entity_extraction_prompt, line)
        return parse_entities(answer)

    def _triplets(self, line: str) -> Operation[list[KnowledgeTriple]]:
        answer = yield from self._ask(self.knowledge_extraction_prompt, line)
        return parse_triples(answer)

    def _ask(self, prompt: Prompt, line: str) -> Operation[str]:
        wanted = 2 * self.k
        recent: list[BaseMessage] = []
        if wanted > 0:
            read = yield from tail(self.chat_memory, lambda read: len(read) >= wanted)
            recent = read[-wanted:]
        history = render(recent, self.human_prefix, self.ai_prefix)
        return (
            yield from ask(self.llm, prompt, needed=False, history=history, input=line)
        )

    def _load(self, inputs: dict[str, Any]) -> Operation[dict[str, Any]]:
        line = as_text(self._said(inputs))
        entities = yield Do(
            lambda: self.get_current_entities(line),
            lambda: self.aget_current_entities(line),
        )
        known = yield from self._graph().knowing(entities)
        texts = [
            f"On {entity}: {'. '.join(facts)}."
            for entity, facts in zip(entities, known, strict=True)
            if facts
        ]
        if not self.return_messages:
            return {self.memory_key: "\n".join(texts)}
        return {self.memory_key: [self.summary_message_cls(content=t) for t in texts]}

    def _save(
        self, inputs: dict[str, Any], outputs: dict[str, Any]
    ) -> Operation[list[BaseMessage]]:
        # Whoever clears the session while the model is asked, clears this turn, too.
        graph = self._graph()
        since = yield from graph.since()
        turn = yield from super()._save(inputs, outputs)
        line = as_text(self._said(inputs))
        triples = yield Do(
            lambda: self.get_knowledge_triplets(line),
            lambda: self.aget_knowledge_triplets(line),
        )
        yield from graph.adding(triples, since)
        return turn

    def _clear(self) -> Operation[None]:
        graph = self._graph()
        # The facts last: a turn that is saved in between keeps its messages only.
        yield from super()._clear()
        yield from graph.clearing()

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Give the facts about the entities in the input."""
        return run(self._load(inputs))

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """See `load_memory_variables`."""
        return await arun(self._load(inputs))

    def _dump_state(self) -> dict[str, Any]:
        return {**super()._dump_state(), "kg": _dump_graph(self._graph())}

    def _load_state(self, state: Mapping[str, Any]) -> None:
        super()._load_state(state)
        if not self._graph().get_triples():
            run(self._graph().adding(state["kg"]["triples"]))
