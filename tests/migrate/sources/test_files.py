"""File histories: one, several, a folder; and files that are none."""

from __future__ import annotations

import json
import os
import random
import shutil
import threading
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from moving import files_of, read_plainly
from old_messages import check_messages, messages_in
from redis_corpus import folders
from sampling import EVERYTHING

from holdover.migrate.errors import MigrateError, SourceNotFound, UsageError
from holdover.migrate.options import Options
from holdover.migrate.run import migrate
from holdover.migrate.sources import open_source
from holdover.migrate.sources.base import ReadOptions

FOLDERS = folders("file_history")
IDS = [folder.parent.name for folder in FOLDERS]
HEARD = [{"type": "human", "data": {"content": f"said {n}"}} for n in range(5)]


def truth_of(folder):
    """`{session: messages}` of the files that the old class wrote whole."""
    files = json.loads((folder / "MANIFEST.json").read_text())["files"]
    return {
        name.removesuffix(".json"): one["messages"]
        for name, one in files.items()
        if one.get("messages")
    }


def options(**read):
    return Options(read=ReadOptions(**read))


def read(address, **named):
    """Items, rejects, and how many were skipped of everything at an address."""
    source = open_source(str(address), ReadOptions(**named))
    items, rejects, skipped = [], [], 0
    for partition in source.partitions():
        for batch in source.read(partition):
            items += batch.items
            rejects += batch.rejects
            skipped += sum(batch.skipped.values())
    source.close()
    return items, rejects, skipped


def texts(items):
    return [item.content["data"]["content"] for item in items]


def write(path, value, encoding="utf-8"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False), encoding=encoding)
    _age(path)
    return path


def _age(path):
    """As if it had been written a minute ago, so that nobody waits for its writer."""
    then = time.time() - 60
    os.utime(path, (then, then))


@pytest.mark.parametrize("folder", FOLDERS, ids=IDS)
def test_every_file_of_a_release_arrives_as_its_manifest_says(
    folder, sqlite_target, tmp_path
):
    source = shutil.copytree(folder, tmp_path / "histories")
    before = files_of(source)
    truth = truth_of(folder)

    done = migrate(source.as_uri(), sqlite_target)

    found = {
        session: messages
        for (_, session), messages in messages_in(sqlite_target).items()
    }
    broken = {"truncated", "concatenated"}
    assert found.keys() - broken == truth.keys()
    for session, messages in truth.items():
        check_messages(found[session], messages)
    # Of a broken file, what stands before the damage.
    assert 0 < len(found["truncated"]) < len(truth["rich"])
    assert found["truncated"] == found["rich"][: len(found["truncated"])]
    assert done.copy.rejects["truncated"] == 1
    if "concatenated" in found:
        assert found["concatenated"] == found["rich"]
        assert done.copy.rejects["extra-data"] == 1
    assert done.verify.clean
    assert done.verify.equal == sum(map(len, found.values()))
    assert files_of(source) == before


@pytest.mark.parametrize("target", ["postgres", "redis"], indirect=True)
def test_a_release_arrives_in_every_target(target, tmp_path):
    folder = FOLDERS[-1]
    source = shutil.copytree(folder, tmp_path / "histories")
    (source / "MANIFEST.json").unlink()
    done = migrate(str(source), target)
    found = messages_in(target)
    for session, messages in truth_of(folder).items():
        check_messages(found["message_store", session], messages)
    assert done.verify.clean


@pytest.mark.parametrize("folder", FOLDERS, ids=IDS)
def test_items_rejects_and_skips_are_all_that_a_folder_holds(folder):
    items, rejects, skipped = read(folder.as_uri())
    truth = truth_of(folder)
    files = [path for path in folder.iterdir() if path.is_file()]
    broken = {path.stem for path in files} & {"truncated", "concatenated", "object"}
    assert len(items) >= sum(map(len, truth.values()))
    assert len(rejects) == len(broken & {"truncated", "concatenated"})
    assert skipped == 1 + len(broken & {"object"})  # its MANIFEST.json


