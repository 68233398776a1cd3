"""A turn that names four entities, with a model that takes 200 ms a call."""

from __future__ import annotations

import statistics
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from langchain_core.language_models.llms import LLM

CALL_SECONDS = 0.2
ROUNDS = 5
INPUTS = {"input": "Ana, Ben, Cleo and Dan meet in the evening."}
OUTPUTS = {"output": "Have fun!"}
Row = tuple[str, str, str, str, str]


class Slow(LLM):
    """Takes its time, and notes when."""

    calls: Any = None
    lock: Any = None

    @property
    def _llm_type(self) -> str:
        return "slow"

    def _call(self, prompt: str, *args: Any, **kwargs: Any) -> str:
        began = time.perf_counter()
        time.sleep(CALL_SECONDS)
        with self.lock:
            self.calls.append((began, time.perf_counter()))
            number = len(self.calls)
        if "Extract all of the proper nouns" in prompt:
            return "Ana, Ben, Cleo, Dan"
        return f"Somebody who goes out in the evening ({number})."


def one_after_the_other(calls: list[tuple[float, float]]) -> int:
    """The longest chain of calls of which each began after the one before it."""
    chain, end = 0, 0.0
    for began, ended in sorted(calls, key=lambda call: call[1]):
        if began >= end:
            chain, end = chain + 1, ended
    return chain


def turn(make: Any) -> dict[str, float]:
    """Measure one turn: seconds and sequential calls before and after the reply."""
    llm = Slow(calls=[], lock=threading.Lock())
    memory = make(llm)
    began = time.perf_counter()
    memory.load_memory_variables(INPUTS)
    replied = time.perf_counter()
    before = one_after_the_other(list(llm.calls))
    memory.save_context(INPUTS, OUTPUTS)
    saved = time.perf_counter()
    after = one_after_the_other([c for c in llm.calls if c[1] <= saved]) - before
    if hasattr(memory, "flush"):
        memory.flush()
    assert len(memory.entity_store.store) == 4
    return {
        "wall": saved - began,
        "reply": saved - replied,
        "calls": before + after,
        "after": after,
    }


def median(make: Any) -> dict[str, float]:
    """The median of several turns."""
    turns = [turn(make) for _ in range(ROUNDS)]
    return {name: statistics.median(t[name] for t in turns) for name in turns[0]}


def shown(one: dict[str, float]) -> str:
    """A turn in words."""
    wall, after = one["wall"] * 1000, one["reply"] * 1000
    calls = f"{one['calls']:.0f} calls in sequence, {one['after']:.0f} after the reply"
    return f"{wall:.0f} ms: {calls} ({after:.1f} ms)"


def entity_turn(items: int, folder: Path) -> Iterator[Row]:
    """Wall time and sequential calls of a turn: classic, ours, in the background."""
    from langchain_classic.memory import ConversationEntityMemory as Classic

    from holdover.compat.entity import ConversationEntityMemory as Ours

    # Last: importing LangChain turns its own warnings on.
    warnings.simplefilter("ignore")

    numbers = iter(range(10_000))

    def stored(llm: Slow, **fields: Any) -> Ours:
        store, session = str(folder / "memory.db"), f"s{next(numbers)}"
        return Ours(llm=llm, store=store, session_id=session, **fields)

    classic = median(lambda llm: Classic(llm=llm))
    for name, make, most, after in (
        ("in one object", lambda llm: Ours(llm=llm), 2, 1),
        ("on a SQLite store", stored, 2, 1),
        ("background=True", lambda llm: Ours(llm=llm, background=True), 1, 0),
        (
            "background=True, on a SQLite store",
            lambda llm: stored(llm, background=True),
            1,
            0,
        ),
    ):
        ours = median(make)
        met = ours["calls"] <= most and ours["after"] <= after
        yield (
            f"a turn that names 4 entities, {name}",
            shown(ours),
            f"{ours['wall'] / classic['wall']:.2f}× classic ({shown(classic)})",
            f"≤ {most} calls, {after} after the reply",
            "met" if met else "MISSED",
        )
