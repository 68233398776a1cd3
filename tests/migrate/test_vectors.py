"""Vector memory into stores: found by meaning, with the vectors it had."""

from __future__ import annotations

import json
import shutil
import sqlite3
import struct
from contextlib import closing, contextmanager

import old_embedding
import pytest
from moving import is_postgres, path_of, read_plainly, rows_of
from old_embedding import DIMS, packed, vector
from vector_corpus import HELD, one

from holdover.compat import VectorStoreRetrieverMemory
from holdover.migrate.errors import TargetError, UsageError
from holdover.migrate.options import Options
from holdover.migrate.rollback import rollback
from holdover.migrate.run import migrate
from holdover.migrate.sources.base import ReadOptions
from holdover.migrate.verify import verify

INDEXED = Options(index="old_embedding:embed", dims=DIMS)
DUMP = one("langchain-0.3.27", "in_memory.json")
CHROMA = one("langchain-classic-1.0.8", "chroma/chroma.sqlite3")


@pytest.fixture(autouse=True)
def asked():
    old_embedding.asked.clear()
    return old_embedding.asked


@pytest.fixture(params=["sqlite", "postgres"])
def target(request, tmp_path):
    if request.param == "postgres":
        return request.getfixturevalue("postgres_url")
    return f"sqlite:///{tmp_path / 'memory.db'}"


@pytest.fixture
def dump(tmp_path):
    """Write a dump: `dump({text: vector, …})` gives its path."""

    def write(texts, metadatas=None, name="memories.json"):
        path = tmp_path / name
        held = {
            str(at): {
                "id": str(at),
                "vector": numbers,
                "text": text,
                "metadata": (metadatas or {}).get(text, {}),
            }
            for at, (text, numbers) in enumerate(texts.items())
        }
        path.write_text(json.dumps(held, indent=2))
        return str(path)

    return write


def options(**changes):
    return Options(**{"index": "old_embedding:embed", "dims": DIMS, **changes})


@contextmanager
def searchable(target):
    """LangGraph's own store with the index.

    Of SQLite, where this Python can load no extensions, the one that is ours in how
    distances are computed.
    """
    index = {"embed": old_embedding.embed, "dims": DIMS, "fields": ["$"]}
    if is_postgres(target):
        from langgraph.store.postgres import PostgresStore

        with PostgresStore.from_conn_string(target, index=index) as store:
            yield store
    elif hasattr(sqlite3.Connection, "enable_load_extension"):
        from langgraph.store.sqlite import SqliteStore

        with SqliteStore.from_conn_string(path_of(target), index=index) as store:
            yield store
    else:
        from holdover.compat.stores.opening import open_sqlite

        store = open_sqlite(path_of(target), index)
        yield store
        store.conn.close()


def stored_vectors(target):
    """`{(prefix, key, field): bytes}`, as each backend keeps them."""
    if is_postgres(target):
        import psycopg

        with psycopg.connect(target) as db:
            rows = db.execute(
                "SELECT prefix, key, field_name, embedding::text FROM store_vectors"
            ).fetchall()
        return {
            tuple(place): struct.pack(f"<{DIMS}f", *json.loads(text))
            for *place, text in rows
        }
    with closing(sqlite3.connect(path_of(target))) as db:
        rows = db.execute(
            "SELECT prefix, key, field_name, embedding FROM store_vectors"
        ).fetchall()
    return {tuple(place): raw for *place, raw in rows}


def texts_of(target):
    """`{key: text}` of the turns."""
    return {
        key: value["content"]["text"]
        for namespace, values in read_plainly(target).items()
        if namespace[-1] == "turns"
        for key, value in values.items()
    }


@pytest.mark.parametrize("held", HELD, ids=repr)
def test_every_place_of_the_corpus_is_found_by_meaning(held, tmp_path, asked):
    target = f"sqlite:///{tmp_path / 'memory.db'}"
    done = migrate(str(held.path), target, INDEXED)
    unique = list(dict.fromkeys(held.documents))
    assert done.exit_code == 0
    assert (done.copy.written, done.verify.equal) == (len(unique), len(unique))
    # A few were asked for to compare them; none is embedded.
    assert set(asked) <= set(unique[:3])
    with searchable(target) as store:
        for namespace in store.list_namespaces(suffix=("turns",)):
            for text in unique:
                best = store.search(namespace, query=text, limit=1)[0]
                shown = best.value["content"]["text"].replace("~00", "\x00")
                assert shown == text
                assert best.score == pytest.approx(1)
    assert set(stored_vectors(target).values()) == {packed(text) for text in unique}