def test_one_file_is_a_session_and_its_positions_are_those_of_the_file(tmp_path):
    path = write(tmp_path / "alice.json", HEARD)
    items, rejects, _ = read(path)
    assert not rejects
    assert [item.position for item in items] == [0, 1, 2, 3, 4]
    assert {item.session for item in items} == {"alice"}
    assert {item.root for item in items} == {"message_store"}
    assert [item.locator for item in items] == [
        f"file:alice.json#{n}" for n in range(5)
    ]
    assert texts(items) == [f"said {n}" for n in range(5)]


def test_the_addresses_of_a_file(tmp_path, monkeypatch):
    path = write(tmp_path / "a folder/ali ce.json", HEARD)
    monkeypatch.chdir(tmp_path)
    for address in (path, "a folder/ali ce.json", path.as_uri(), f"file://{path}"):
        assert len(read(address)[0]) == 5
    assert len(read(path.parent.as_uri())[0]) == 5


def test_a_migrated_message_is_the_one_that_compat_takes_over(tmp_path, sqlite_target):
    """The key, the content and the locator: so neither is moved twice."""
    from langgraph.store.memory import InMemoryStore

    from holdover.compat.chat_message_histories.file import FileChatMessageHistory

    path = write(tmp_path / "alice.json", HEARD)
    store = InMemoryStore()
    one = FileChatMessageHistory(path, store=store, scope=("message_store", "alice"))
    assert len(one.messages) == 5
    adopted = {
        item.key: item.value for item in store.search(("message_store", "alice"))
        if item.namespace[-1] == "messages"
    }  # fmt: skip
    migrate(str(path), sqlite_target)
    moved = read_plainly(sqlite_target)["message_store", "alice", "messages"]
    assert moved.keys() == adopted.keys()
    for key, value in moved.items():
        assert value["content"] == adopted[key]["content"]
        assert (
            value["meta"]["source"]["locator"]
            == (adopted[key]["meta"]["source"]["locator"])
        )


def test_sessions_by_a_pattern_of_the_path(tmp_path, sqlite_target):
    for tenant in ("acme", "beta"):
        write(tmp_path / "tree" / tenant / "42.json", HEARD[:2])
    write(tmp_path / "tree" / "notes.json", HEARD[:1])
    tree = (tmp_path / "tree").as_uri()
    blocked = migrate(tree, sqlite_target)
    assert [one.code for one in blocked.plan.blockers] == ["same-session"]
    assert "acme/42.json" in blocked.plan.blockers[0].message

    pattern = r"(?P<session>\w+/\d+)\.json"
    done = migrate(tree, sqlite_target, options(session_pattern=pattern))
    assert set(messages_in(sqlite_target)) == {
        ("message_store", "acme/42"),
        ("message_store", "beta/42"),
    }
    assert done.copy.skipped == {"not-a-history": 1}
    assert [one.name for one in done.plan.inventory.skipped] == ["notes.json"]


def test_two_files_of_one_session_are_never_mixed(tmp_path):
    write(tmp_path / "a/chat.json", HEARD[:2])
    write(tmp_path / "b/chat.json", HEARD)
    items, rejects, _ = read(tmp_path.as_uri())
    assert len(items) == 2
    assert [(one.reason, one.locator) for one in rejects] == [
        ("same-session", "file:b/chat.json")
    ]


def test_what_is_selected(tmp_path):
    for name in ("ann", "bob", "cid"):
        write(tmp_path / f"{name}.json", HEARD[:1])
    named = {"only_named": True, "sessions": frozenset({"bob"})}
    assert {item.session for item in read(tmp_path, **named)[0]} == {"bob"}
    pattern = {"only_named": True, "session_pattern": "[ab].*"}
    assert {item.session for item in read(tmp_path, **pattern)[0]} == {"ann", "bob"}
    assert {item.root for item in read(tmp_path, roots=("chats",))[0]} == {"chats"}
    assert read(tmp_path, kinds=frozenset({"entities"})) == ([], [], 0)
    with pytest.raises(UsageError):
        open_source(str(tmp_path), ReadOptions(roots=("a", "b")))


