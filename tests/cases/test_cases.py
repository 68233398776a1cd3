"""Public reports of faults in the classic classes: seen with them, not with ours.

Each script in `scripts/` shows one fault, with the imports of an old application. It
runs as it is with the classic package, and with those imports replaced by ours.
"""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def _running():
    spec = importlib.util.spec_from_file_location("running", HERE / "running.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


running = _running()
#: It takes a module away from its process, so it has one of its own.
ALONE = "sql_history_without_greenlet"
#: It shows what happens only once in a process.
FIRST = "deprecation_noise"
OTHERS = [name for name in running.names() if name not in (ALONE, FIRST)]
NAMES = [ALONE, FIRST, *OTHERS]
#: Faults of former releases, which have to stay away.
FIXED_IN_CLASSIC = ("output_beside_messages", "tool_calls_in_text")
#: What the classic package needs to show its fault.
CLASSIC_NEEDS = {
    "kg_async_save": "networkx",
    "kg_object_with_a_comma": "networkx",
    "kg_triple_without_brackets": "networkx",
    "kg_two_facts_of_a_pair": "networkx",
    "sql_history_engines": "greenlet",
    "sql_history_in_unicode": "greenlet",
    "sql_history_old_argument": "greenlet",
    "window_over_an_async_engine": "greenlet",
    "file_with_many_writers": "a race that is not always lost",
}
#: What we need of it ourselves.
OURS_NEEDS = {"window_over_an_async_engine": ("greenlet", "aiosqlite")}
NEEDS = {
    **dict.fromkeys(("sql_history_engines", "sql_history_old_argument"), "sqlalchemy"),
    **dict.fromkeys(
        ("sql_history_in_unicode", "sql_history_without_greenlet"), "sqlalchemy"
    ),
    "postgres_that_is_not_there": "psycopg",
    # The vector store in memory counts with it.
    **dict.fromkeys(
        ("vector_duplicates", "vector_of_one_user", "vector_query_of_messages"), "numpy"
    ),
}

#: Reports about other parts, which no import can replace: what we do about each, and
#: the test that says so.
ELSEWHERE = {
    "prefixes of messages (langchain#7285)": (
        "a message cannot carry a prefix, `get_buffer_string` has its own: we warn",
        "tests/cases/scripts/prefixes_with_messages.py",
    ),
    "RunnableWithMessageHistory loses a turn (langchain#24713)": (
        "langchain-core's own class; our histories work under it",
        "tests/compat",
    ),
    "a factory of histories that is async (langchain#32641)": (
        "langchain-core's own class awaits nothing",
        "tests/compat",
    ),
    "`apply` of a chain loads no memory (langchain#20785)": (
        "the chain's own method; with `invoke` and `batch` ours is loaded",
        "tests/compat/test_upstream_ground_chains.py",
    ),
    "a chain with a memory in a sequence (langchain#6768)": (
        "mended in the classic package",
        "tests/compat/test_upstream_ground_chains.py",
    ),
    "a chain that does not stream (langchain#11945)": (
        "the chain's own method; the answer is saved once",
        "tests/compat/test_upstream_ground_chains.py",
    ),
    "a memory that is no BaseMemory is refused by a chain": (
        "ours are instances of the classic bases",
        "tests/parity/scenarios/chat.py",
    ),
    "`scan` of Upstash never ends": (
        "shown with a stub of the client, which ours does not use",
        "tests/compat/test_redis_entity_stores.py",
    ),
    "a Redis that does not tell of clusters (langchain#22845)": (
        "a function of langchain-community that ours does not call",
        "tests/compat/stores/test_redis_connecting.py",
    ),
    "the order of a search (langgraph#8831)": (
        "messages are read by their keys",
        "tests/compat/test_message_keys.py",
    ),
    "an async store called from its own loop (langgraph#7857)": (
        "refused with a sentence",
        "tests/compat/stores/test_backend.py",
    ),
    "values that only a store in memory takes": (
        "converted before they are written",
        "tests/compat/test_records.py",
    ),
    "`delete(None)` of a vector store in memory (langchain#40509)": (
        "a vector memory removes by ids",
        "tests/cases/scripts/vector_clear.py",
    ),
    "numbers as labels (langgraph#7427), siblings, children (CVE-2026-71433)": (
        "labels are encoded, and every result is filtered",
        "tests/compat/stores/test_filtering.py",
    ),
    "lifetimes of a SQLite store (langgraph#8902, #8806)": (
        "the end is in the record",
        "tests/compat/test_repository_reading.py",
    ),
    "a vector that stays (langgraph#8214), a store without lifetimes": (
        "`probe` tells",
        "tests/compat/stores/test_probing.py",
    ),
    "old import paths are gone (docs#1646, langchain#4327)": (
        "every name is in `holdover.compat`",
        "tests/lanes/test_lane.py",
    ),
}


def outputs(library, redis_url):
    """What each script printed."""
    first = in_a_process(library, [ALONE], redis_url)
    return {**first, **in_a_process(library, [FIRST, *OTHERS], redis_url)}


def in_a_process(library, chosen, redis_url):
    roots = [str(ROOT / "compat"), str(ROOT / "migrate")]
    env = {
        **os.environ,
        "CASE_REDIS_URL": redis_url,
        "PYTHONPATH": os.pathsep.join(
            [*roots, *filter(None, [os.environ.get("PYTHONPATH")])]
        ),
        "PYTHONWARNINGS": "ignore",
        "HOLDOVER_LEGACY": "",
    }
    done = subprocess.run(
        [sys.executable, HERE / "running.py", library, *chosen],
        cwd=HERE,
        env=env,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


def there(module):
    return importlib.util.find_spec(module) is not None


@pytest.fixture(scope="module")
def with_ours(redis_server):
    return outputs("ours", redis_server)


@pytest.fixture(scope="module")
def with_classic(redis_server):
    if not there("langchain_classic"):
        pytest.skip("the scripts name the package langchain_classic")
    return outputs("classic", redis_server)


@pytest.mark.parametrize("name", NAMES)
def test_ours_is_without_the_fault(name, with_ours):
    needs = OURS_NEEDS.get(name, ()), NEEDS.get(name)
    for module in (*needs[0], *filter(None, needs[1:])):
        if not there(module):
            pytest.skip(f"needs {module}")
    assert with_ours[name].startswith("OK"), with_ours[name]


@pytest.mark.parametrize("name", NAMES)
def test_classic_shows_the_fault(name, with_classic):
    needs = CLASSIC_NEEDS.get(name, "")
    if " " in needs or (needs and not there(needs)):
        pytest.skip(f"classic needs {needs}")
    expected = "OK" if name in FIXED_IN_CLASSIC else "BUG"
    assert with_classic[name].startswith(expected), with_classic[name]


def test_every_script_says_whose_report_it_is():
    for name in NAMES:
        text = (HERE / "scripts" / f"{name}.py").read_text("utf-8")
        assert text.startswith('"""'), name


@pytest.mark.parametrize("report", ELSEWHERE)
def test_what_is_elsewhere_is_there(report):
    assert (ROOT / ELSEWHERE[report][1]).exists()
