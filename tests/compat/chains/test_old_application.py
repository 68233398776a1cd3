"""An old application, with nothing but its import lines changed, on its old data."""

import json
import sqlite3
import sys
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import moving
import pytest

from holdover.compat import base, close_stores

ROOT = Path(__file__).resolve().parents[3]
APP = ROOT / "examples" / "old_chat_app"
#: The start of an import line -> what it becomes; the table of the README.
NEW = {
    "from langchain.chains import": f"from {base.CLASSIC}.chains import",
    "from langchain.memory import": "from holdover.compat import",
    "from langchain.memory.entity import": "from holdover.compat import",
    "from langchain.memory.prompt import": "from holdover.compat.prompt import",
    "from langchain_community.chat_message_histories import": (
        "from holdover.compat import"
    ),
}


@pytest.fixture
def program(classic, monkeypatch):
    """Run a program of the application with its import lines as given."""
    monkeypatch.syspath_prepend(str(APP))
    monkeypatch.delitem(sys.modules, "rehearsed", raising=False)

    def run(name, lines=NEW):
        source = (APP / name).read_text("utf-8").splitlines()
        changed = [changed_line(line, lines) for line in source]
        assert sum(a != b for a, b in zip(source, changed, strict=True)) <= 4
        names = {"__name__": "program"}
        exec(compile("\n".join(changed), name, "exec"), names)
        return names

    yield run
    close_stores()


def changed_line(line, lines):
    for old, new in lines.items():
        if line.startswith(f"{old} "):
            return line.replace(old, new, 1)
    return line


def as_it_was():
    """The lines that the classic packages of this environment serve themselves."""
    return {
        old: old.replace("from langchain.", f"from {base.CLASSIC}.")
        for old in NEW
        if old.startswith("from langchain.")
    }


# What the application of 0.2.17 left, as its releases wrote it.


def old_message(kind, text):
    fields = {
        "content": text,
        "additional_kwargs": {},
        "response_metadata": {},
        "type": kind,
        "name": None,
        "id": None,
        "example": False,
    }
    if kind == "ai":
        fields |= {"tool_calls": [], "invalid_tool_calls": [], "usage_metadata": None}
    return json.dumps({"type": kind, "data": fields})


SAID = [
    ("human", "When does my parcel arrive?"),
    ("ai", "When does my parcel arrive? Parcels arrive within three days."),
]
NOTES = {
    "Hoffmann": "Hoffmann wants invoices on paper.",
    "New York": "New York is where the warehouse is.",
}
DAY = 86_400


@pytest.fixture
def old_redis(redis_url):
    import redis

    with redis.Redis.from_url(redis_url) as client:
        for said in SAID:
            client.lpush("message_store:ana", old_message(*said))
        client.lpush("message_store:bob", old_message("human", "I am Bob."))
        for name, note in NOTES.items():
            client.set(f"memory_store:kim:{name}", note, ex=DAY)
        client.set("memory_store:lee:Hoffmann", "Hoffmann is Lee's uncle.")
        client.set("cart:7", "not ours")
    return redis_url


def redis_state(url):
    """Every key that is not ours: its bytes, and the millisecond it ends at."""
    import redis

    with redis.Redis.from_url(url) as client:
        keys = [k for k in client.scan_iter() if not k.startswith(b"holdover:")]
        now = time.time() * 1_000
        ends = {key: client.pttl(key) for key in keys}
        return (
            {key: client.dump(key) for key in keys},
            {key: end if end < 0 else now + end for key, end in ends.items()},
        )


def unchanged(before, after):
    assert after[0] == before[0]
    assert after[1].keys() == before[1].keys()
    for key, end in before[1].items():
        assert after[1][key] == pytest.approx(end, abs=2_000), key


@pytest.fixture
def old_file(tmp_path):
    path = moving.write_old_file(
        tmp_path / "notes.db", {"kim": NOTES, "lee": {"Hoffmann": "an uncle"}}
    )
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT)")
        db.execute("INSERT INTO customers VALUES (1, 'Hoffmann')")
    return path


