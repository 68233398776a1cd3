"""Integrations that live in a package of their maker."""

from __future__ import annotations

from holdover.migrate.codemod.advice import Rule

RULE = Rule(
    code="HO205",
    what="integrations that have a package of their own come from there",
    why="The old class is gone, or is one that its maker's package replaced; the "
    "package must be installed, and its class may take other arguments: read "
    "its documentation.",
    before="from langchain.memory import MongoDBChatMessageHistory\n",
    after="from langchain_mongodb import MongoDBChatMessageHistory\n",
    safe=False,
)
