"""Write `entities.db`: what an application with classic entity memory left behind.

The sessions whose ids today's `SQLiteEntityStore` accepts are written by that very
class. Releases before 0.3.27 did not ask for a Python identifier and put the id into
the SQL unquoted, so ids such as `123` exist in real files; those tables are made
here with the statement those releases ran, character for character.

    python examples/old_app/make_sample.py [FILE]
"""

from __future__ import annotations

import sqlite3
import sys
import warnings
from contextlib import closing
from pathlib import Path

HERE = Path(__file__).resolve().parent

#: Session id -> entity name -> summary, in the order they were learnt.
SESSIONS: dict[str, dict[str, str]] = {
    "default": {
        "LangChain": "LangChain is the framework the team built its first bot with.",
        "Deven": "Deven works on a hackathon project with Sam.",
        "Sam": "Sam works on a hackathon project with Deven.",
        "Key-Value Store": "Deven and Sam want to add a key-value store to LangChain.",
        "Daimon": "Daimon is the company that Sam founded.",
    },
    "ana_example": {
        "Ana": "Ana lives in Lyon, plays the cello and is allergic to walnuts.",
        "ana": "ana is also the name of Ana's grey cat.",
        "New York": "New York is where Ana's sister moved in 2021.",
        "Zoë": "Zoë, written with one code point, is Ana's sister.",
        "Zoe\u0308": "Zoe\u0308, written with two code points, is a colleague.",
        "O'Brien": "O'Brien is Ana's landlord: he's \"never\" late; -- DROP TABLE",
        'Dwayne "The Rock" Johnson': 'Ana met him once, he said: "hello".',
        "Paris, Texas": "Paris, Texas is Ana's favourite film: seen 3 times.",
        "C++": "C++ is what Ana teaches on Mondays.",
        "100%": "100% is the name of Ana's rowing club.",
        "AC/DC": "AC/DC is the band Ana saw in 2023.",
        "St. John's": "St. John's is Ana's old school.",
    },
    "team_42": {
        "Project Apollo": "Project Apollo ships on 1 March; budget 40,000 EUR.",
        "ticket:4711": "ticket:4711 is blocked by ticket:4712.",
        "a:b:c": "a:b:c is the key format the team agreed on.",
        "Release notes": "First line of the notes.\nSecond line.\r\nThird line.",
        "line one\nline two": "An entity the model named on two lines.",
        "tab\there": "An entity whose name holds a tab.",
        " padded ": "An entity whose name begins and ends with a space.",
        "~/notes": "~/notes is the folder the minutes are in.",
        "None": "None is how the team calls its staging host.",
    },
    "用户": {
        "北京": "北京是中国的首都。",
        "李明": "李明在北京工作。",
        "東京タワー": "東京の塔です。",
        "서울": "서울은 대한민국의 수도이다.",
        "محمد": "محمد صديق من القاهرة.",
        "שלום": "שלום הוא חבר.",
    },
    # No Python identifiers: only releases before 0.3.27 could open these.
    "123": {
        "Alice": "Alice is customer 123 and pays yearly.",
        "Bob": "Bob is Alice's assistant.",
        "invoice 2024/07": "invoice 2024/07 was paid twice.",
        "alice@example.com": "alice@example.com is where the invoices go.",
    },
    "🎉": {
        "👩\u200d👩\u200d👧\u200d👦": "The family on the invitation. 🎂",
        "🎂": "The cake is lemon, for 12 guests.",
        "café": "The party is at the café, from 8 pm.",
        "Renée": "Renée brings the music.",
        "*": "* marks who has not answered yet.",
    },
}

#: A table of the application itself, in the same file.
CUSTOMERS = [(1, "Ana", "monthly"), (2, "Alice", "yearly"), (3, "Renée", "free")]

#: What releases before 0.3.27 ran, indentation included: SQLite keeps the text.
OLD_CREATE = """
            CREATE TABLE IF NOT EXISTS {table} (
                key TEXT PRIMARY KEY,
                value TEXT
            )
        """
OLD_SET = "INSERT OR REPLACE INTO {table} (key, value) VALUES (?, ?)"


def write_with_the_class(path: Path, session: str, entities: dict[str, str]) -> None:
    """Let langchain-classic write a session."""
    from langchain_classic.memory.entity import SQLiteEntityStore  # noqa: PLC0415

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        store = SQLiteEntityStore(session_id=session, db_file=str(path))
    with closing(store.conn):
        for name, summary in entities.items():
            store.set(name, summary)


def write_as_before(path: Path, session: str, entities: dict[str, str]) -> None:
    """Write a session as releases before 0.3.27 did."""
    table = f"memory_store_{session}"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(OLD_CREATE.format(table=table))
        connection.executemany(OLD_SET.format(table=table), entities.items())


def main(path: Path) -> None:
    """Write the file anew."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, plan TEXT)"
        )
        connection.executemany("INSERT INTO customers VALUES (?, ?, ?)", CUSTOMERS)
    for session, entities in SESSIONS.items():
        write = write_with_the_class if session.isidentifier() else write_as_before
        write(path, session, entities)
    count = sum(len(entities) for entities in SESSIONS.values())
    print(f"{path}: {len(SESSIONS)} sessions, {count} entities")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "entities.db")
