"""Integrations that live in langchain_community."""

from __future__ import annotations

from holdover.migrate.codemod.advice import Rule

RULE = Rule(
    code="HO202",
    what="integrations that live in langchain_community come from there",
    why="LangChain 1.x has no integrations of its own. langchain-community has "
    "those it still has; some are deprecated there. It must be installed, and is no "
    "longer developed.",
    before="from langchain.vectorstores import FAISS\n",
    after="from langchain_community.vectorstores import FAISS\n",
)
