"""Long conversations: a window, a token limit and a turn, against short ones.

What a turn costs must not grow with the conversation. The naive way reads all of it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

LONG, SHORT = 10_000, 100
LIMIT = 2.0
_ROUNDS, _TIMES = 7, 20
Row = tuple[str, str, str, str, str]


def conversations(items: int, folder: Path) -> Iterator[Row]:
    """Load and save over 10,000 messages, against 100, on each kind of store."""
    from tests import servers

    with ExitStack() as stack:
        yield from on("SQLite", f"sqlite:///{folder}/memory.db")
        yield from on("PostgreSQL", stack.enter_context(servers.postgres()))
        yield from on("Redis", stack.enter_context(servers.redis()))


def on(name: str, address: str) -> Iterator[Row]:
    """The rows of one store."""
    from langchain_core.messages import AIMessage, HumanMessage
    from tests.fake_models import WordModel

    from holdover.compat import (
        ConversationBufferWindowMemory,
        ConversationSummaryBufferMemory,
        ConversationTokenBufferMemory,
        StoreChatMessageHistory,
    )

    def history(size: int) -> StoreChatMessageHistory:
        return StoreChatMessageHistory(f"of {size}", store=address)

    for size in (SHORT, LONG):
        history(size).add_messages(
            [
                kind(content=f"message {n} " + "word " * 30)
                for n in range(size // 2)
                for kind in (HumanMessage, AIMessage)
            ]
        )

    def window(size: int) -> Callable[[], object]:
        memory = ConversationBufferWindowMemory(chat_memory=history(size), k=5)
        return lambda: memory.load_memory_variables({})

    def limited(size: int) -> Callable[[], object]:
        memory = ConversationTokenBufferMemory(
            llm=WordModel(), chat_memory=history(size), max_token_limit=300
        )
        return lambda: memory.load_memory_variables({})

    def turn(size: int) -> Callable[[], object]:
        memory = ConversationBufferWindowMemory(chat_memory=history(size), k=5)
        return lambda: memory.save_context({"input": "q"}, {"output": "a"})

    def summarised(size: int) -> Callable[[], object]:
        memory = ConversationSummaryBufferMemory(
            llm=WordModel(answers=["S"]), chat_memory=history(size), max_token_limit=300
        )
        while memory.to_dict()["state"]["summary"]["count"] < size - 50:
            memory.prune()
        return lambda: memory.save_context({"input": "q"}, {"output": "a"})

    def naive(size: int) -> Callable[[], object]:
        one = history(size)
        return lambda: one.messages[-10:]

    for what, work in (
        ("window load, k=5", window),
        ("token limit load", limited),
        ("save_context, window", turn),
        ("save_context, summary buffer", summarised),
    ):
        short, long, whole = in_turn(
            work(SHORT), work(LONG), naive(LONG) if work is window else None
        )
        against = f"; reading all takes {whole / long:.0f}×" if whole else ""
        yield (
            f"{name}: {what}, {LONG:,} messages",
            f"{long * 1e6:,.0f} µs",
            f"{long / short:.2f}× of {SHORT} messages{against}",
            f"≤ {LIMIT:.0f}×",
            "met" if long / short <= LIMIT else "MISSED",
        )


def in_turn(*works: Callable[[], object] | None) -> list[float]:
    """Median seconds of one call of each, in turn so that all meet the same noise."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(_ROUNDS):
        for at, work in enumerate(works):
            if work is None:
                times[at].append(0)
                continue
            began = time.perf_counter()
            for _ in range(_TIMES):
                work()
            times[at].append((time.perf_counter() - began) / _TIMES)
    return [statistics.median(one) for one in times]
