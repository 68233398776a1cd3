"""Chains, agents and the rest of classic LangChain."""

from __future__ import annotations

from holdover.migrate.codemod.advice import Rule

RULE = Rule(
    code="HO204",
    what="chains, old agents and the like come from langchain_classic",
    why="LangChain 1.x moved what it no longer develops to the package "
    "langchain-classic, which must be installed.",
    before="from langchain.chains import LLMChain\n",
    after="from langchain_classic.chains import LLMChain\n",
)
