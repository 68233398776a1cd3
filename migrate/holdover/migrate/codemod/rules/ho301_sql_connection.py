"""`SQLChatMessageHistory(connection_string=…)`."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from holdover.migrate.codemod.advice import Advice, Argument, Calls, Rule

_OLD, _NEW = "connection_string", "connection"
#: The old order of what came after the session.
_ORDER = (
    _OLD, "table_name", "session_id_field_name", "custom_message_converter",
    _NEW, "engine_args", "async_mode",
)  # fmt: skip


def _is_address(value: cst.BaseExpression) -> bool:
    """Whether it is surely an address: a text with `://` in its first part."""
    if isinstance(value, cst.FormattedString):
        first = value.parts[0] if value.parts else None
        return isinstance(first, cst.FormattedStringText) and "://" in first.value
    return isinstance(value, cst.SimpleString) and "://" in value.value


def _advise(arguments: Sequence[Argument]) -> Advice | None:
    """Name the connection as it is called since langchain-community 0.2.3.

    An address that is not written out stays in its place: holdover.compat tells it
    from a table by its value.
    """
    by_name = {one.keyword: index for index, one in enumerate(arguments) if one.keyword}
    if _NEW in by_name:
        return None
    if _OLD in by_name:
        return Advice(
            old=f"{_OLD}=",
            new=f"{_NEW}=",
            message="this argument is called connection now.",
            keywords={by_name[_OLD]: _NEW},
        )
    positional = [one for one in arguments if not one.keyword and one.star != "**"]
    after = positional[1:]
    if (
        not after
        or any(one.star for one in positional)
        or not _is_address(after[0].value)
        or len(after) > len(_ORDER)
    ):
        return None
    names = dict(zip(range(1, len(positional)), _ORDER, strict=False))
    return Advice(
        old="the second argument",
        new=f"{_NEW}=",
        message="the connection has no place of its own any more, but a name.",
        keywords={**names, 1: _NEW},
    )


RULE = Rule(
    code="HO301",
    what="the connection of a SQLChatMessageHistory is called connection",
    why="connection_string= was renamed in langchain-community 0.2.3 and removed in "
    "0.4.2, where the second argument became the table's name.",
    before=(
        "from holdover.compat import SQLChatMessageHistory\n"
        "\n"
        'SQLChatMessageHistory("ann", connection_string="sqlite:///chat.db")\n'
    ),
    after=(
        "from holdover.compat import SQLChatMessageHistory\n"
        "\n"
        'SQLChatMessageHistory("ann", connection="sqlite:///chat.db")\n'
    ),
)

CALLS: Calls = {"SQLChatMessageHistory": _advise}