def file_state(path):
    """Every table that is not ours: its statement, and its rows as bytes."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        tables = dict(
            db.execute(
                "SELECT name, sql FROM sqlite_master WHERE name LIKE 'memory_store_%'"
                " OR name = 'customers'"
            )
        )
        rows = {
            name: [
                tuple(map(repr, row))
                for row in db.execute(f'SELECT rowid, * FROM "{name}" ORDER BY rowid')
            ]
            for name in tables
        }
    return tables, rows


def searched(place, namespace):
    """What any program finds in a store: an agent in its tool, or plain code."""
    if "://" in place:
        from holdover.compat import open_store

        return through_an_agent(open_store(place), namespace)
    from langgraph.store.sqlite import SqliteStore

    with SqliteStore.from_conn_string(place) as store:
        return through_an_agent(store, namespace)


def through_an_agent(store, namespace):
    found = {}

    def look() -> str:
        """Look at everything that is known."""
        for item in store.search(namespace, limit=100):
            if item.namespace == namespace:
                found[item.key] = item.value["content"]
        return json.dumps(found)

    try:
        from langchain.agents import create_agent
    except ImportError:
        look()
        return found
    from scripted import Chat, tool_call

    model = Chat(answers=[tool_call("look"), "seen"])
    create_agent(model, tools=[look], store=store).invoke({"messages": "Look."})
    assert json.loads(model.asked[1][-1].content) == found
    return found


def test_a_support_desk_goes_on(program, old_redis):
    before = redis_state(old_redis)
    support = program("support.py")

    # What "it" is, only the old conversation says.
    answer = support["ask"](old_redis, "ana", "And if it is late?")
    assert answer == "And if it is late? (parcel) Parcels arrive within three days."
    stranger = support["ask"](old_redis, "bob", "And if it is late?")
    assert stranger == "And if it is late? (nothing) "

    unchanged(before, redis_state(old_redis))
    close_stores()
    kept = searched(old_redis, ("message_store", "ana", "messages"))
    said = [(kept[key]["type"], kept[key]["data"]["content"]) for key in sorted(kept)]
    assert said == [*SAID, ("human", "And if it is late?"), ("ai", answer)]


def test_what_no_longer_fits_is_summarised_and_survives(program, old_redis):
    before = redis_state(old_redis)
    for number in range(4):
        # A new process for each.
        support = program("support.py")
        support["ask"](old_redis, "ana", f"Is number {number} of my parcel here?")
        close_stores()

    memory = support["make_chain"](old_redis, "ana").memory
    given = memory.load_memory_variables({})["chat_history"]
    assert given[0].type == "system"
    assert "When does my parcel arrive?" in given[0].content
    assert given[-1].content.startswith("Is number 3")
    assert len(memory.chat_memory.messages) == 2 + 2 * 4
    unchanged(before, redis_state(old_redis))
    (summary,) = searched(old_redis, ("message_store", "ana", "summary")).values()
    assert summary["text"] == given[0].content


@pytest.mark.parametrize("kind", ["redis", "file"])
def test_notes_go_on(program, request, kind):
    place = request.getfixturevalue("old_redis" if kind == "redis" else "old_file")
    state = redis_state if kind == "redis" else file_state
    before = state(place)

    said = "Hoffmann moved to New York."
    (reply,) = program("crm.py")["talk"](place, "kim", said)
    for name, note in NOTES.items():
        assert f"{name}': '{note}" in reply
    close_stores()
    (reply,) = program("crm.py")["talk"](place, "kim", "Who is Hoffmann?")
    assert f"{NOTES['Hoffmann']} {said}" in reply
    assert "uncle" not in reply
    (reply,) = program("crm.py")["talk"](place, "stranger", "Who is Hoffmann?")
    assert reply == "I know {'Hoffmann': ''}"

    check = unchanged if kind == "redis" else equal
    check(before, state(place))
    close_stores()
    known = searched(place, ("memory_store", "kim", "entities"))
    assert known.keys() == NOTES.keys()
    assert known["New York"]["summary"] == f"{NOTES['New York']} {said}"
    assert known["Hoffmann"]["summary"].startswith(f"{NOTES['Hoffmann']} {said}")
    assert not searched(place, ("memory_store", "lee", "entities"))


def equal(before, after):
    assert after == before


def test_a_note_that_is_read_lives_three_days_as_it_did(program, old_redis):
    from holdover.compat import open_store

    before = redis_state(old_redis)
    chain = program("crm.py")["make_chain"](old_redis, "kim")
    given = chain.memory.load_memory_variables({"input": "Who is Hoffmann?"})

    assert given["entities"] == {"Hoffmann": NOTES["Hoffmann"]}
    store = open_store(old_redis)
    item = store.get(("memory_store", "kim", "entities"), "Hoffmann")
    end = datetime.fromisoformat(item.value["meta"]["expires_at"])
    assert (end - datetime.now(UTC)).total_seconds() == pytest.approx(3 * DAY, abs=60)
    # Nobody asked for the other one, and the old keys end when they would have.
    assert store.get(("memory_store", "kim", "entities"), "New York") is None
    unchanged(before, redis_state(old_redis))


def test_the_old_packages_leave_what_is_assumed_here(program, redis_url, tmp_path):
    """The unchanged programs, as far as today's packages still run them."""
    import redis

    support = program("support.py", as_it_was())
    support["ask"](redis_url, "ana", SAID[0][1])
    with redis.Redis.from_url(redis_url) as client:
        (key,) = client.keys()
        newest, oldest = map(json.loads, client.lrange(key, 0, -1))
    assert key == b"message_store:ana"
    for (kind, text), message in zip(SAID, (oldest, newest), strict=True):
        assert (message["type"], message["data"]["content"]) == (kind, text)
        expected = json.loads(old_message(kind, text))["data"]
        expected.pop("example")
        message["data"].pop("example", None)
        assert message["data"] == expected

    path = str(tmp_path / "notes.db")
    crm = program("crm.py", as_it_was())
    crm["talk"](path, "kim", "Hoffmann is nice.")
    mine = moving.write_old_file(
        tmp_path / "mine.db", {"kim": {"Hoffmann": "Hoffmann is nice."}}
    )
    assert file_state(path) == file_state(mine)


def test_the_readme_names_every_line_that_changes():
    table = (APP / "README.md").read_text("utf-8")
    for old, new in NEW.items():
        line = new.replace(f"{base.CLASSIC}.chains", "langchain_classic.chains")
        assert f"| `{old} …` | `{line} …` |" in table
