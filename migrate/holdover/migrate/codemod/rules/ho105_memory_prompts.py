"""Prompts of memories."""

from __future__ import annotations

from holdover.migrate.codemod.advice import Rule

RULE = Rule(
    code="HO105",
    what="prompts of memories come from holdover.compat.prompt",
    why="langchain.memory.prompt does not exist in LangChain 1.x; the prompts are "
    "the same.",
    before="from langchain.memory.prompt import ENTITY_EXTRACTION_PROMPT\n",
    after="from holdover.compat.prompt import ENTITY_EXTRACTION_PROMPT\n",
)
