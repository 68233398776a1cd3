"""Models for the tests: they answer what they are told, and count words as tokens."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models.llms import LLM
from langchain_core.runnables import RunnableLambda
from pydantic import Field


class WordModel(LLM):
    """Answers with the next of its answers, or with what a function makes of a prompt.

    An answer that is an exception is raised.
    """

    answers: Any = Field(default_factory=lambda: ["fine"])
    prompts: list[str] = Field(default_factory=list)

    @property
    def _llm_type(self):
        return "words"

    def _call(self, prompt, stop=None, run_manager=None, **kwargs):
        self.prompts.append(prompt)
        if callable(self.answers):
            answer = self.answers(prompt)
        else:
            answer = self.answers[min(len(self.prompts), len(self.answers)) - 1]
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def get_num_tokens(self, text):
        return len(text.split())

    def get_num_tokens_from_messages(self, messages, tools=None):
        return sum(len(str(message.content).split()) for message in messages)


class Uncounted(WordModel):
    """A model that cannot count tokens."""

    def get_num_tokens_from_messages(self, messages, tools=None):
        raise NotImplementedError("no such model")


def answering(answer):
    """A model whose answer need not be text, which a language model's always is."""

    def say(_):
        if isinstance(answer, BaseException):
            raise answer
        return answer

    return RunnableLambda(say)


#: Everything a model may do instead of answering, with a name for each.
MISBEHAVING = {
    "raises": RuntimeError("the model is down"),
    "times out": TimeoutError("the model took too long"),
    "none": None,
    "empty": "",
    "blank": " \n\t",
    "ten megabytes": "word " * 2_000_000,
    "a number": 42,
    "a dict": {"answer": "x"},
    "bytes": b"summary",
}
