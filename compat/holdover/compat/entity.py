"""`ConversationEntityMemory`: what was said about whom, and the entity stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from holdover.compat import events
from holdover.compat.background import worker
from holdover.compat.base import BaseEntityStore
from holdover.compat.both_ways import Do, Operation, arun, run
from holdover.compat.entities.extraction import parse_entities
from holdover.compat.entities.flushing import EntityFlushing, log_failure
from holdover.compat.entities.naming import meaning_of
from holdover.compat.entities.state import Found, assigned
from holdover.compat.entities.summaries import Mention, Overtaken, summarise
from holdover.compat.entities.turn import Turn
from holdover.compat.entity_stores import InMemoryEntityStore, SQLiteEntityStore
from holdover.compat.messages import as_text, render
from holdover.compat.prompting import ask
from holdover.compat.redis_entity_stores import (
    RedisEntityStore,
    UpstashRedisEntityStore,
)
from holdover.compat.transcript import tail
from holdover.compat.windows import last_turns, turns_in

__all__ = [
    "BaseEntityStore",
    "ConversationEntityMemory",
    "InMemoryEntityStore",
    "RedisEntityStore",
    "SQLiteEntityStore",
    "UpstashRedisEntityStore",
]


class ConversationEntityMemory(EntityFlushing):
    """Gives the last turns, and what is known of those the input names.

    A load asks the model once, for the names. A save asks it for the new summary of
    each of them, all at the same time; with `background=True` it asks nothing: the
    turn waits in the store, or in this object without one, and is summarised behind
    the reply, also after a crash. Turns of one session in one process are summarised
    one after the other; if another process changes an entity meanwhile, its summary is
    asked for again.

    A name is taken for a known entity if it is spelled so, but for case and the like,
    is a known alias, or can mean but one; never by a guess. `entities` then holds the
    known name. `aliases()` shows such names, and `split` parts one again.

    Args:
        extraction_llm: Finds the names instead of `llm`.
        background: Summarise behind the replies. An error is logged, and raised by
            `flush()`.
        debounce: Seconds that a turn waits for others, in the background: what they
            say about one entity makes one summary.
        max_summary_chars: A longer summary is cut after a sentence; `None` cuts none.
        max_entities: No more names are taken from one input.
        store: As everywhere; a mapping gives the first entities, as it did.
        buffer: First messages, also as lines such as `"Human: hi"`.
        memory_key: Another word for `chat_history_key`.
    """

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Give the last turns, and the summaries of those the input names.

        Raises:
            ValueError: Nothing tells which input is meant.
        """
        return run(self._load(inputs))

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """See `load_memory_variables`."""
        self._state.notice_loop()
        return await arun(self._load(inputs))

    async def asave_context(
        self, inputs: dict[str, Any], outputs: dict[str, Any]
    ) -> None:
        """See `save_context`."""
        self._state.notice_loop()
        await super().asave_context(inputs, outputs)

    def _load(self, inputs: dict[str, Any]) -> Operation[dict[str, Any]]:
        text = as_text(self._said(inputs))
        yield from self._look_for_turns()
        window = last_turns((yield from self._newest(self.k)), self.k)
        history = render(window, self.human_prefix, self.ai_prefix)
        names = yield from self._extract(history, text)
        meaning = yield from meaning_of(names, self._entities())
        self._state.remember(text, names)
        self.entity_cache = Found(list(meaning.summaries))
        return {
            self.chat_history_key: window if self.return_messages else history,
            "entities": meaning.summaries,
        }

    def _newest(self, turns: int) -> Operation[list[BaseMessage]]:
        if turns <= 0:
            return []
        history = self.chat_memory
        return (
            yield from tail(history, lambda read: turns_in(read) >= turns, opening=True)
        )

    def _extract(self, history: str, text: str) -> Operation[list[str]]:
        llm = self.llm if self.extraction_llm is None else self.extraction_llm
        prompt = self.entity_extraction_prompt
        answer = yield from ask(llm, prompt, needed=False, history=history, input=text)
        return parse_entities(answer, limit=self.max_entities)

    def _save(
        self, inputs: dict[str, Any], outputs: dict[str, Any]
    ) -> Operation[list[BaseMessage]]:
        saved = yield from super()._save(inputs, outputs)
        turn = yield from self._turn_to_summarise(inputs, saved)
        if not self.background:
            yield from self._summarise(turn)
        elif turn.names is None or turn.names:
            queue = self._queue()
            content = turn.content(queue._redact)  # noqa: SLF001 - our own class
            yield Do(lambda: queue.enqueue(content), lambda: queue.aenqueue(content))
            events.emit("pending", queue.scope[0])
            self._wake()
        return saved

    def _turn_to_summarise(
        self, inputs: dict[str, Any], saved: Sequence[BaseMessage]
    ) -> Operation[Turn]:
        text = as_text(self._said(inputs))
        names: Sequence[str] | None = assigned(self.entity_cache)
        if names is None:
            names = self._state.names_in(text)
        newest = yield from self._newest(self.k + 1)
        before: Sequence[BaseMessage] = ()
        if names is None:
            before = last_turns(newest[: len(newest) - len(saved)], self.k)
        human, ai = self.human_prefix, self.ai_prefix
        return Turn(
            names,
            text,
            render(before, human, ai),
            render(saved, human, ai),
            render(last_turns(newest, self.k), human, ai),
        )

    def _summarise(self, turn: Turn) -> Operation[None]:
        names = turn.names
        if names is None:
            names = yield from self._extract(turn.before, turn.text)
        gate = self._turnstile()
        entered = yield from gate.enter()
        try:
            yield from self._look_for_turns(inside=entered)
            entities = self._entities()
            meaning = yield from meaning_of(names, entities, tell=turn.names is None)
            mentions = [
                Mention(name, turn.text, turn.history, meaning.said.get(name, ()))
                for name in meaning.summaries
            ]
            cleared = self._state.cleared
            failed = yield from summarise(
                mentions,
                self._asking(),
                entities,
                lambda: self._is_still_there(cleared),
            )
        except Overtaken:
            return  # nothing is learnt of a conversation that was cleared
        finally:
            if entered:
                gate.leave()
        for error in list(failed.values())[1:]:
            log_failure(error)
        for error in failed.values():
            raise error

    def _is_still_there(self, cleared: int) -> Operation[bool]:
        """Whether nobody cleared the conversation while the model was asked."""
        if self._state.cleared != cleared:
            return False
        return bool((yield from self._newest(1)))

    def aliases(self) -> dict[str, list[str]]:
        """What else each entity is called."""
        return run(self._aliases())

    async def aaliases(self) -> dict[str, list[str]]:
        """See `aliases`."""
        return await arun(self._aliases())

    def _aliases(self) -> Operation[dict[str, list[str]]]:
        known = yield from self._entities().known()
        return {one.name: sorted(one.aliases) for one in known or () if one.aliases}

    def split(self, name: str, alias: str) -> None:
        """Let `alias` be a name of its own again: it never means `name` any more.

        What was said under it stays in the summary of `name`; its journal has the
        earlier ones.

        Raises:
            KeyError: There is no such entity.
        """
        run(self._split(name, alias))

    async def asplit(self, name: str, alias: str) -> None:
        """See `split`."""
        await arun(self._split(name, alias))

    def _split(self, name: str, alias: str) -> Operation[None]:
        entities = self._entities()
        there = (yield from entities.read([name]))[name] is not None
        if not there or not (yield from entities.rename(name, split=[alias])):
            raise KeyError(f"There is no entity {name!r}.")

    def _clear(self) -> Operation[None]:
        # What waits first: else it would be summarised after all.
        worker().drop(self._session())
        queue = self._queue()
        yield Do(queue.clear_pending, queue.aclear_pending)
        yield from super()._clear()
        yield from self._entities().clear()
        self._state.clear()
        self.entity_cache = Found()

    def _dump_state(self) -> dict[str, Any]:
        known = run(self._entities().known()) or []
        summaries = run(self._entities().read([one.name for one in known]))
        return {
            **super()._dump_state(),
            "entities": summaries,
            "aliases": {one.name: sorted(one.aliases) for one in known if one.aliases},
            "splits": {one.name: sorted(one.splits) for one in known if one.splits},
            "cache": list(self.entity_cache),
            "pending": self._state.waiting(),
        }

    def _load_state(self, state: Mapping[str, Any]) -> None:
        super()._load_state(state)
        # As a user's own: the next save uses it, as it would have.
        self.entity_cache = list(state.get("cache", ()))
        self._state.wait_again(state.get("pending", ()))
        entities = self._entities()
        if run(entities.known()) != []:
            return
        summaries = {n: text for n, text in state.get("entities", {}).items() if text}
        if summaries:
            run(entities.write(summaries, {}))
        for name, names in state.get("aliases", {}).items():
            run(entities.rename(name, add=names))
        for name, names in state.get("splits", {}).items():
            run(entities.rename(name, split=names))
