"""`probe --full`: the conformance suite on a target, as text and as JSON."""

import json

from langgraph.store.memory import InMemoryStore
from moving import rows_of
from sampling import without_cluster

from holdover.compat.testing import properties


class Leaky(InMemoryStore):
    """Ignores the last label of a search."""

    def batch(self, ops):
        from langgraph.store.base import SearchOp

        return super().batch(
            [
                op._replace(namespace_prefix=op.namespace_prefix[:1])
                if isinstance(op, SearchOp)
                else op
                for op in ops
            ]
        )


@without_cluster
def test_a_target_of_ours_is_as_is_known_and_left_clean(command, target):
    command("probe", target)
    before = rows_of(target)
    shown = command("probe", target, "--full")
    assert shown.exit_code == 0, shown.stdout
    assert f"{len(properties())} properties" in shown.stdout
    assert "differs as declared:" in shown.stdout
    assert "fail:" not in shown.stdout
    assert rows_of(target) == before


def test_json_says_both_schemas(command, sqlite_target):
    shown = command("probe", sqlite_target, "--full", "--json")
    assert shown.exit_code == 0
    document = json.loads(shown.stdout)
    assert (document["schema"], document["command"], document["exit_code"]) == (
        1,
        "probe",
        0,
    )
    report = document["conformance"]
    assert report["schema"] == 1
    assert report["store"] == "HoldoverSqliteStore"
    assert len(report["properties"]) == len(properties())


def test_another_store_that_leaks_fails_by_name(command, tmp_path, monkeypatch):
    (tmp_path / "leaky_factory.py").write_text(
        "from test_cli_probe_store import Leaky\n\n\ndef make():\n    return Leaky()\n"
    )
    import sys
    import types

    module = types.ModuleType("test_cli_probe_store")
    module.Leaky = Leaky
    monkeypatch.setitem(sys.modules, "test_cli_probe_store", module)
    monkeypatch.syspath_prepend(str(tmp_path))
    shown = command("probe", "leaky_factory:make", "--full")
    assert shown.exit_code == 1
    assert "search.leak" in shown.stdout.partition("differs as declared")[0]
    assert "that should not come back" in shown.stdout
