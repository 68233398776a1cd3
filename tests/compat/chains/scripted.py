"""A chat model that says what it is told to, tool calls included."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field


class Chat(BaseChatModel):
    """Gives its answers in order: texts, messages, or exceptions to raise."""

    answers: list[Any]
    asked: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self):
        return "scripted"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        answer = self.answers[len(self.asked)]
        self.asked.append(list(messages))
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, str):
            answer = AIMessage(answer)
        # A model gives a new message each time.
        given = answer.model_copy(update={"id": None})
        return ChatResult(generations=[ChatGeneration(message=given)])

    def bind_tools(self, tools, **kwargs):
        return self

    def get_num_tokens_from_messages(self, messages, tools=None):
        return sum(len(str(message.content).split()) for message in messages)


def tool_call(name, **arguments):
    """A message that calls a tool."""
    call = {"name": name, "args": arguments, "id": f"call_{name}"}
    return AIMessage("", tool_calls=[call])
