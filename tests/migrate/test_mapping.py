"""Where sessions go: templates, session maps, patterns, and what cannot be mapped."""

from __future__ import annotations

import json
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from moving import read_plainly, read_summaries, rows_of, write_old_file

from holdover.compat.errors import InvalidScope
from holdover.migrate.errors import UsageError
from holdover.migrate.mapping import Mapper, SessionMap
from holdover.migrate.options import Options
from holdover.migrate.run import migrate
from holdover.migrate.sources.base import ReadOptions
from holdover.migrate.status import status


def mapped(template, *, root="memory_store", session="s", **options):
    return Mapper(template, **options).labels("entity", root, session)


@pytest.mark.parametrize(
    ("template", "labels"),
    [
        ("{root}/{session}", ("memory_store", "a~2fb")),
        ("{session}", ("a~2fb",)),
        ("app/{session}/{root}", ("app", "a~2fb", "memory_store")),
        ("u-{session}", ("u-a~2fb",)),
        ("{{literal}}/{session}", ("{literal}", "a~2fb")),
        ("/{session}", ("~", "a~2fb")),
        ("langgraph/{session}", ("~6canggraph", "a~2fb")),
        ("x.y/{session}", ("x~2ey", "a~2fb")),
    ],
)
def test_templates(template, labels):
    assert mapped(template, session="a/b") == (*labels, "entities")


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{tenant}/{session}", "{tenant}"),
        ("{root", "{root"),
        ("{}/{session}", "not valid"),
        ("{0}", "not valid"),
        ("{session!r}", "not valid"),
        ("{session:>10}", "not valid"),
        ("{session.x}", "not valid"),
        ("{session[0]}", "not valid"),
    ],
)
def test_a_template_that_is_wrong_says_so(template, said):
    with pytest.raises(UsageError) as caught:
        Mapper(template)
    assert said in str(caught.value)


@given(
    st.lists(st.tuples(st.text(), st.text()), unique=True, max_size=6),
    st.sampled_from(["{root}/{session}", "{session}/{root}", "{session}/x/{root}"]),
)
@settings(max_examples=300, deadline=None)
def test_distinct_sessions_have_distinct_namespaces(sessions, template):
    mapper = Mapper(template)
    places = {mapper.labels("entity", root, session) for root, session in sessions}
    assert len(places) == len(sessions)
    assert all(label for place in places for label in place)
    assert not any("." in label for place in places for label in place)


@given(st.text(alphabet=string.ascii_letters + "{}/.!:[]", max_size=20))
@settings(max_examples=500, deadline=None)
def test_any_template_works_or_is_a_usage_error(template):
    try:
        mapper = Mapper(template)
    except UsageError:
        return
    assert len(mapper.labels("entity", "r", "s")) == template.count("/") + 2


@pytest.mark.parametrize(
    ("template", "injective"),
    [
        ("{root}/{session}", True),
        ("{session}/{root}", True),
        ("{session}", False),
        ("{root}-{session}", False),
        ("{root}/{session}/{session}", False),
    ],
)
def test_what_can_collide_is_known(template, injective):
    assert Mapper(template).injective is injective


# The session map.


def session_map(folder, name, text, encoding="utf-8"):
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return str(path)


CSV = 'session,tenant\nana@x.org,"Acme, Inc."\n"line\nbreak",B\n'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("map.csv", CSV),
        ("bom.csv", "\ufeff" + CSV),
        ("crlf.csv", CSV.replace("\n", "\r\n").replace("line\r\n", "line\n")),
        ("map.json", json.dumps([
            {"session": "ana@x.org", "tenant": "Acme, Inc."},
            {"session": "line\nbreak", "tenant": "B"},
        ])),
        ("object.json", json.dumps({
            "ana@x.org": {"tenant": "Acme, Inc."}, "line\nbreak": {"tenant": "B"},
        })),
    ],
)  # fmt: skip
def test_a_session_map(folder, name, text):
    loaded = SessionMap.load(session_map(folder, name, text))
    assert loaded.columns == {"tenant"}
    assert loaded.sessions == {"ana@x.org", "line\nbreak"}
    assert loaded.columns_of("ana@x.org", "entities") == {"tenant": "Acme, Inc."}
    assert mapped("{tenant}/{session}", session="line\nbreak", session_map=loaded) == (
        "B", "line~0abreak", "entities",
    )  # fmt: skip


