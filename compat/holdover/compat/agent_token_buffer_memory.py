"""`AgentTokenBufferMemory`: what was said, and the steps an agent took in between."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from langchain_core.agents import AgentAction, AgentActionMessageLog, AgentStep
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    FunctionMessage,
    HumanMessage,
    ToolMessage,
)

from holdover.compat.both_ways import Operation, arun, run
from holdover.compat.messages import as_messages, json_text
from holdover.compat.notices import warn_once
from holdover.compat.token_buffer import ConversationTokenBufferMemory

__all__ = ["AgentTokenBufferMemory"]


class AgentTokenBufferMemory(ConversationTokenBufferMemory):
    """Gives the newest messages that fit `max_token_limit`, an agent's steps included.

    The limit holds whenever messages are given; the history itself keeps them all. A
    tool's result is never given without the call it answers.

    Args:
        intermediate_steps_key: Which output holds the steps.
        format_as_tools: Whether steps become tool messages, not function messages.
    """

    max_token_limit: int = 12000
    return_messages: bool = True
    output_key: str = "output"
    intermediate_steps_key: str = "intermediate_steps"
    format_as_tools: bool = False

    @property
    def buffer(self) -> list[BaseMessage]:
        """The messages, whatever `return_messages` says."""
        return run(self._kept())

    async def abuffer(self) -> list[BaseMessage]:
        """See `buffer`."""
        return await arun(self._kept())

    def _load(self) -> Operation[dict[str, Any]]:
        messages = self.return_messages
        return {
            self.memory_key: (yield from self._kept() if messages else self._as_str())
        }

    def _turn(
        self, inputs: dict[str, Any], outputs: dict[str, Any]
    ) -> list[BaseMessage]:
        said, answered = self._get_input_output(inputs, outputs)
        if self.intermediate_steps_key not in outputs:
            warn_once(
                f"The agent returned no {self.intermediate_steps_key!r}, so "
                f"{type(self).__name__} saves its turns without the steps; an "
                "AgentExecutor returns them with return_intermediate_steps=True.",
            )
        steps = outputs.get(self.intermediate_steps_key) or ()
        return [
            *as_messages(said, HumanMessage),
            *step_messages(steps, as_tools=self.format_as_tools),
            *as_messages(answered, AIMessage),
        ]


def step_messages(steps: Iterable[Any], *, as_tools: bool) -> list[BaseMessage]:
    """The steps of an agent as the messages it saw: its calls, and their results."""
    messages: list[BaseMessage] = []
    for step in steps:
        action, observation = _parts(step)
        if isinstance(action, AgentAction):
            new = _messages_of(action, observation, as_tools=as_tools)
        else:  # nobody's step; but what an agent did is not dropped
            new = [AIMessage(content=json_text(step))]
        if as_tools and len(new) > 1:
            # The calls of one message are a step each, and each has the message.
            new = [one for one in new if one not in messages]
        messages += new
    return messages


def _parts(step: Any) -> tuple[Any, Any]:
    if isinstance(step, AgentStep):
        return step.action, step.observation
    if isinstance(step, tuple | list) and len(step) == 2:  # noqa: PLR2004 - a pair
        return step[0], step[1]
    return None, None


def _messages_of(
    action: AgentAction, observation: Any, *, as_tools: bool
) -> list[BaseMessage]:
    """What the model said and what the tool returned, where the model called it."""
    content, call = _observed(observation), getattr(action, "tool_call_id", None)
    if not isinstance(action, AgentActionMessageLog) or (as_tools and call is None):
        return [AIMessage(content=action.log)]
    if not as_tools:
        result: BaseMessage = FunctionMessage(name=action.tool, content=content)
    else:
        name = {"name": action.tool}
        result = ToolMessage(tool_call_id=call, content=content, additional_kwargs=name)
    return [*action.message_log, result]


def _observed(observation: Any) -> str:
    if isinstance(observation, str):
        return observation
    try:
        return json.dumps(observation, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return str(observation)
