"""`ConversationSummaryBufferMemory`: a summary, then the newest messages."""

from __future__ import annotations

from typing import Any, ClassVar

from langchain_core.messages import BaseMessage
from pydantic import Field, computed_field

from holdover.compat.both_ways import Operation, arun, run, twins
from holdover.compat.messages import render
from holdover.compat.running_summary import Summary
from holdover.compat.summarizing import STEP_MESSAGES, one_step
from holdover.compat.summary import SummarizedMemory
from holdover.compat.tokens import TokenCounter, counter_of
from holdover.compat.transcript import beyond, tail
from holdover.compat.windows import fit, pruned_count

__all__ = ["ConversationSummaryBufferMemory"]


class ConversationSummaryBufferMemory(SummarizedMemory):
    """Gives the newest messages that fit a limit, after a summary of the others.

    The messages stay in the history; a cursor kept with the summary says which ones
    it covers, so each is summarised once, also after a restart or a failed call.

    Args:
        max_token_limit: Of the messages, without the summary.
        moving_summary_buffer: The summary a session that has none begins with.
        token_counter: Counts a list of messages; without it the model does.
        backlog: See `ConversationSummaryMemory`.
    """

    max_token_limit: int = 2000
    token_counter: TokenCounter | None = Field(default=None, exclude=True)

    _summary_name: ClassVar[str] = "moving_summary_buffer"
    _owner: ClassVar[str] = "ConversationSummaryBufferMemory"
    # What a whole summary covers is hidden, although it would fit.
    _goes_on: ClassVar[bool] = False

    @computed_field(repr=False)  # type: ignore[prop-decorator]
    @property
    def moving_summary_buffer(self) -> str:
        """The summary."""
        return run(self._summary()).text

    @moving_summary_buffer.setter
    def moving_summary_buffer(self, text: str) -> None:
        run(self._assign(text))

    @property
    def buffer(self) -> str | list[BaseMessage]:
        """What `load_memory_variables` gives."""
        value: str | list[BaseMessage] = self.load_memory_variables({})[self.memory_key]
        return value

    async def abuffer(self) -> str | list[BaseMessage]:
        """See `buffer`."""
        variables = await self.aload_memory_variables({})
        value: str | list[BaseMessage] = variables[self.memory_key]
        return value

    def _load(self) -> Operation[dict[str, Any]]:
        summary = yield from self._summary()
        count, limit = counter_of(self.llm, self.token_counter), self.max_token_limit
        # A subclass that prunes in its own way says what is kept.
        ours = type(self).prune is ConversationSummaryBufferMemory.prune
        messages = yield from tail(
            self.chat_memory,
            lambda read: ours and count(read) > limit,
            beyond=summary.cursor,
        )
        kept = fit(messages, limit, count) if ours else messages
        if summary.text:
            kept.insert(0, self._summary_message(summary.text))
        return {
            self.memory_key: kept
            if self.return_messages
            else render(kept, self.human_prefix, self.ai_prefix)
        }

    def _summarize_turn(self) -> Operation[None]:
        yield twins(self, "prune", "aprune")

    def prune(self) -> None:
        """Summarise what no longer fits the limit: at most one bounded call."""
        run(self._step())

    async def aprune(self) -> None:
        """See `prune`."""
        await arun(self._step())

    def _step(self) -> Operation[Summary]:
        before = yield from self._summary()
        count, limit = counter_of(self.llm, self.token_counter), self.max_token_limit

        def enough(read: list[BaseMessage]) -> bool:
            # What follows the first step is more than is kept: the step is not.
            return count(read[STEP_MESSAGES:]) > limit

        skip = self.backlog == "skip"
        entries = yield from beyond(
            self.chat_memory, before.cursor, None if skip else enough
        )
        gone = pruned_count([entry.message for entry in entries], limit, count)
        pruned = entries[:gone]
        skipped = pruned[:-STEP_MESSAGES] if skip else []
        return (
            yield from self._extend(before, one_step(pruned[len(skipped) :]), skipped)
        )
