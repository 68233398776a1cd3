"""Base classes and functions of memory."""

from __future__ import annotations

from holdover.migrate.codemod.advice import Rule

RULE = Rule(
    code="HO104",
    what="base classes and functions of memory come from holdover.compat",
    why="langchain.schema and langchain_core.memory do not exist any more. "
    "holdover.compat gives the base classes that the installed LangChain "
    "accepts, and equal ones where it has none.",
    before="from langchain.schema import BaseMemory\n",
    after="from holdover.compat import BaseMemory\n",
)
