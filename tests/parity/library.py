"""Both libraries under the same names, with the fakes that a scenario needs."""

from __future__ import annotations

import asyncio
import importlib
import json
import re
import sys
import types
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_core.language_models.chat_models import SimpleChatModel
from langchain_core.language_models.llms import LLM
from langchain_core.vectorstores import InMemoryVectorStore
from pydantic import Field

from holdover.compat import base

#: Name -> (module below the classic package or of langchain-community, our module).
MEMORIES = {
    "ConversationBufferMemory": ("memory.buffer", "buffer"),
    "ConversationStringBufferMemory": ("memory.buffer", "buffer"),
    "ConversationBufferWindowMemory": ("memory.buffer_window", "buffer_window"),
    "ConversationTokenBufferMemory": ("memory.token_buffer", "token_buffer"),
    "ConversationSummaryMemory": ("memory.summary", "summary"),
    "ConversationSummaryBufferMemory": ("memory.summary_buffer", "summary_buffer"),
    "ConversationVectorStoreTokenBufferMemory": (
        "memory.vectorstore_token_buffer_memory",
        "vectorstore_token_buffer_memory",
    ),
    "VectorStoreRetrieverMemory": ("memory.vectorstore", "vectorstore"),
    "ConversationEntityMemory": ("memory.entity", "entity"),
    "ConversationKGMemory": ("langchain_community.memory.kg", "kg"),
    "CombinedMemory": ("memory.combined", "combined"),
    "ReadOnlySharedMemory": ("memory.readonly", "readonly"),
    "SimpleMemory": ("memory.simple", "simple"),
    "AgentTokenBufferMemory": (
        "agents.openai_functions_agent.agent_token_buffer_memory",
        "agent_token_buffer_memory",
    ),
}
ENTITY_STORES = {
    "InMemoryEntityStore": ("memory.entity", "entity_stores"),
    "SQLiteEntityStore": ("memory.entity", "entity_stores"),
    "RedisEntityStore": ("memory.entity", "redis_entity_stores"),
    "UpstashRedisEntityStore": ("memory.entity", "redis_entity_stores"),
}
_COMMUNITY = "langchain_community.chat_message_histories"
HISTORIES = {
    "ChatMessageHistory": (
        f"{_COMMUNITY}.in_memory",
        "chat_message_histories.in_memory",
    ),
    "FileChatMessageHistory": (f"{_COMMUNITY}.file", "chat_message_histories.file"),
    "RedisChatMessageHistory": (f"{_COMMUNITY}.redis", "chat_message_histories.redis"),
    "SQLChatMessageHistory": (f"{_COMMUNITY}.sql", "chat_message_histories.sql"),
    "PostgresChatMessageHistory": (
        f"{_COMMUNITY}.postgres",
        "chat_message_histories.postgres",
    ),
    "UpstashRedisChatMessageHistory": (
        f"{_COMMUNITY}.upstash_redis",
        "chat_message_histories.upstash_redis",
    ),
}
CLASSES = {**MEMORIES, **ENTITY_STORES, **HISTORIES}
#: Bases, which a subclass of a user may name.
BASES = {
    "BaseMemory": ("memory.chat_memory", "base"),
    "BaseChatMemory": ("memory.chat_memory", "chat_memory"),
    "BaseEntityStore": ("memory.entity", "base"),
}
#: What classic imports when it is used, by class; without it there is no comparing.
NEEDS = {"ConversationKGMemory": "networkx", "SQLChatMessageHistory": "greenlet"}


class WordLLM(LLM):
    """Answers by a function of the prompt, counts words, keeps its prompts."""

    answer: Callable[[str], str]
    prompts: list[str] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "words"

    def _call(self, prompt: str, stop: Any = None, run_manager: Any = None, **_: Any):
        self.prompts.append(prompt)
        return self.answer(prompt)

    def get_num_tokens(self, text: str) -> int:
        return len(text.split())

    def get_num_tokens_from_messages(self, messages: Any, tools: Any = None) -> int:
        return sum(len(str(message.content).split()) for message in messages)


