"""Which messages are kept when not all are: whole turns, whole tool exchanges.

A turn starts at a human message. A tool's result is never kept without the call it
answers: providers refuse such a conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

Count = Callable[[list[BaseMessage]], int]


def last_turns(messages: Sequence[BaseMessage], k: int) -> list[BaseMessage]:
    """The last `k` turns, and a system message that opens the conversation.

    Where nobody human speaks, the last `2 * k` messages.
    """
    if k <= 0:
        return []
    starts = [at for at, one in enumerate(messages) if isinstance(one, HumanMessage)]
    if starts:
        start = starts[-k] if len(starts) >= k else 0
    else:
        start = max(0, len(messages) - 2 * k)
    kept = without_orphans(messages[start:]) if start else list(messages)
    if start and isinstance(messages[0], SystemMessage):
        kept.insert(0, messages[0])
    return kept


def turns_in(messages: Sequence[BaseMessage]) -> int:
    """How many turns begin in these messages."""
    return sum(isinstance(message, HumanMessage) for message in messages)


def without_orphans(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The messages but for results whose call was cut off before them."""
    calls: set[str | None] = set()
    function = False
    kept: list[BaseMessage] = []
    for message in messages:
        if isinstance(message, AIMessage):
            calls.update(call.get("id") for call in message.tool_calls)
            function = function or "function_call" in message.additional_kwargs
        elif (
            isinstance(message, ToolMessage) and message.tool_call_id not in calls
        ) or (isinstance(message, FunctionMessage) and not function):
            continue
        kept.append(message)
    return kept


def pruned_count(messages: Sequence[BaseMessage], limit: int, count: Count) -> int:
    """How many of the oldest messages have to go so that the rest fits a limit.

    The result of dropping one message after the other, found in few counts: a
    tokenizer reads the whole text each time. What is left never begins with the
    result of a call that went.
    """
    everything = list(messages)
    if not everything or count(everything) <= limit:
        return 0
    # Invariant: dropping `few` is not enough, dropping `many` is.
    few, many = 0, len(everything)
    while many - few > 1:
        middle = (few + many) // 2
        if count(everything[middle:]) <= limit:
            many = middle
        else:
            few = middle
    while many < len(everything) and isinstance(
        everything[many], ToolMessage | FunctionMessage
    ):
        many += 1
    return many


def fit(messages: Sequence[BaseMessage], limit: int, count: Count) -> list[BaseMessage]:
    """The newest messages that fit a limit of tokens."""
    gone = pruned_count(messages, limit, count)
    return without_orphans(messages[gone:]) if gone else list(messages)