ENCODINGS = [
    "utf-8",
    "utf-8-sig",
    "utf-16",
    "utf-32",
    "utf-16-le",
    "cp1252",
    "shift_jis",
]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_encodings(encoding, tmp_path):
    said = "Grüße" if encoding == "cp1252" else "日本語"
    path = write(
        tmp_path / "a.json", [{"type": "ai", "data": {"content": said}}], encoding
    )
    found_out = encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32")
    items, rejects, _ = read(path, fields=(("encoding", encoding),))
    assert (texts(items), rejects) == ([said], [])
    items, rejects, _ = read(path.as_uri())
    assert (texts(items) == [said]) == found_out
    assert len(rejects) == (not found_out)


@pytest.mark.parametrize("encoding", [*ENCODINGS, "gb18030", "utf-7", "iso2022_jp"])
def test_damaged_text_of_any_encoding_never_crashes(encoding, tmp_path, monkeypatch):
    from holdover.migrate.sources import json_array

    chance = random.Random(encoding)
    said = [{"type": "ai", "data": {"content": "日本語" * 9}}, *HEARD]
    if encoding == "cp1252":
        said[0]["data"]["content"] = "Grüße"
    raw = json.dumps(said, ensure_ascii=False).encode(encoding)
    path = tmp_path / "a.json"
    for _ in range(60):
        monkeypatch.setattr(json_array, "_CHUNK", chance.choice((1, 7, 64, 5000)))
        changed = bytearray(raw)
        for _ in range(chance.randint(1, 3)):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        path.write_bytes(changed)
        with path.open("rb") as file:
            array = json_array.JsonArray(file, encoding)
            found = list(array)
        assert len(found) <= len(said)
        if array.damage:
            assert 0 <= array.damage.at <= len(raw) * 2


def test_an_encoding_that_nobody_named_is_a_reject_that_says_where(tmp_path):
    messages = [HEARD[0], {"type": "ai", "data": {"content": "Grüße"}}]
    path = write(tmp_path / "a.json", messages, "cp1252")
    items, rejects, _ = read(path)
    assert texts(items) == ["said 0"]
    (reject,) = rejects
    assert reject.reason == "not-text"
    place = path.read_bytes().index("ü".encode("cp1252"))
    assert f"Byte {place:,}:" in reject.detail
    with pytest.raises(UsageError, match="no encoding"):
        open_source(str(path), ReadOptions(fields=(("encoding", "utf-7000"),)))