class WordChatModel(SimpleChatModel):
    """The same as a chat model."""

    answer: Callable[[str], str]
    prompts: list[str] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "chat words"

    def _call(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any):
        prompt = "\n".join(str(message.content) for message in messages)
        self.prompts.append(prompt)
        return self.answer(prompt)

    get_num_tokens = WordLLM.get_num_tokens
    get_num_tokens_from_messages = WordLLM.get_num_tokens_from_messages


class Letters(Embeddings):
    """Texts with the same letters are near to each other."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        if not isinstance(text, str):
            raise TypeError("Only text can be embedded.")
        text = text.lower()
        return [1.0 + text.count(chr(97 + n)) for n in range(26)]


class ModelFailed(Exception):
    """What the model of `failing_llm` raises."""


def _fail(prompt: str) -> str:
    raise ModelFailed


class Library:
    """One of the two libraries: `lib.ClassName` is its class.

    Args:
        name: `classic` or `ours`.
        way: `sync` or `async`: how `save`, `load`, `clear` and `call` work.
        folder: A folder of its own.
        server: Gives the address of a server, by kind.
    """

    def __init__(
        self, name: str, way: str, folder: Path, server: Callable[[str], Any]
    ) -> None:
        self.name, self.way, self.folder = name, way, folder
        self._server = server

    def __getattr__(self, name: str) -> Any:
        place = CLASSES.get(name) or BASES.get(name)
        if place is None:
            raise AttributeError(name)
        classic, ours = place
        if self.name == "ours":
            return getattr(importlib.import_module(f"holdover.compat.{ours}"), name)
        if not classic.startswith("langchain"):
            classic = f"{base.CLASSIC}.{classic}"
        return getattr(importlib.import_module(classic), name)

    @property
    def other(self) -> Library:
        """The other library."""
        name = "ours" if self.name == "classic" else "classic"
        return Library(name, self.way, self.folder, self._server)

    # What a scenario does with a memory, in the way that is being compared.

    def call(self, target: Any, method: str, *arguments: Any, **named: Any) -> Any:
        """Call a method, or its twin with an `a` before its name."""
        if self.way == "sync":
            found = getattr(target, method)
            return found(*arguments, **named) if callable(found) else found
        return asyncio.run(getattr(target, f"a{method}")(*arguments, **named))

    def save(self, memory: Any, said: Any, answered: Any) -> None:
        """Save a turn: of texts, or of whole inputs and outputs."""
        inputs = said if isinstance(said, dict) else {"input": said}
        outputs = answered if isinstance(answered, dict) else {"output": answered}
        self.call(memory, "save_context", inputs, outputs)

    def load(self, memory: Any, inputs: Any = None) -> Any:
        """What it adds to the inputs of a chain."""
        if isinstance(inputs, str):
            inputs = {"input": inputs}
        return self.call(memory, "load_memory_variables", inputs or {})

    def clear(self, memory: Any) -> None:
        """Clear it."""
        self.call(memory, "clear")

    def messages(self, history: Any) -> Any:
        """The messages of a history."""
        if self.way == "sync":
            return list(history.messages)
        return list(asyncio.run(history.aget_messages()))

    # Fakes, the same for both.

    def llm(self, *answers: Any) -> WordLLM:
        """A model with these answers, the last one for ever; or with a function."""
        return WordLLM(answer=_answers(answers), prompts=[])

    def chat_model(self, *answers: Any) -> WordChatModel:
        """The same as a chat model."""
        return WordChatModel(answer=_answers(answers), prompts=[])

    def failing_llm(self) -> WordLLM:
        """A model that raises `ModelFailed`."""
        return WordLLM(answer=_fail, prompts=[])

    def entity_llm(self, entities: Any = "Maya", summary: Any = "Maya maps comets."):
        """A model that answers both prompts of the entity memory."""
        extract, summarise = _answers([entities]), _answers([summary])

        def answer(prompt: str) -> str:
            return summarise(prompt) if "to summarize" in prompt else extract(prompt)

        return self.llm(answer)

    def vectors(self, *texts: str) -> InMemoryVectorStore:
        """A vector store that holds these texts."""
        store = InMemoryVectorStore(Letters())
        store.add_texts(list(texts))
        return store

    def make(self, name: str, **fields: Any) -> Any:
        """An object of a class, with what it cannot do without."""
        kind = getattr(self, name)
        known = kind.model_fields
        if "llm" in known:
            fields.setdefault("llm", self.llm("ok"))
        if "retriever" in known:
            fields.setdefault("retriever", self.vectors().as_retriever())
        return kind(**fields)

    # Places.

    def path(self, name: str) -> str:
        """A path in a folder of its own."""
        return str(self.folder / name)

    @property
    def redis_url(self) -> str:
        """The address of an emptied Redis."""
        return self._server("redis")

    @property
    def postgres_url(self) -> str:
        """The address of an empty database."""
        return self._server("postgres")

    @property
    def upstash(self) -> tuple[str, str]:
        """The address and the token of a Redis over REST."""
        return self._server("upstash")

    def redis_store(self, session: str = "s", **fields: Any) -> Any:
        """A `RedisEntityStore`; classic's constructor wants its client declared."""
        if self.name == "classic":
            fields["redis_client"] = None
        return self.RedisEntityStore(session, self.redis_url, **fields)

    def warned(self, function: Callable[[], Any]) -> list[str]:
        """The categories of what a call warns of, deprecations of classic excepted."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            function()
        names = [warning.category.__name__ for warning in caught]
        return [name for name in names if "Deprecat" not in name]


def _answers(answers: Iterable[Any]) -> Callable[[str], str]:
    answers = list(answers)
    if len(answers) == 1 and callable(answers[0]):
        return answers[0]
    left = iter(answers)
    last = answers[-1]

    def answer(prompt: str) -> str:
        return next(left, last)

    return answer


def silence() -> None:
    """Forget what was warned of: every scenario is somebody's first."""
    for module in ("holdover.compat.notices", "holdover.compat.entity_stores"):
        told = getattr(sys.modules.get(module), "_told", None)
        if told is not None:
            told.clear()


