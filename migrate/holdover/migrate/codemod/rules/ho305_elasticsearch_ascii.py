"""`ElasticsearchChatMessageHistory(esnsure_ascii=…)`, up to community 0.0.38."""

from __future__ import annotations

from collections.abc import Sequence

from holdover.migrate.codemod.advice import Advice, Argument, Calls, Rule

_OLD, _NEW = "esnsure_ascii", "ensure_ascii"


def _advise(arguments: Sequence[Argument]) -> Advice | None:
    for index, one in enumerate(arguments):
        if one.keyword == _OLD:
            return Advice(
                old=f"{_OLD}=",
                new=f"{_NEW}=",
                message="this argument's name was misspelled once.",
                keywords={index: _NEW},
            )
    return None


RULE = Rule(
    code="HO305",
    what="the misspelled argument of an ElasticsearchChatMessageHistory is "
    "ensure_ascii",
    why="Up to langchain-community 0.0.x it was spelled esnsure_ascii=, which later "
    "ones refuse.",
    before=(
        "from langchain_community.chat_message_histories import (\n"
        "    ElasticsearchChatMessageHistory as History,\n"
        ")\n"
        "\n"
        'History("index", "ann", esnsure_ascii=False)\n'
    ),
    after=(
        "from langchain_community.chat_message_histories import (\n"
        "    ElasticsearchChatMessageHistory as History,\n"
        ")\n"
        "\n"
        'History("index", "ann", ensure_ascii=False)\n'
    ),
)

CALLS: Calls = {"ElasticsearchChatMessageHistory": _advise}