def test_a_map_may_say_it_by_kind(folder):
    text = "session,kind,tenant\ns,messages,M\ns,,any\nt,entities,E\n"
    loaded = SessionMap.load(session_map(folder, "map.csv", text))
    mapper = Mapper("{tenant}/{session}", loaded)
    assert mapper.labels("entity", "r", "s") == ("any", "s", "entities")
    assert mapper.labels("message", "r", "s") == ("M", "s", "messages")
    assert mapper.labels("entity", "r", "t") == ("E", "t", "entities")
    with pytest.raises(InvalidScope, match="tenant"):
        mapper.labels("message", "r", "t")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id,tenant\ns,A\n", "names no session"),
        ("session,tenant\ns,A\ns,B\n", "'s' twice"),
        ('{"s": 1}', "names no session"),
        ("[1]", "names no session"),
        ('[{"session": 5}]', "names no session"),
        ("[", "not valid"),
        ('session,tenant\n"s,A\n', "not valid"),
        ("session,tenant\ns,A,B,C\n", "not valid"),
    ],
)
def test_a_map_that_is_wrong_says_so(folder, text, said):
    path = session_map(folder, "map.csv", text)
    with pytest.raises(UsageError) as caught:
        SessionMap.load(path)
    assert said in str(caught.value)
    assert "map.csv" in str(caught.value)


@pytest.mark.parametrize("kind", ["missing", "folder", "latin"])
def test_a_map_that_cannot_be_read_says_so(folder, kind):
    path = folder / "map.csv"
    if kind == "folder":
        path.mkdir()
    elif kind == "latin":
        path.write_bytes("session,tenant\nJosé,A\n".encode("latin-1"))
    with pytest.raises(UsageError, match=r"map\.csv cannot be read"):
        SessionMap.load(str(path))


def test_a_session_the_map_does_not_name_is_a_reject(target, old_file, folder):
    source = write_old_file(old_file, {"a": {"A": "1"}, "b": {"B": "2"}})
    path = session_map(folder, "map.csv", "session,tenant\na,Acme\n")
    options = Options(template="{tenant}/{session}", session_map=path)
    planned = migrate(source, target, options, dry_run=True).plan
    assert planned.rejects == {"scope": 1}
    assert planned.to_write == 1
    done = migrate(source, target, options)
    assert done.exit_code == 1
    assert done.copy.rejects == {"scope": 1}
    assert read_summaries(target) == {("Acme", "a"): {"A": "1"}}
    text = (folder / done.copy.rejects_file).read_text("utf-8")
    assert "memory_store_b" in text
    assert "{tenant}" in text


def test_named_groups_of_the_pattern_are_names(redis, redis_url, sqlite_target):
    redis.set("memory_store:acme:42:Ana", "x")
    redis.set("memory_store:plain:Bob", "y")
    read = ReadOptions(session_pattern=r"(?P<tenant>[a-z]+):(?P<user>\d+)")
    done = migrate(
        redis_url, sqlite_target, Options(read=read, template="{tenant}/{user}")
    )
    assert read_summaries(sqlite_target) == {("acme", "42"): {"Ana": "x"}}
    assert done.copy.rejects == {"scope": 1}


def test_a_scope_that_is_too_long_is_a_reject(target, old_file, folder):
    template = "/".join(["{session}"] * 6)
    source = write_old_file(old_file, {"x" * 190: {"A": "1"}, "short": {"B": "2"}})
    done = migrate(source, target, Options(template=template))
    assert done.plan.rejects == {"scope": 1}
    assert done.copy.rejects == {"scope": 1}
    assert done.verify.rejected == {"scope": 1}
    assert "template" in (folder / done.copy.rejects_file).read_text("utf-8")
    assert read_summaries(target) == {("short",) * 6: {"B": "2"}}