DAMAGE = {
    "nothing": (b"", 0, None),
    "spaces": (b" \n", 0, None),
    "not begun": (b"hello", 0, "not-json"),
    "a number": (b"7", 0, "not-json"),
    "one message": (json.dumps(HEARD[0]).encode(), 1, None),
    "an object": (b'{"messages": []}', 0, "not-a-message"),
    "two arrays": (json.dumps(HEARD).encode() * 2, 5, "extra-data"),
    "no end": (json.dumps(HEARD).encode()[:-1], 5, "truncated"),
    "cut in a message": (json.dumps(HEARD).encode()[:-9], 4, "truncated"),
    "a comma too many": (json.dumps(HEARD).encode()[:-1] + b",]", 5, None),
    "a broken message": (b'[{"type": "ai" "data": {}}]', 0, "not-json"),
    "not UTF-8": (b'[{"type": "ai", "data": {"content": "\xff"}}]', 0, "not-text"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_one_reject_that_says_where(name, tmp_path):
    raw, number, reason = DAMAGE[name]
    path = tmp_path / "a.json"
    path.write_bytes(raw)
    _age(path)
    items, rejects, _ = read(path.as_uri())
    assert len(items) == number
    assert [one.reason for one in rejects] == ([reason] if reason else [])
    if reason and reason != "not-a-message":
        assert "Byte " in rejects[0].detail


def test_junk_elements_are_rejects_and_the_session_goes_on(tmp_path):
    junk = [None, 7, "text", [], {}, {"type": "ai"}, {"type": 1, "data": {}}]
    deep = (
        '{"type": "ai", "data": {"content": "x", "a": ' + "[" * 5000 + "]" * 5000 + "}}"
    )
    big = '{"type": "ai", "data": {"content": "x", "n": ' + "9" * 5000 + "}}"
    parts = [json.dumps(one) for one in (*junk, *HEARD)]
    parts[2:2] = [deep, big]
    path = tmp_path / "a.json"
    path.write_text("[" + ", ".join(parts) + "]")
    items, rejects, _ = read(path)
    assert texts(items) == ["x", *(f"said {n}" for n in range(5))]
    assert [item.position for item in items] == [3, *range(9, 14)]
    assert len(rejects) == len(junk) + 1
    assert rejects[2].reason == "too-deep"
    assert [one.locator for one in rejects[:3]] == [
        f"file:a.json#{n}" for n in range(3)
    ]
    assert items[0].content["data"]["n"] == "9" * 5000


def test_text_that_only_python_writes_is_kept(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('[{"type": "ai", "data": {"content": "\\ud83d!", "x": NaN}}]')
    (item,), rejects, _ = read(path)
    assert not rejects
    assert item.content["data"]["content"] == "\ud83d!"


@pytest.mark.parametrize("seed", range(40 if EVERYTHING else 12))
def test_mutated_files_never_crash(seed, tmp_path):
    """Bits flipped, pieces cut out, doubled, in any file of the corpus."""
    chance = random.Random(seed)
    originals = sorted(p for folder in FOLDERS for p in folder.iterdir())
    for number in range(25):
        raw = bytearray(chance.choice(originals).read_bytes())
        for _ in range(chance.randint(1, 4)):
            if not raw:
                break
            at = chance.randrange(len(raw))
            match chance.randrange(4):
                case 0:
                    raw[at] ^= 1 << chance.randrange(8)
                case 1:
                    del raw[at:]
                case 2:
                    del raw[at : at + chance.randint(1, 500)]
                case 3:
                    raw[at:at] = raw[at : at + chance.randint(1, 500)]
        path = tmp_path / f"{number}.json"
        path.write_bytes(raw)
        _age(path)
        items, rejects, _ = read(path.as_uri())
        for reject in rejects:
            assert reject.reason
            assert reject.detail
        assert [item.position for item in items] == sorted(i.position for i in items)
    read(tmp_path.as_uri())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@settings(
    max_examples=600 if EVERYTHING else 60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(
    elements=st.lists(JSON, max_size=6),
    cut=st.integers(0, 10**6),
    chunk=st.integers(1, 64),
)
def test_an_array_is_read_as_json_reads_it(elements, cut, chunk, tmp_path, monkeypatch):
    """Whole, and cut anywhere, and however small the pieces are that are read."""
    from holdover.migrate.sources import json_array

    monkeypatch.setattr(json_array, "_CHUNK", chunk)
    raw = json.dumps(elements).encode()
    for text in (raw, raw[: cut % (len(raw) + 1)]):
        path = tmp_path / "a.json"
        path.write_bytes(text)
        with path.open("rb") as file:
            array = json_array.JsonArray(file)
            found = list(array)
        assert repr(found) == repr(elements[: len(found)])
        assert (array.damage is None) == (text == raw or not text)


def test_memory_stays_flat_over_a_large_file(tmp_path):
    """Half a gigabyte is read like this, in the same memory (docs/sources/files.md)."""
    import tracemalloc

    path = tmp_path / "big.json"
    one = json.dumps({"type": "human", "data": {"content": "x" * 2000}})
    with path.open("w") as file:
        file.write("[" + one)
        for _ in range(20_000):
            file.write("," + one)
        file.write("]")
    source = open_source(str(path), ReadOptions())
    (partition,) = source.partitions()
    count = sum(len(batch.items) for batch in source.read(partition, size=1000))
    assert count == 20_001
    tracemalloc.start()
    for batch in source.read(partition, size=1000):
        count -= len(batch.items)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 0
    assert peak < 20 << 20 < path.stat().st_size


def test_a_file_that_is_rewritten_while_it_is_read_is_whole(tmp_path):
    """As the classic class does it: emptied, then written from its beginning."""
    path = write(tmp_path / "a.json", HEARD)
    stop = threading.Event()
    written = [len(HEARD)]

    def rewrite():
        messages = list(HEARD)
        while not stop.is_set():
            messages.append({"type": "ai", "data": {"content": "x" * 3000}})
            text = json.dumps(messages)
            with path.open("w") as file:
                file.write(text[: len(text) // 2])
                file.flush()
                time.sleep(0.005)
                file.write(text[len(text) // 2 :])
            written[0] = len(messages)
            time.sleep(0.03)

    writer = threading.Thread(target=rewrite)
    writer.start()
    try:
        for _ in range(10):
            before = written[0]
            items, rejects, _ = read(path)
            assert rejects == []
            assert len(items) >= before
            assert [item.position for item in items] == list(range(len(items)))
    finally:
        stop.set()
        writer.join()


@pytest.mark.parametrize("half", [0.0, 0.5, 0.99])
def test_a_file_that_is_half_written_is_waited_for(half, tmp_path, monkeypatch):
    from holdover.migrate.sources import files

    path = tmp_path / "a.json"
    text = json.dumps(HEARD)
    path.write_text(text[: int(len(text) * half)])
    monkeypatch.setattr(files.time, "sleep", lambda _: path.write_text(text))
    items, rejects, _ = read(path)
    assert (texts(items), rejects) == ([f"said {n}" for n in range(5)], [])


def test_what_was_broken_for_long_is_not_waited_for(tmp_path, monkeypatch):
    from holdover.migrate.sources import files

    path = tmp_path / "a.json"
    path.write_text(json.dumps(HEARD)[:-1])
    _age(path)
    monkeypatch.setattr(files.time, "sleep", lambda _: pytest.fail("it waited"))
    items, rejects, _ = read(path)
    assert (len(items), len(rejects)) == (5, 1)


def test_many_broken_files_are_waited_for_a_while_only(tmp_path, monkeypatch):
    from holdover.migrate.sources import files

    for number in range(200):
        (tmp_path / f"{number}.json").write_text("[")
    waits = []
    monkeypatch.setattr(files.time, "sleep", waits.append)
    assert len(read(tmp_path.as_uri())[1]) == 200
    assert len(waits) <= 100


def test_what_a_folder_may_hold_beside_histories(tmp_path):
    tree = tmp_path / "tree"
    write(tree / "alice.json", HEARD)
    (tree / "notes.txt").write_text("buy milk")
    (tree / "memory.pkl").write_bytes(b"\x80\x04N.")
    (tree / "old.db").write_bytes(b"SQLite format 3\x00")
    (tree / "empty.json").write_bytes(b"")
    _age(tree / "empty.json")
    write(tree / "settings.json", {"a": 1})
    os.mkfifo(tree / "pipe")
    (tree / "loop").symlink_to(tree)
    (tree / "nowhere.json").symlink_to(tree / "gone.json")
    (tree / "round.json").symlink_to(tree / "round.json")
    (tree / "bob.json").symlink_to(tree / "alice.json")
    bad = os.fsdecode(b"caf\xe9.json")
    write(tree / bad, HEARD[:1])

    items, rejects, skipped = read(tree.as_uri())
    assert {item.session for item in items} == {"alice", "bob", bad[:-5]}
    assert skipped == 6
    assert sorted(one.locator for one in rejects) == [
        "file:nowhere.json",
        "file:round.json",
    ]
    assert {one.reason for one in rejects} == {"unreadable"}
    source = open_source(tree.as_uri(), ReadOptions())
    inventory = source.inventory()
    source.close()
    assert {one.name: one.why for one in inventory.skipped} == {
        "notes.txt": "it is no file history",
        "memory.pkl": "it is a pickle",
        "old.db": "it is a SQLite file",
        "settings.json": "it is a serialized memory",
        "pipe": "it is no regular file",
        "loop": "the same folder is read elsewhere",
    }
    assert inventory.groups[0].sessions == 3


def test_a_name_that_is_not_utf8_can_be_moved(tmp_path, sqlite_target):
    write(tmp_path / "tree" / os.fsdecode(b"caf\xe9.json"), HEARD)
    done = migrate(str(tmp_path / "tree"), sqlite_target)
    assert done.verify.clean
    assert done.verify.equal == 5


def test_what_is_not_there(tmp_path):
    for address in (
        (tmp_path / "no.json").as_uri(),
        "file://elsewhere/a.json",
        "file:///",
    ):
        with pytest.raises(SourceNotFound):
            open_source(address, ReadOptions()).inventory()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SourceNotFound, match="neither"):
        open_source((tmp_path / "pipe").as_uri(), ReadOptions()).inventory()


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    """Root may read everything, so the system's answer is put in its place."""
    write(tmp_path / "tree/ann.json", HEARD)
    shut = write(tmp_path / "tree/bob.json", HEARD)
    real = Path.open

    def refusing(path, *args, **kwargs):
        if path == shut:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *args, **kwargs)

    monkeypatch.setattr(Path, "open", refusing)
    items, rejects, _ = read(tmp_path / "tree")
    assert {item.session for item in items} == {"ann"}
    assert [(one.reason, one.locator) for one in rejects] == [
        ("unreadable", "file:bob.json")
    ]
    with pytest.raises(MigrateError) as caught:
        read(shut.as_uri())
    assert "Permission denied" in str(caught.value)


def test_a_run_goes_on_behind_the_last_whole_file(tmp_path):
    for number in range(40):
        write(tmp_path / f"t/{number % 3}/{number}.json", HEARD)
    source = open_source(str(tmp_path / "t"), ReadOptions())
    whole = {}
    for partition in source.partitions():
        assert partition.aligned
        for batch in source.read(partition, size=7):
            whole[partition.id, json.dumps(batch.cursor)] = batch
        everything = [i for b in source.read(partition) for i in b.items]
        for (owner, cursor), batch in whole.items():
            if owner == partition.id:
                rest = [
                    item
                    for later in source.read(partition, json.loads(cursor))
                    for item in later.items
                ]
                assert everything[len(everything) - len(rest) :] == rest
                # A session is read whole.
                assert not rest or rest[0].position == 0
                assert batch.items[-1] in everything
    assert len({partition.id for partition in source.partitions()}) == 8
    # Most batches end within a file, and the next run begins with that file.
    assert len({cursor for _, cursor in whole} - {"null"}) > 15


def test_an_emptied_file_begins_behind_what_was_moved(tmp_path, sqlite_target):
    """`clear`, and a new conversation: the old one stays, the new one follows."""
    path = write(tmp_path / "alice.json", HEARD)
    migrate(str(path), sqlite_target)
    write(path, [{"type": "human", "data": {"content": f"new {n}"}} for n in range(7)])
    done = migrate(str(path), sqlite_target)
    assert done.verify.clean
    said = [
        message["data"]["content"]
        for message in messages_in(sqlite_target)["message_store", "alice"]
    ]
    assert said == [*(f"said {n}" for n in range(5)), *(f"new {n}" for n in range(7))]


def test_a_source_is_never_the_target(tmp_path):
    """By either form of its address: a file of 0 bytes would become a database."""
    path = tmp_path / "alice.json"
    path.write_bytes(b"")
    for source in (str(path), path.as_uri()):
        with pytest.raises(UsageError, match="same file"):
            migrate(source, str(path))
    assert path.read_bytes() == b""


def test_a_run_is_the_same_by_either_form_of_the_address(tmp_path, sqlite_target):
    path = write(tmp_path / "alice.json", HEARD)
    first = migrate(str(path), sqlite_target)
    again = migrate(path.as_uri(), sqlite_target)
    assert again.copy.run == first.copy.run
    assert again.copy.written == 0


def test_the_command_moves_a_folder_and_tells_what_it_left(tmp_path, command):
    tree = shutil.copytree(FOLDERS[-1], tmp_path / "histories")
    done = command("migrate", tree.as_uri(), "target.db", "--yes")
    assert done.exit_code == 1, done.output  # the broken ones are rejects
    assert "Traceback" not in done.output
    assert "Bonjour" not in done.output
    done = command("verify", tree.as_uri(), "target.db")
    assert done.exit_code in (0, 1), done.output
    bad = write(
        tmp_path / "a.json", [{"type": "ai", "data": {"content": "ü"}}], "cp1252"
    )
    done = command("migrate", bad, "other.db", "--yes", "--field", "encoding=cp1252")
    assert done.exit_code == 0, done.output
    assert messages_in("sqlite:///other.db")["message_store", "a"][0]["data"] == {
        "content": "ü"
    }
