"""`check`, `acheck` and their report: isolation, declarations, outcomes."""

import asyncio
import json
import subprocess
import sys

import pytest
from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore

from holdover.compat.errors import HoldoverError
from holdover.compat.testing import (
    Capabilities,
    ConformanceFailed,
    Difference,
    Outcome,
    acheck,
    check,
    index_config,
    known_differences,
    properties,
)
from holdover.compat.testing.equality import digest, same
from holdover.compat.testing.known import MEMORY

EVERYTHING = 10**6


def items_of(store):
    return {
        (item.namespace, item.key): item.value
        for item in store.search((), limit=EVERYTHING)
    }


@pytest.mark.parametrize("run", [check, lambda *a, **k: asyncio.run(acheck(*a, **k))])
def test_a_store_in_use_is_left_as_it_was(run):
    store = InMemoryStore()
    store.put(("user", "1"), "k", {"n": 1})
    store.put(("conformance",), "k", {"n": 2})
    before = items_of(store)
    report = run(store, differences=MEMORY)
    assert report.failed == ()
    assert items_of(store) == before


def test_it_cleans_up_when_it_is_interrupted():
    class Interrupted(InMemoryStore):
        calls = 0

        def batch(self, ops):
            self.calls += 1
            if self.calls == 700:
                raise KeyboardInterrupt
            return super().batch(ops)

    store = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        check(store)
    assert store.calls > 700
    assert items_of(store) == {}


async def test_it_cleans_up_when_its_task_is_cancelled():
    store = InMemoryStore()
    task = asyncio.create_task(acheck(store, only=["search.order-newest-first"]))
    await asyncio.sleep(0.3)
    assert items_of(store)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert items_of(store) == {}


async def test_check_works_where_a_loop_is_running():
    report = check(InMemoryStore(), only=["twins.*", "concurrency.tasks"])
    assert report.failed == ()
    assert report.counts == {"pass": 8}


def test_names_and_sentences():
    found = properties()
    names = [one.name for one in found]
    assert len(set(names)) == len(names) > 200
    for one in found:
        assert one.name == one.name.lower()
        assert one.meaning.endswith("."), one.name
        assert one.needs in ("", "ttl", "no ttl", "vectors", "no vectors", "twin",
                             "sync", "async_"), one.name  # fmt: skip
    meanings = [one.meaning for one in found]
    assert len(set(meanings)) == len(meanings)


def test_only():
    assert [one.name for one in properties(["key.empty"])] == ["key.empty"]
    assert {one.group for one in properties(["key.*", "ttl.zero"])} == {"key", "ttl"}
    with pytest.raises(ValueError, match=r"called kee\.\*"):
        properties(["kee.*"])
    with pytest.raises(ValueError, match=r"called key\.emty"):
        check(InMemoryStore(), differences=[Difference("key.emty", "a slip")])
    with pytest.raises(ValueError, match="declared twice"):
        check(InMemoryStore(), differences=[Difference("key.nul", "x")] * 2)


def only_aliasing(**declared):
    return check(
        InMemoryStore(),
        only=["aliasing.get"],
        differences=[Difference("aliasing.get", "no copies", **declared)],
    )["aliasing.get"]


def test_outcomes_of_a_declaration():
    assert only_aliasing().outcome is Outcome.DIFFERS
    assert only_aliasing(expected="1 of 1 wrong").outcome is Outcome.DIFFERS
    other = only_aliasing(expected="2 of 2 wrong")
    assert other.outcome is Outcome.FAIL
    assert "declared was: 2 of 2 wrong" in other.detail
    for always, outcome in ((True, Outcome.VANISHED), (False, Outcome.PASS)):
        report = check(
            InMemoryStore(),
            only=["key.empty"],
            differences=[Difference("key.empty", "x", always=always)],
        )
        assert report["key.empty"].outcome is outcome