@pytest.mark.parametrize("held", [DUMP, CHROMA], ids=repr)
def test_rows_are_those_the_store_writes(held, target, tmp_path):
    """What the store itself makes of the same items, vectors included."""
    migrate(str(held.path), target, INDEXED)
    moved = stored_vectors(target)
    items = [
        (namespace, key, value)
        for namespace, values in read_plainly(target).items()
        for key, value in values.items()
    ]
    with searchable(target) as store:
        for namespace, key, value in items:
            if "escaped" in value["meta"]:
                continue  # its vector is that of the text before the escapes
            store.delete(namespace, key)
            store.put(namespace, key, value, index=["content.text"])
    assert stored_vectors(target) == moved
    assert len(moved) == 9


def test_a_memory_finds_what_another_kept(target):
    done = migrate(str(DUMP.path), target, options(template="memory_store/{session}"))
    assert done.exit_code == 0
    memory = VectorStoreRetrieverMemory(
        store=target,
        session_id="default",
        index={"embed": old_embedding.embed, "dims": DIMS},
        k=1,
    )
    text = "input: My favorite food is pizza\noutput: that's good to know"
    assert memory.load_memory_variables({"input": text}) == {"history": text}


def test_the_plan_tells_what_is_kept_and_what_it_costs(target, dump):
    texts = {f"text {at} " + "x" * 93: vector(str(at)) for at in range(10)}
    for text in list(texts)[:4]:
        texts[text] = [0.5] * 3  # of other dimensions
    source = dump(texts)
    plan = migrate(source, target, options(vectors="keep"), dry_run=True).plan
    assert (plan.vectors_kept, plan.embedded_texts) == (6, 4)
    assert plan.embedded_tokens == 4 * 100 // 4
    assert any("old_embedding:embed" in fact for fact in plan.vector_facts)
    plan = migrate(source, target, options(vectors="embed"), dry_run=True).plan
    assert (plan.vectors_kept, plan.embedded_texts) == (0, 10)
    plan = migrate(source, target, Options(), dry_run=True).plan
    assert (plan.vectors_kept, plan.embedded_texts) == (0, 0)
    assert any("10 vectors stay behind" in fact for fact in plan.vector_facts)
    assert rows_of(target).get("store", []) == []


def test_the_command_says_it(command, dump, sqlite_target):
    texts = {f"text {at}": vector(f"text {at}") for at in range(5)}
    source = dump(texts)
    index = ("--index", "old_embedding:embed", "--dims", DIMS)
    shown = command("migrate", source, sqlite_target, *index, "--dry-run")
    assert shown.exit_code == 0, shown.output
    assert "5 kept as they are" in shown.output
    assert "must come from the model old_embedding:embed" in " ".join(
        shown.output.split()
    )
    done = command(
        "migrate", source, sqlite_target, *index, "--vectors", "keep", "--json"
    )
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["plan"]["vectors_kept"] == 5
    assert old_embedding.asked == []


def test_vectors_of_another_model_are_not_taken_for_this_ones(target, dump):
    source = dump({f"text {at}": vector(f"text {at}") for at in range(5)})
    other = options(index="old_embedding:another")
    with pytest.raises(UsageError, match="the model of --index makes others") as caught:
        migrate(source, target, other)
    assert "--vectors embed" in caught.value.hint
    assert texts_of(target) == {}
    # The same run goes on with another choice.
    done = migrate(source, target, options(index=other.index, vectors="embed"))
    assert done.exit_code == 0
    assert set(stored_vectors(target).values()) == {
        packed(f"text {at}"[::-1] + "!") for at in range(5)
    }
    assert len(rows_of(target)["store_vectors"]) == 5


