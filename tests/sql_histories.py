"""Chat histories in SQL databases as old releases left them, and the truth of it."""

from __future__ import annotations

import re
from collections import defaultdict
from contextlib import closing, contextmanager
from urllib.parse import urlsplit

from histories import _TYPES
from moving import plain_store, unescape

from holdover.compat.message_records import content_of

#: As SQLAlchemy writes it for `SQLChatMessageHistory`.
SQLITE_DDL = (
    "CREATE TABLE {} (\n\tid INTEGER NOT NULL, \n\tsession_id TEXT, "
    "\n\tmessage TEXT, \n\tPRIMARY KEY (id)\n)"
)
#: As the classes made them on servers.
POSTGRES_DDL = {
    "community": "id serial PRIMARY KEY, session_id text NOT NULL, message jsonb"
    " NOT NULL",
    "sql": "id serial PRIMARY KEY, session_id text, message text",
    "langchain-postgres": "id serial PRIMARY KEY, session_id uuid NOT NULL, message"
    " jsonb NOT NULL, created_at timestamptz NOT NULL DEFAULT now()",
}
MYSQL_DDL = "id int AUTO_INCREMENT PRIMARY KEY, session_id text, message text"
# A string of a dump, a number or NULL.
_VALUE = re.compile(r"'((?:[^'\\]|\\.)*)'|(NULL|-?\d+)")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "0": "\0", "Z": "\x1a"}


def truth_of(manifest):
    """`{(table, session): [message, …]}` of a manifest of any kind of database."""
    truth = defaultdict(list)
    stores = [
        *manifest.get("tables", ()),
        *(one for one in manifest.get("files", {}).values()),
    ]
    for store in stores:
        for session in store["sessions"]:
            if not session.get("messages") or session.get("constructor_error"):
                continue
            name = session.get("physical_session_id", session["session_id"])
            truth[session["table"], str(name)] += session["messages"]
    return dict(truth)


def matches(content, spec):
    """Whether a record's content is the message that the old release was given."""
    kind, fields, *_ = spec
    expected = content_of(content["type"], fields)["data"]
    found = {name: content["data"].get(name) for name in expected}
    return content["type"] in _TYPES[kind] and found == expected


def check(found, truth):
    """`found` is `{(root, session): [content, …]}` in order."""
    assert found.keys() == truth.keys()
    for place, specs in truth.items():
        assert len(found[place]) == len(specs), place
        for content, spec in zip(found[place], specs, strict=True):
            assert matches(content, spec), (place, content, spec)


def arrived(target):
    """The messages of a target, as an agent reads them: in the order of their keys."""
    with plain_store(target) as store:
        found = {}
        for namespace in store.list_namespaces(limit=10_000):
            if namespace[-1] != "messages" or namespace[0] == "~holdover":
                continue
            items = [
                item
                for item in store.search(tuple(namespace), limit=100_000)
                if tuple(item.namespace) == tuple(namespace)
            ]
            items.sort(key=lambda item: item.key)
            root, session = (_whole(store, label) for label in namespace[:-1])
            found[root, session] = [item.value for item in items]
        return found


def _whole(store, label):
    """A label as it was; one that had to be cut is kept whole elsewhere."""
    if "~~" in label:
        return store.get(("~holdover", "labels"), label).value["content"]["label"]
    return unescape(label)


def contents(records):
    """What the records of `arrived` hold, with what was escaped as it was."""
    return {
        place: [_content(record) for record in some] for place, some in records.items()
    }


def _content(record):
    escaped = record["meta"].get("escaped", ())
    content = record["content"]
    for path in escaped:
        *above, last = path.split(".")[1:]
        inner = content
        for step in above:
            inner = inner[int(step) if isinstance(inner, list) else step]
        last = int(last) if isinstance(inner, list) else last
        inner[last] = unescape(inner[last])
    return content


# Dumps of mysqldump.


def tables_of_dump(dump):
    """`{table: (columns' definitions, [row, …])}` of a plain dump."""
    text = dump.read_text()
    tables = {}
    for name, body in re.findall(r"(?s)CREATE TABLE `(\w+)` \((.*?)\n\) ENGINE", text):
        columns = re.findall(r"(?m)^  `(\w+)` (.*?),?$", body)
        tables[name] = (dict(columns), [])
    for line in text.splitlines():
        found = re.match(r"INSERT INTO `(\w+)` VALUES \((.*)\);$", line)
        if found:
            tables[found[1]][1].append(tuple(map(_value, _VALUE.finditer(found[2]))))
    return tables


def _value(found):
    if found[2] is not None:
        return None if found[2] == "NULL" else int(found[2])
    return re.sub(r"\\(.)", lambda c: _ESCAPES.get(c[1], c[1]), found[1])


@contextmanager
def mysql(url):
    """A cursor at a server, which commits each statement."""
    import pymysql

    parts = urlsplit(url)
    connection = pymysql.connect(
        host=parts.hostname,
        port=parts.port,
        user=parts.username,
        password=parts.password or "",
        database=parts.path[1:],
        charset="utf8mb4",
        autocommit=True,
    )
    with closing(connection):
        yield connection.cursor()


def load_mariadb(url, dump):
    """Restore a plain dump, as `mariadb < dump` does."""
    with mysql(url) as cursor:
        statement = []
        for line in dump.read_text().splitlines():
            if not statement and (not line or line.startswith(("--", "/*M!"))):
                continue
            statement.append(line)
            if line.endswith(";"):
                cursor.execute("\n".join(statement))
                statement = []


def load_elsewhere(url, dump):
    """Put a MariaDB dump's rows into tables of the same shape in PostgreSQL."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as db:
        for name, (columns, rows) in tables_of_dump(dump).items():
            kinds = {
                column: _postgres_type(column, definition)
                for column, definition in columns.items()
            }
            shape = ", ".join(f"{column} {kind}" for column, kind in kinds.items())
            db.execute(f'CREATE TABLE "{name}" ({shape})')
            marks = ", ".join(["%s"] * len(columns))
            db.cursor().executemany(f'INSERT INTO "{name}" VALUES ({marks})', rows)


def _postgres_type(column, definition):
    if column == "id":
        return "bigserial PRIMARY KEY"
    if "json_valid" in definition:
        return "json NOT NULL"
    if definition.startswith("varchar"):
        return "varchar(255)"
    return "timestamp" if definition.startswith("timestamp") else "text"
