"""Memory classes."""

from __future__ import annotations

from holdover.migrate.codemod.advice import Rule

RULE = Rule(
    code="HO101",
    what="memory classes come from holdover.compat",
    why="LangChain 1.x has no langchain.memory, and what langchain_classic.memory "
    "has is removed in 2.0. The classes of holdover.compat take the same "
    "arguments and give the same answers.",
    before="from langchain.memory import ConversationBufferMemory\n",
    after="from holdover.compat import ConversationBufferMemory\n",
)