def fake_upstash_client(rest: Callable[..., Any]) -> types.ModuleType:
    """A stand-in for the package `upstash_redis`: its client, as classic uses it."""

    class Redis:
        def __init__(self, url: str, token: str) -> None:
            self._ask = lambda *command: rest(url, token, *map(str, command))

        def getex(self, key: str, ex: int | None = None) -> Any:
            return self._ask("GETEX", key, *(() if ex is None else ("EX", ex)))

        def set(self, key: str, value: str, ex: int | None = None) -> Any:
            return self._ask("SET", key, value, *(() if ex is None else ("EX", ex)))

        def scan(self, cursor: int, match: str | None = None) -> tuple[int, list[str]]:
            cursor, keys = self._ask("SCAN", cursor, "MATCH", match)
            return int(cursor), keys

        def lrange(self, key: str, start: int, stop: int) -> Any:
            return self._ask("LRANGE", key, start, stop)

        def delete(self, *keys: str) -> Any:
            return self._ask("DEL", *keys)

        def __getattr__(self, name: str) -> Any:
            return lambda *arguments: self._ask(name.upper(), *arguments)

    module = types.ModuleType("upstash_redis")
    module.Redis = Redis
    return module


def ask_upstash(url: str, token: str, *command: str) -> Any:
    """Send one command to Upstash's REST interface."""
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    head = {"Authorization": f"Bearer {token}"}
    request = Request(url, json.dumps(command).encode(), head)
    try:
        with urlopen(request, timeout=10) as answer:
            return json.load(answer)["result"]
    except HTTPError as error:
        raise RuntimeError(error.read().decode()) from None


def words(text: str) -> str:
    """A text with its runs of white space as one blank each."""
    return re.sub(r"\s+", " ", text).strip()
