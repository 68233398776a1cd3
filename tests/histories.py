"""What old releases left in histories, and the truth about it."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager

from holdover.compat.message_records import content_of

_TYPES = {
    "HumanMessage": {"human"},
    "AIMessage": {"ai"},
    "SystemMessage": {"system"},
    "ChatMessage": {"chat"},
    "FunctionMessage": {"function"},
    "ToolMessage": {"tool"},
    "AIMessageChunk": {"AIMessageChunk", "ai"},
    "RemoveMessage": {"remove"},
}
RELEASES = (
    "langchain-0.0.150",
    "langchain-0.0.200",
    "langchain-0.2.17",
    "langchain-0.3.27",
    "langchain-classic-1.0.8",
)


def manifest(folder):
    return json.loads((folder / "MANIFEST.json").read_text())


def contents(history):
    """What the store holds of a history, in order."""
    return [dict(record.content) for record in history.repository.records("message")]


def check(history, specs):
    """The messages are those that the old release was given, in order."""
    texts = [message.content for message in history.messages]
    stored = contents(history)
    assert len(stored) == len(specs)
    for content, (kind, fields, *_) in zip(stored, specs, strict=True):
        assert content["type"] in _TYPES[kind]
        expected = content_of(content["type"], fields)["data"]
        found = {name: content["data"].get(name) for name in expected}
        assert found == expected
    assert texts == [content["data"]["content"] for content in stored]


def load_dump(url, dump):
    """Restore a plain dump of `pg_dump`, as `psql -f` does."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        statement = []
        lines = iter(dump.read_text().splitlines(keepends=True))
        for line in lines:
            if not statement and (not line.strip() or line.startswith(("--", "\\"))):
                continue
            statement.append(line)
            if not line.rstrip().endswith(";"):
                continue
            text, statement = "".join(statement), []
            if re.match(r"COPY .* FROM stdin;", text):
                with connection.cursor().copy(text) as copy:
                    for row in lines:
                        if row.startswith("\\."):
                            break
                        copy.write(row)
            elif not re.match(
                r"SET (transaction|idle|lock|statement)|ALTER .*OWNER", text
            ):
                connection.execute(text)
        connection.execute("SELECT set_config('search_path', 'public', false)")


@contextmanager
def clock_at(monkeypatch, seconds):
    """The system's clock stands at another time."""
    from holdover.compat import message_keys

    with monkeypatch.context() as patch:
        patch.setattr(message_keys.time, "time_ns", lambda: int(seconds * 1e9))
        yield