def test_a_long_session_keeps_its_whole_name(target, old_file):
    session = "ü" * 300
    source = write_old_file(old_file, {session: {"A": "1"}})
    assert migrate(source, target).exit_code == 0
    (namespace,) = read_plainly(target)
    assert "~~" in namespace[1]
    assert len(namespace[1].encode()) <= 200
    labels = read_plainly(target, internal=True)["~holdover", "labels"]
    assert labels[namespace[1]]["content"]["label"] == session


def test_long_and_odd_names_round_trip(target, old_file):
    names = ["n" * 600, "ü" * 400, " lead", "trail ", "", "~", "~~", "a~b", "t\tab"]
    names += ["New York", "a/b.c*", "%41", "'; DROP TABLE store; --", "\\N", "x" * 512]
    entities = {name: f"of {name[:9]!r}" for name in names}
    source = write_old_file(old_file, {"s": entities})
    assert migrate(source, target).exit_code == 0
    assert read_summaries(target) == {("memory_store", "s"): entities}
    (items,) = read_plainly(target).values()
    assert items["New York"]["content"]["name"] == "New York"


# What makes it the same run.


def test_the_same_choices_in_another_order_are_the_same_run(folder):
    one = session_map(folder, "a.csv", "session,tenant\na,1\nb,2\n")
    two = session_map(folder, "b.json", '[{"session":"b","tenant":"2"},'
                      '{"tenant":"1","session":"a"}]')  # fmt: skip
    prints = {
        Options(
            read=ReadOptions(roots=roots, sessions=frozenset(sessions)),
            template="{tenant}/{session}",
            session_map=path,
            batch=batch,
            rate=rate,
            on_conflict=policy,
        )
        .prepared()
        .fingerprint()
        for roots, sessions, path, batch, rate, policy in [
            (("x", "y"), "ab", one, 10, None, "fail"),
            (("y", "x"), "ba", two, 500, 3.0, "skip"),
        ]
    }
    assert len(prints) == 1


@pytest.mark.parametrize(
    "other",
    [
        Options(read=ReadOptions(roots=("other",))),
        Options(read=ReadOptions(sessions=frozenset("a"))),
        Options(read=ReadOptions(session_pattern="x")),
        Options(read=ReadOptions(ambiguous="first")),
        Options(read=ReadOptions(skip=frozenset("t"))),
        Options(read=ReadOptions(only_named=True)),
        Options(read=ReadOptions(sample=0.5)),
        Options(template="{session}"),
        Options(ttl="drop"),
    ],
)
def test_other_choices_are_another_run(other):
    assert other.prepared().fingerprint() != Options().prepared().fingerprint()


def test_a_moved_source_goes_on_with_its_run(target, old_file, tmp_path):
    source = write_old_file(old_file, {"s": {"A": "1"}})
    first = migrate(source, target)
    elsewhere = old_file.rename(tmp_path / "entities.db")
    write_old_file(elsewhere, {"s": {"B": "2"}})
    again = migrate(str(elsewhere), target, Options(run=first.copy.run[:13]))
    assert again.copy.run == first.copy.run
    assert again.copy.decisions == {"copied": 1, "already there": 1}
    assert len(status(target)) == 1


def test_a_run_of_other_choices_is_not_gone_on_with(target, old_file):
    source = write_old_file(old_file, {"s": {"A": "1"}})
    first = migrate(source, target)
    state = rows_of(target)
    with pytest.raises(UsageError, match="other choices"):
        migrate(source, target, Options(run=first.copy.run, ttl="drop"))
    with pytest.raises(UsageError, match="records no run"):
        migrate(source, target, Options(run="ffffffff"))
    assert rows_of(target) == state
