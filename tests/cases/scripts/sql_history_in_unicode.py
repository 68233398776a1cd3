"""People cannot read what they said in the SQL table (langchain PR#24258)."""

import sqlite3
from contextlib import closing

from helping import place, verdict
from langchain_community.chat_message_histories import SQLChatMessageHistory

path = place("h.db")
history = SQLChatMessageHistory("s", connection=f"sqlite:///{path}")
history.add_user_message("größe 日本")
with closing(sqlite3.connect(path)) as connection:
    tables = [
        name
        for (name,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
        )
    ]
    rows = [
        value.decode() if isinstance(value, bytes) else str(value)
        for name in tables
        for row in connection.execute(f'SELECT * FROM "{name}"')
        for value in row
    ]
verdict(not any("größe 日本" in row for row in rows), rows)
