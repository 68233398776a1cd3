"""A model for entity memories that answers by rule, and says what it was asked."""

from __future__ import annotations

import asyncio
import re
import threading
import time

from langchain_core.prompts import PromptTemplate
from langchain_core.runnables import RunnableLambda

EXTRACT = PromptTemplate.from_template("EXTRACT\x1f{history}\x1f{input}")
SUMMARISE = PromptTemplate.from_template(
    "SUMMARISE\x1f{entity}\x1f{summary}\x1f{history}\x1f{input}"
)
PROMPTS = {
    "entity_extraction_prompt": EXTRACT,
    "entity_summarization_prompt": SUMMARISE,
}


def capitals(history, said):
    """The words that begin with a capital, as a model would list them."""
    return ", ".join(dict.fromkeys(re.findall(r"\b[A-Z]\w+", said))) or "NONE"


def adding(entity, summary, history, said):
    """A summary that holds every line it was ever told."""
    return f"{summary} {said}".strip()


class Model:
    """Make with `.llm` a Runnable that is sync and truly async.

    `extract` and `summary` are what to answer: a function, a value, or an exception
    to raise. `calls` are the prompts, split.
    """

    def __init__(self, extract=capitals, summary=adding, delay=0.0):
        self.extract, self.summary, self.delay = extract, summary, delay
        self.calls = []
        self.at_once = self.most_at_once = 0
        self._lock = threading.Lock()
        self.llm = RunnableLambda(self._call, afunc=self._acall)

    def __deepcopy__(self, memo):
        return self

    def asked(self, what="SUMMARISE"):
        return [parts for kind, *parts in self.calls if kind == what]

    def _begin(self, prompt):
        kind, *parts = prompt.to_string().split("\x1f")
        with self._lock:
            self.calls.append((kind, *parts))
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        return self.extract if kind == "EXTRACT" else self.summary, parts

    def _end(self, answer, parts):
        with self._lock:
            self.at_once -= 1
        if callable(answer) and not isinstance(answer, type):
            answer = answer(*parts)
        if isinstance(answer, BaseException) or (
            isinstance(answer, type) and issubclass(answer, BaseException)
        ):
            raise answer
        return answer

    def _call(self, prompt):
        answer, parts = self._begin(prompt)
        time.sleep(self.delay)
        return self._end(answer, parts)

    async def _acall(self, prompt):
        answer, parts = self._begin(prompt)
        await asyncio.sleep(self.delay)
        return self._end(answer, parts)


def memory_of(model, **fields):
    """An entity memory that asks this model."""
    from holdover.compat.entity import ConversationEntityMemory

    return ConversationEntityMemory(llm=model.llm, **{**PROMPTS, **fields})


def turn(memory, said, answer="ok"):
    """Load, as a chain does before it answers, then save; what was loaded."""
    loaded = memory.load_memory_variables({"input": said})
    memory.save_context({"input": said}, {"output": answer})
    return loaded