def test_a_declaration_of_what_is_not_applicable_is_no_failure():
    report = check(
        InMemoryStore(),
        only=["ttl.zero"],
        differences=[Difference("ttl.zero", "it has none")],
    )
    assert report["ttl.zero"].outcome is Outcome.NOT_APPLICABLE
    assert report.failed == ()


def test_capabilities():
    class Claims(InMemoryStore):
        supports_ttl = True

    assert Capabilities.of(InMemoryStore()) == Capabilities()
    assert Capabilities.of(Claims()) == Capabilities(ttl=True)
    claimed = check(
        InMemoryStore(index=index_config()),
        capabilities=Capabilities(vectors=True, async_=False),
        only=["vectors.ranking", "search.query-without-index", "twins.put"],
    )
    assert claimed["vectors.ranking"].outcome is Outcome.PASS
    assert claimed["search.query-without-index"].outcome is Outcome.NOT_APPLICABLE
    assert claimed["twins.put"].outcome is Outcome.NOT_APPLICABLE


def test_report_as_json_and_text():
    report = check(InMemoryStore(), only=["key.*", "aliasing.*"], about={"x": "1.0"})
    document = json.loads(report.json())
    assert document["schema"] == 1
    assert document["about"] == {"x": "1.0"}
    assert document["counts"] == report.counts
    assert {one["name"] for one in document["properties"]} == {
        one.name for one in report.results
    }
    assert report.failed == ("aliasing.get", "aliasing.search", "aliasing.put")
    text = report.text()
    assert "InMemoryStore, sync methods (x 1.0)" in text
    assert "aliasing.get  [data loss]" in text
    assert "key.case" not in text
    assert "key.case" in report.text(passed=True)
    with pytest.raises(ConformanceFailed) as refused:
        report.require()
    assert refused.value.failed == report.failed
    assert isinstance(refused.value, HoldoverError)
    assert report.lacking == report.failed
    with pytest.raises(KeyError):
        report["none"]


def test_two_runs_say_the_same():
    first, second = (check(InMemoryStore(), only=["model.*", "validation.*"])
                     for _ in range(2))  # fmt: skip
    assert first.results == second.results


def test_the_seed_makes_other_operations_and_is_named():
    class Forgetful(InMemoryStore):
        """Loses a put now and then, by its value."""

        def batch(self, ops):
            return super().batch(
                [
                    op
                    for op in ops
                    if not (isinstance(op, PutOp) and "7" in str(op.value))
                ]
                or [PutOp(("nowhere",), "k", None)]
            )

    details = set()
    for seed in (1, 2):
        report = check(Forgetful(), only=["model.single-operations"], seed=seed)
        detail = report["model.single-operations"].detail
        assert f"seed {seed}: operation" in detail
        details.add(detail)
    assert len(details) == 2


def test_nothing_is_known_of_a_store_of_the_same_name():
    class PostgresStore(InMemoryStore):
        """Not LangGraph's."""

    other = type("PlainRedisStore", (object,), {"__module__": "elsewhere"})
    assert known_differences(other()) == ()
    assert known_differences(PostgresStore()) == ()
    assert known_differences(InMemoryStore()) == MEMORY


def test_equality_minds_types():
    assert same({"a": (1, [2])}, {"a": [1, (2,)]})
    assert same(float("nan"), float("nan"))
    for one, other in [
        (1, 1.0),
        (True, 1),
        (0.0, -0.0),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({1: "x"}, {"1": "x"}),
        ([1], [1, 2]),
        (float("nan"), 1.0),
    ]:
        assert not same(one, other), (one, other)
    assert digest({"a": 1, "b": [1]}) == digest({"b": [1], "a": 1})
    assert digest({"a": 1}) != digest({"a": 1.0})


def test_neither_pytest_nor_classic_is_imported():
    code = (
        "import sys, holdover.compat.testing as t; t.properties()\n"
        "names = ('pytest', 'hypothesis', 'langchain_classic', 'holdover.migrate')\n"
        "print([name for name in names if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
