"""`ConversationEntityMemory(store={…}, buffer=[…], memory_key=…)`, as of 0.0.100."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from holdover.migrate.codemod.advice import Advice, Argument, Calls, Rule
from holdover.migrate.codemod.values import is_empty

_KEY, _OLD_KEY = "chat_history_key", "memory_key"


def _is_mapping(value: cst.BaseExpression) -> bool:
    return isinstance(value, cst.Dict) or (
        isinstance(value, cst.Call)
        and isinstance(value.func, cst.Name)
        and value.func.value == "dict"
    )


def _advise(arguments: Sequence[Argument]) -> Advice | None:
    """Give the entities to an entity store; leave what holdover.compat still reads.

    That is a `buffer=` with lines in it, and a `store=` that may be a store.
    """
    by_name = {one.keyword: index for index, one in enumerate(arguments) if one.keyword}
    keywords: dict[int, str] = {}
    values: dict[int, str] = {}
    drops: set[int] = set()
    old: list[str] = []
    new: list[str] = []
    for name, index in by_name.items():
        one = arguments[index]
        if name == _OLD_KEY and _KEY not in by_name:
            keywords[index] = _KEY
            new.append(f"{_KEY}=")
        elif name in {"store", "buffer"} and is_empty(one.value):
            drops.add(index)
        elif name == "store" and _is_mapping(one.value):
            if {"entity_store", "session_id", "scope"} & by_name.keys():
                continue
            keywords[index] = "entity_store"
            values[index] = f"InMemoryEntityStore(store={one.text})"
            new.append("entity_store=InMemoryEntityStore(store=...)")
        else:
            continue
        old.append(f"{name}=")
    if not old:
        return None
    return Advice(
        old=", ".join(old),
        new=", ".join(new),
        message="entities are kept by an entity store, messages by chat_memory.",
        keywords=keywords,
        values=values,
        drops=frozenset(drops),
        needs="InMemoryEntityStore" if values else "",
        otherwise="Import InMemoryEntityStore from holdover.compat, and give "
        "entity_store=InMemoryEntityStore(store=...) instead of store=.",
    )


RULE = Rule(
    code="HO302",
    what="what the first ConversationEntityMemory took is given as it is now",
    why="Up to 0.0.1xx it kept its entities in store= and its lines in buffer=, and "
    "called its key memory_key=. store= now means a LangGraph store.",
    before=(
        "from holdover.compat import ConversationEntityMemory\n"
        "\n"
        'ConversationEntityMemory(llm=m, store={"Ann": "rich"}, buffer=[])\n'
    ),
    after=(
        "from holdover.compat import ConversationEntityMemory, InMemoryEntityStore\n"
        "\n"
        "ConversationEntityMemory(llm=m, "
        'entity_store=InMemoryEntityStore(store={"Ann": "rich"}))\n'
    ),
)

CALLS: Calls = {"ConversationEntityMemory": _advise}
