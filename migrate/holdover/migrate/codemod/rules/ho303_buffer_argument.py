"""`ConversationBufferMemory(buffer=…)`, as of 0.0.100."""

from __future__ import annotations

from collections.abc import Sequence

from holdover.migrate.codemod.advice import Advice, Argument, Calls, Rule
from holdover.migrate.codemod.values import is_empty


def _advise(arguments: Sequence[Argument]) -> Advice | None:
    """Drop an empty first text; a person must say where another one goes."""
    for index, one in enumerate(arguments):
        if one.keyword != "buffer":
            continue
        if is_empty(one.value):
            return Advice(
                old="buffer=",
                message="the messages are in chat_memory, which begins empty.",
                drops=frozenset([index]),
            )
        return Advice(
            old="buffer=",
            message="the messages are in chat_memory now, and this text would be "
            "ignored: add it with memory.chat_memory.add_messages(...), or use "
            "ConversationStringBufferMemory, which takes it as it is.",
        )
    return None


RULE = Rule(
    code="HO303",
    what="the first text of a buffer memory goes into its chat history",
    why="Up to 0.0.1xx buffer memories kept their text in buffer=; since then they "
    "keep messages in chat_memory, and ignore the old argument.",
    before=(
        "from holdover.compat import ConversationBufferMemory\n"
        "\n"
        'memory = ConversationBufferMemory(buffer="", ai_prefix="Bot")\n'
    ),
    after=(
        "from holdover.compat import ConversationBufferMemory\n"
        "\n"
        'memory = ConversationBufferMemory(ai_prefix="Bot")\n'
    ),
)

CALLS: Calls = dict.fromkeys(
    (
        "ConversationBufferMemory",
        "ConversationBufferWindowMemory",
        "ConversationKGMemory",
        "ConversationSummaryBufferMemory",
    ),
    _advise,
)
