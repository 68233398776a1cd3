"""`ConversationSummaryMemory`: a running summary of the conversation."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

from langchain_core.messages import BaseMessage
from pydantic import PrivateAttr, computed_field

from holdover.compat.background import Outcome, worker
from holdover.compat.base import (
    BaseChatMessageHistory,
    InMemoryChatMessageHistory,
)
from holdover.compat.both_ways import Operation, arun, run, visiting
from holdover.compat.chat_memory import BaseChatMemory
from holdover.compat.notices import logger
from holdover.compat.running_summary import NOTHING, RunningSummary, Summary
from holdover.compat.summarizing import (
    STEP_MESSAGES,
    Backlog,
    SummarizerMixin,
    extend,
    one_step,
)
from holdover.compat.transcript import Entry, beyond, moved

__all__ = ["ConversationSummaryMemory", "SummarizerMixin"]


class SummarizedMemory(BaseChatMemory, SummarizerMixin):
    """A chat memory with a running summary, kept where its records are."""

    memory_key: str = "history"
    backlog: Backlog = "step"

    _live_fields: ClassVar[tuple[str, ...]] = (
        "llm",
        "prompt",
        "summary_message_cls",
        "token_counter",
    )
    _state_fields: ClassVar[tuple[str, ...]] = (
        "chat_memory",
        "buffer",
        "moving_summary_buffer",
    )
    #: The argument and attribute that classic has for the summary.
    _summary_name: ClassVar[str]
    #: Whose summary it is in a store, whatever a subclass is called.
    _owner: ClassVar[str]
    #: Whether it may go on from what another class summarised.
    _goes_on: ClassVar[bool]

    _running: RunningSummary = PrivateAttr(default_factory=RunningSummary)
    _loop: Any = PrivateAttr(default=None)
    _token: str = PrivateAttr(default_factory=lambda: secrets.token_hex(8))

    def __init__(self, *args: Any, **fields: Any) -> None:
        # As in classic, `None` is the default.
        fields = {name: value for name, value in fields.items() if value is not None}
        initial = fields.pop(self._summary_name, "")
        if not isinstance(initial, str):
            raise TypeError(f"{self._summary_name} must be text.")
        super().__init__(*args, **fields)
        self._running = RunningSummary(self._owner, initial, goes_on=self._goes_on)

    def _summary(self) -> Operation[Summary]:
        return (yield from self._running.read(self._records_place()))

    def _extend(
        self,
        before: Summary,
        entries: Sequence[Entry],
        skipped: Sequence[Entry] = (),
    ) -> Operation[Summary]:
        place = self._records_place()
        return (
            yield from extend(
                self, self._running, place, before, entries, skipped=skipped
            )
        )

    def _assign(self, text: str) -> Operation[None]:
        """Keep what a user assigned; what it covers is said by the cursor there is."""
        now = yield from self._summary()
        summary = replace(now, text=text)
        yield from self._running.write(self._records_place(), summary)

    def _step(self) -> Operation[Summary]:
        """Summarise what is to be: at most one bounded call of the model."""
        raise NotImplementedError

    def _save(
        self, inputs: dict[str, Any], outputs: dict[str, Any]
    ) -> Operation[list[BaseMessage]]:
        turn = yield from super()._save(inputs, outputs)
        if self.backlog == "background":
            volatile = not self._records_place().is_shared
            key = yield from self._work_key()
            worker().wake(key, self._work, volatile=volatile)
        else:
            yield from self._summarize_turn()
        return turn

    def _summarize_turn(self) -> Operation[None]:
        yield from self._step()

    def _work_key(self) -> Operation[Hashable]:
        place = self._records_place()
        if not place.is_shared:
            # No `id`: another object may get it.
            return self._owner, self._token
        return self._owner, (yield from place.opened()).identity

    def _work(self) -> Outcome:
        """One step behind the replies; again as long as there is more."""
        more = run(visiting(self._loop, self._one_more()))
        return Outcome(again=0.0 if more else None, settled=not more)

    def _one_more(self) -> Operation[bool]:
        """Summarise a turn's worth; whether that got any further."""
        before = yield from self._summary()
        yield from self._summarize_turn()
        after = yield from self._summary()
        return after.cursor.count > before.cursor.count

    def flush(self) -> None:
        """Wait until all is summarised that is to be, with `backlog="background"`.

        Raises:
            Exception: What went wrong behind the replies; it is tried again then.
        """
        key = run(self._work_key())
        worker().finished(key, self._work).result()
        _raise(worker().take_error(key))

    async def aflush(self) -> None:
        """See `flush`."""
        self._loop = asyncio.get_running_loop()
        key = await arun(self._work_key())
        await asyncio.wrap_future(worker().finished(key, self._work))
        _raise(worker().take_error(key))

    async def asave_context(
        self, inputs: dict[str, Any], outputs: dict[str, Any]
    ) -> None:
        """See `save_context`."""
        # A model, or a history, may work only in the loop of async code.
        self._loop = asyncio.get_running_loop()
        await super().asave_context(inputs, outputs)

    def _clear(self) -> Operation[None]:
        worker().drop((yield from self._work_key()))
        # The summary first: one of messages that are gone would not end with them.
        yield from self._running.clear(self._records_place())
        yield from super()._clear()

    @property
    def memory_variables(self) -> list[str]:
        """The one name it adds."""
        return [self.memory_key]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Give the summary, and what it does not cover where the class keeps that."""
        return run(self._load())

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """See `load_memory_variables`."""
        return await arun(self._load())

    def _load(self) -> Operation[dict[str, Any]]:
        raise NotImplementedError

    def _summary_message(self, text: str) -> BaseMessage:
        return self.summary_message_cls(content=text)

    def _dump_state(self) -> dict[str, Any]:
        summary = run(self._summary())
        # A key means nothing in another store; count and hashes find the place.
        cursor = replace(summary.cursor, key="", recent=())
        dumped = replace(summary, cursor=cursor).as_dict()
        return {**super()._dump_state(), "summary": dumped}

    def _load_state(self, state: Mapping[str, Any]) -> None:
        super()._load_state(state)
        if not run(self._summary()).cursor.count:
            summary = Summary.of(state.get("summary", {}))
            run(self._running.write(self._records_place(), summary))


class ConversationSummaryMemory(SummarizedMemory):
    """Gives a summary that each turn extends.

    The messages stay in the history; each is summarised once, also after a restart.

    Args:
        buffer: The summary a session that has none begins with.
        backlog: What is done about messages that were there before: `"step"`
            summarises 100 of them a turn, `"background"` all of them behind the
            replies, `"skip"` only the newest 100.
    """

    _summary_name: ClassVar[str] = "buffer"
    _owner: ClassVar[str] = "ConversationSummaryMemory"
    _goes_on: ClassVar[bool] = True

    @computed_field(repr=False)  # type: ignore[prop-decorator]
    @property
    def buffer(self) -> str:
        """The summary."""
        return run(self._summary()).text

    @buffer.setter
    def buffer(self, text: str) -> None:
        run(self._assign(text))

    def _revived(self) -> None:
        # Classic had summarised what was in its history; elsewhere than in the pickle,
        # more may have come since.
        history, place = self.chat_memory, self._records_place()
        summary = run(self._summary())
        if (
            not summary.text
            or place.is_shared
            or not isinstance(history, InMemoryChatMessageHistory)
        ):
            return
        entries = run(beyond(history, summary.cursor))
        covering = replace(summary, cursor=moved(summary.cursor, entries))
        run(self._running.write(place, covering))

    @classmethod
    def from_messages(
        cls,
        llm: Any,
        chat_memory: BaseChatMessageHistory,
        *,
        summarize_step: int = 2,
        **kwargs: Any,
    ) -> Self:
        """Make a memory with the messages of a history summarised.

        Args:
            llm: The model.
            chat_memory: The history.
            summarize_step: How many messages a call of the model is given.
            kwargs: As for the class.
        """
        memory = cls(llm=llm, chat_memory=chat_memory, **kwargs)
        run(memory._summarize_all(summarize_step))
        return memory

    def _summarize_all(self, step: int) -> Operation[None]:
        summary = yield from self._summary()
        entries = yield from beyond(self.chat_memory, summary.cursor)
        for at in range(0, len(entries), step):
            part = entries[at : at + step]
            summary = yield from self._extend(summary, part)

    def _step(self) -> Operation[Summary]:
        before = yield from self._summary()
        entries = yield from beyond(
            self.chat_memory,
            before.cursor,
            # To skip, all have to be seen.
            None if self.backlog == "skip" else lambda read: len(read) > STEP_MESSAGES,
        )
        skipped = entries[:-STEP_MESSAGES] if self.backlog == "skip" else []
        step = one_step(entries[len(skipped) :])
        return (yield from self._extend(before, step, skipped))

    def _load(self) -> Operation[dict[str, Any]]:
        summary = yield from self._summary()
        if summary == NOTHING and self.backlog != "background":
            # A history that was there before: classic began with nothing.
            try:
                summary = yield from self._step()
            except Exception as error:  # noqa: BLE001 - of a model; a load goes on
                logger.warning("There is no summary yet: %s.", type(error).__name__)
        text = summary.text
        return {
            self.memory_key: [self._summary_message(text)]
            if self.return_messages
            else text
        }


def _raise(error: BaseException | None) -> None:
    if error is not None:
        raise error
