"""`CassandraChatMessageHistory(contact_points=…)`, up to 0.0.210."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from holdover.migrate.codemod.advice import Advice, Argument, Calls, Rule

_OLD = ("contact_points", "port", "username", "password", "keyspace_name")


def _advise(arguments: Sequence[Argument]) -> Advice | None:
    """A connected session takes the place of what it is connected by."""
    old = [f"{one.keyword}=" for one in arguments if one.keyword in _OLD]
    if not old and arguments and isinstance(arguments[0].value, cst.List):
        old = ["contact_points"]
    if not old:
        return None
    return Advice(
        old=", ".join(old),
        message="give it session= and keyspace= instead: "
        "session = Cluster(contact_points, port=port).connect(), of cassandra.cluster.",
    )


RULE = Rule(
    code="HO304",
    what="a CassandraChatMessageHistory is given a connected session",
    why="Since 0.0.211 its arguments are (session_id, session, keyspace, …): it no "
    "longer connects by itself.",
    before=(
        "from langchain_community.chat_message_histories import (\n"
        "    CassandraChatMessageHistory,\n"
        ")\n"
        "\n"
        'CassandraChatMessageHistory(["127.0.0.1"], "ann")\n'
    ),
    after=(
        "from langchain_community.chat_message_histories import (\n"
        "    CassandraChatMessageHistory,\n"
        ")\n"
        "\n"
        "# TODO(holdover HO304): CassandraChatMessageHistory(contact_points): give it "
        "session= and keyspace= instead: session = Cluster(contact_points, "
        "port=port).connect(), of cassandra.cluster.\n"
        'CassandraChatMessageHistory(["127.0.0.1"], "ann")\n'
    ),
    safe=False,
)

CALLS: Calls = {"CassandraChatMessageHistory": _advise}
