"""Entity stores."""

from __future__ import annotations

from holdover.migrate.codemod.advice import Rule

RULE = Rule(
    code="HO103",
    what="entity stores come from holdover.compat",
    why="Two of the classic durable entity stores cannot be constructed any more; "
    "those of holdover.compat keep entities in a LangGraph store and read the "
    "old ones.",
    before="from langchain.memory.entity import SQLiteEntityStore\n",
    after="from holdover.compat import SQLiteEntityStore\n",
)
