"""Text splitters."""

from __future__ import annotations

from holdover.migrate.codemod.advice import Rule

RULE = Rule(
    code="HO203",
    what="text splitters come from langchain_text_splitters",
    why="LangChain 1.x has no langchain.text_splitter; the splitters are a "
    "package of their own, langchain-text-splitters.",
    before="from langchain.text_splitter import CharacterTextSplitter\n",
    after="from langchain_text_splitters import CharacterTextSplitter\n",
)