def test_kept_without_a_question_no_model_is_asked(target, dump):
    source = dump({f"text {at}": vector(f"other {at}") for at in range(5)})
    named = options(index="nowhere:nothing", vectors="keep")
    assert migrate(source, target, named).exit_code == 0
    held = stored_vectors(target)
    names = texts_of(target)
    for (_, key, field), raw in held.items():
        assert field == "content.text"
        assert raw == packed(names[key].replace("text", "other"))
    assert len(held) == 5


def test_what_does_not_fit_is_embedded_once(target, dump, asked):
    texts = {f"text {at}": vector(f"text {at}") for at in range(6)}
    texts["text 0"] = [0.1] * (DIMS + 1)
    texts["text 1"] = None
    texts["text 2"] = [1e39] + [0.0] * (DIMS - 1)
    texts["text 3"] = [float("nan")] * DIMS
    done = migrate(dump(texts), target, options(vectors="keep"))
    assert done.exit_code == 0
    assert sorted(asked) == ["text 0", "text 1", "text 2", "text 3"]
    assert set(stored_vectors(target).values()) == {packed(text) for text in texts}


def test_a_turn_with_metadata_and_a_character_no_store_keeps(target, dump, asked):
    text = "input: nul \x00\noutput: half \ud800"
    done = migrate(
        dump({text: vector(text)}, {text: {"user": "u1"}}),
        target,
        options(vectors="keep"),
    )
    assert done.exit_code == 0
    assert list(stored_vectors(target).values()) == [packed(text)]
    assert asked == []


@pytest.mark.parametrize("name", ["nowhere:nothing", "old_embedding:missing", "x"])
def test_a_model_that_is_not_there(target, dump, name):
    source = dump({"text": None})
    with pytest.raises(UsageError, match="cannot be used"):
        migrate(source, target, options(index=name))
    assert texts_of(target) == {}


def test_dimensions_that_are_not_the_models(target, dump):
    with pytest.raises(UsageError, match="have 8 dimensions") as caught:
        migrate(dump({"text": None}), target, options(dims=5))
    assert caught.value.hint == "Write --dims 8."


def test_dimensions_that_are_not_the_targets(target, dump):
    migrate(dump({"text": vector("text")}), target, INDEXED)
    source = dump({"more": [0.5] * 4}, name="more.json")
    report = migrate(source, target, options(dims=4, vectors="keep"))
    assert report.exit_code == 3
    assert [blocker.code for blocker in report.plan.blockers] == ["dims"]
    assert list(texts_of(target).values()) == ["text"]


def test_a_model_that_fails_tells_no_text_and_the_run_goes_on(
    target, dump, monkeypatch
):
    texts = {f"secret {at}": None for at in range(1_200)}
    source = dump(texts)
    calls = []

    def failing(some):
        calls.append(len(some))
        if sum(calls) > 600:
            raise ValueError(f"no more of {some[0]}")
        return [vector(text) for text in some]

    monkeypatch.setattr(old_embedding, "another", failing)
    named = options(index="old_embedding:another")
    with pytest.raises(TargetError) as caught:
        migrate(source, target, named)
    assert "secret" not in f"{caught.value} {caught.value.hint}"
    half = len(texts_of(target))
    assert half == 500
    embedded = []

    def working(some):
        embedded.extend(some)
        return [vector(text) for text in some]

    monkeypatch.setattr(old_embedding, "another", working)
    done = migrate(source, target, named)
    assert done.exit_code == 0
    # What was paid for is not paid for again.
    assert (len(embedded), len(set(embedded))) == (700, 700)
    assert set(stored_vectors(target).values()) == {packed(text) for text in texts}


def test_rollback_takes_the_vectors_too(target, dump):
    source = dump({f"text {at}": vector(f"text {at}") for at in range(5)})
    with searchable(target) as store:
        store.setup()
        store.put(("agent",), "own", {"content": {"text": "own"}}, index=False)
        before = {
            name: rows
            for name, rows in rows_of(target).items()
            if name in ("store", "store_vectors")
        }
    migrate(source, target, INDEXED)
    assert len(stored_vectors(target)) == 5
    undone = rollback(target)
    assert (undone.removed, undone.left) == (5, 0)
    assert {
        name: rows for name, rows in rows_of(target).items() if name in before
    } == before


