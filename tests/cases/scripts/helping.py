"""What the scripts of this folder share: fake models, places, and the verdict."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_core.language_models.llms import LLM
from langchain_core.vectorstores import InMemoryVectorStore
from pydantic import Field


class Model(LLM):
    """Answers by a function of the prompt, counts words, keeps its prompts."""

    answer: Callable[[str], str] = lambda prompt: "ok"
    prompts: list[str] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "case"

    def _call(self, prompt: str, stop: Any = None, run_manager: Any = None, **_: Any):
        self.prompts.append(prompt)
        return self.answer(prompt)

    def get_num_tokens(self, text: str) -> int:
        return len(text.split())

    def get_num_tokens_from_messages(self, messages: Any, tools: Any = None) -> int:
        return sum(len(str(message.content).split()) for message in messages)


def model(answer: str | Callable[[str], str] = "ok") -> Model:
    """A model that always says this."""
    return Model(answer=answer if callable(answer) else lambda _: answer, prompts=[])


#: What the prompts for names say: classic's own, and ours where it is not installed.
NAMES_WANTED = ("proper nouns", "List the names")


def entity_model(names: Any = "Maya", summary: Any = "Maya is an astronomer.") -> Model:
    """A model that answers both questions of the entity memory."""

    def answer(prompt: str) -> str:
        asked_for_names = any(word in prompt for word in NAMES_WANTED)
        value = names if asked_for_names else summary
        return value(prompt) if callable(value) else value

    return model(answer)


class Letters(Embeddings):
    """Counts letters."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        text = text.lower()
        return [1.0 + text.count(chr(97 + n)) for n in range(26)]


def vectors() -> InMemoryVectorStore:
    """An empty vector store."""
    return InMemoryVectorStore(Letters())


def texts(store: InMemoryVectorStore) -> list[str]:
    """What it holds."""
    return [entry["text"] for entry in store.store.values()]


def place(name: str) -> str:
    """A path in a new folder."""
    return str(Path(tempfile.mkdtemp(prefix="case-")) / name)


def redis_url() -> str:
    """The address of a Redis that may be written to."""
    return os.environ["CASE_REDIS_URL"]


def warned(function: Callable[[], Any]) -> bool:
    """Whether a call tells its caller anything, deprecations excepted."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function()
    return any("Deprecat" not in warning.category.__name__ for warning in caught)


def verdict(fault: object, detail: object = "") -> None:
    """Say whether the fault was seen."""
    shown = " ".join(str(detail).split())
    print(f"{'BUG' if fault else 'OK'}: {shown}"[:300])
