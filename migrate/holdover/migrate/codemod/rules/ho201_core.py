"""Names that live in langchain_core."""

from __future__ import annotations

from holdover.migrate.codemod.advice import Rule

RULE = Rule(
    code="HO201",
    what="names that live in langchain_core come from there",
    why="LangChain 1.x has no langchain.schema, langchain.prompts, "
    "langchain.callbacks and the like; langchain-core has what they held.",
    before="from langchain.prompts import PromptTemplate\n",
    after="from langchain_core.prompts import PromptTemplate\n",
)