def test_again_nothing_is_written_nor_asked(target, dump, asked):
    source = dump({f"text {at}": vector(f"text {at}") for at in range(5)})
    migrate(source, target, INDEXED)
    state = rows_of(target)
    asked.clear()
    again = migrate(source, target, INDEXED)
    assert (again.exit_code, again.copy.written, asked) == (0, 0, [])
    assert rows_of(target) == state
    assert verify(source, target).equal == 5


def test_sessions_from_a_key(target, dump):
    texts = {f"text {at}": vector(f"text {at}") for at in range(6)}
    whose = {text: {"user": f"u{at % 2}"} for at, text in enumerate(texts)}
    del whose["text 5"]
    read = ReadOptions(fields=(("session", "user"),))
    done = migrate(dump(texts, whose), target, options(read=read))
    assert done.copy.rejects == {"no-session": 1}
    assert {
        namespace: len(values) for namespace, values in read_plainly(target).items()
    } == {("memories", "u0", "turns"): 3, ("memories", "u1", "turns"): 2}


def test_a_store_of_another_kind_embeds_itself(dump, tmp_path, monkeypatch):
    module = tmp_path / "shop_of_turns.py"
    module.write_text(
        "from langgraph.store.memory import InMemoryStore\n"
        "import old_embedding\n"
        "store = InMemoryStore(index={'embed': old_embedding.embed, 'dims': 8,"
        " 'fields': ['$']})\n"
        "def make():\n    return store\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    source = dump({f"text {at}": vector(f"text {at}") for at in range(5)})
    done = migrate(source, "shop_of_turns:make", Options())
    assert done.exit_code == 0
    assert (done.plan.vectors_kept, done.plan.embedded_texts) == (0, 5)
    import shop_of_turns

    found = shop_of_turns.store.search(
        ("memories", "default", "turns"), query="text 3", limit=1
    )
    assert found[0].value["content"]["text"] == "text 3"


def test_a_redis_takes_the_turns_alone(dump, redis_url):
    source = dump({f"text {at}": vector(f"text {at}") for at in range(5)})
    done = migrate(source, redis_url, Options())
    assert (done.exit_code, done.copy.written) == (0, 5)
    assert any("stay behind" in fact for fact in done.plan.vector_facts)


def test_the_old_place_stays_as_it_is(tmp_path, sqlite_target):
    source = tmp_path / "chroma"
    shutil.copytree(CHROMA.path, source)
    before = {path.name: path.read_bytes() for path in source.iterdir()}
    migrate(str(source), sqlite_target, INDEXED)
    assert {path.name: path.read_bytes() for path in source.iterdir()} == before


def test_what_is_replaced_gets_its_vectors_back(target, dump):
    """Overwritten and rolled back: the item, and what it is found by."""
    texts = {"input: red\noutput: blue": vector("another text")}
    source = dump(texts)
    migrate(source, target, options(vectors="keep"))
    ((namespace, values),) = read_plainly(target).items()
    (key,) = values
    rollback(target)
    theirs = {"kind": "note", "content": {"text": "theirs"}, "title": "white"}
    with searchable(target) as store:
        store.put(namespace, key, theirs, index=["content.text", "title"])
        store.put(namespace, "untouched", theirs, index=["title"])
    before = stored_vectors(target)
    assert len(before) == 3
    done = migrate(source, target, options(vectors="keep", on_conflict="overwrite"))
    assert done.copy.decisions == {"overwritten": 1}
    prefix = ".".join(namespace)
    # Nothing is left that would find it by a text it no longer has.
    assert stored_vectors(target) == {
        (prefix, key, "content.text"): packed("another text"),
        (prefix, "untouched", "title"): packed("white"),
    }
    assert rollback(target).restored == 1
    assert stored_vectors(target) == before
    with searchable(target) as store:
        assert store.get(namespace, key).value == theirs


def test_overwritten_without_an_index_it_is_not_found_by_the_old_text(target, dump):
    source = dump({"input: red": vector("input: red")})
    migrate(source, target, INDEXED)
    ((namespace, values),) = read_plainly(target).items()
    (key,) = values
    rollback(target)
    with searchable(target) as store:
        store.put(namespace, key, {"title": "white"}, index=["title"])
    before = stored_vectors(target)
    migrate(source, target, Options(on_conflict="overwrite"))
    assert stored_vectors(target) == {}
    rollback(target)
    assert stored_vectors(target) == before
