"""Chat message histories."""

from __future__ import annotations

from holdover.migrate.codemod.advice import Rule

RULE = Rule(
    code="HO102",
    what="chat message histories come from holdover.compat",
    why="The old paths end with LangChain 1.x, and langchain-community is no "
    "longer developed. The histories of holdover.compat have the classic "
    "constructors and take the old messages over.",
    before="from langchain_community.chat_message_histories import (\n"
    "    RedisChatMessageHistory,\n"
    ")\n",
    after="from holdover.compat import (\n    RedisChatMessageHistory,\n)\n",
)
