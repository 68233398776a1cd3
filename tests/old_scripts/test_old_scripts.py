"""Old applications, unchanged or rewritten, do what they did on their release.

`scripts.toml` lists them; docs/measure/old_scripts.py has recorded what they printed.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from old_scripts import imports, playing

from holdover.compat import shim
from holdover.compat.shim.entries import knows_module

pytest.importorskip("langchain_classic", reason="old chains need langchain-classic")
pytest.importorskip("langchain_community", reason="and langchain-community")
pytest.importorskip("libcst", reason="the codemod needs it")
pytest.importorskip("sqlalchemy", reason="the SQL histories need it")
if importlib.metadata.version("langchain").startswith("0."):
    pytest.skip("in LangChain 0.3 they run as they are", allow_module_level=True)
if not hasattr(os, "fork"):
    pytest.skip("the scripts are run by fork", allow_module_level=True)

SCRIPTS = playing.scripts()
GONE_ON = [script for script in SCRIPTS if script.left]
HOLDOVER = [sys.executable, "-m", "holdover.migrate.cli"]
#: What the rewritten scripts wait for.
IMPORTED = (
    "holdover.compat.entity",
    "holdover.compat.summary_buffer",
    "langchain_classic.agents",
    "langchain_classic.chains.conversation.base",
    "langchain_classic.chains.llm",
    "langchain_community.chat_models.fake",
    "langchain_community.llms.fake",
)
ERAS = {
    "0.0.100",
    "0.0.150",
    "0.0.187",
    "0.0.200",
    "0.0.300",
    "0.0.354",
    "0.1.20",
    "0.2.17",
    "0.3.27",
}


def each(scripts):
    return pytest.mark.parametrize("script", scripts, ids=lambda one: one.name)


def environment(home: Path, redis_url: str = "") -> dict[str, str]:
    """With the path of our own interpreter, for what is installed beside it."""
    path = {name: os.environ[name] for name in ["PYTHONPATH"] if name in os.environ}
    return playing.environment(home, redis_url, **path)


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    return tmp_path_factory.mktemp("old_scripts")


@pytest.fixture(scope="module")
def under_exec(room):
    """Plays scripts under `holdover exec`, from one process."""
    player = playing.Player([*HOLDOVER, "exec"], environment(room), room / "exec.log")
    yield player
    player.close()


@pytest.fixture(scope="module")
def plainly(room):
    """Plays scripts as Python does, from one process that has imported a lot."""
    player = playing.Player(
        [sys.executable], environment(room), room / "plain.log", IMPORTED
    )
    yield player
    player.close()


@pytest.fixture
def served(request):
    """What a script needs to run: the URL of a server, if it asks for one."""

    def serve(script):
        if "faiss" in script.needs:
            pytest.importorskip("faiss", reason="needs `pip install faiss-cpu`")
        if "redis" in script.needs:
            return request.getfixturevalue("redis_url")
        return ""

    return serve


@pytest.fixture(scope="module")
def rewritten(room):
    """The scripts in one folder, rewritten; and how the command ended."""
    folder = room / "rewritten"
    for script in SCRIPTS:
        script.copy_to(folder / script.name)
    return folder, codemod("--write", ".", folder=folder)


def codemod(*arguments, folder):
    return subprocess.run(
        [*HOLDOVER, "codemod", *arguments],
        cwd=folder,
        env=environment(folder.parent),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def move_in(script, folder, url):
    """Bring what the old release left before its last run."""
    for path in script.left.rglob("*"):
        if path.is_file() and path.name != playing.REDIS:
            (folder / path.relative_to(script.left)).write_bytes(path.read_bytes())
    if url:
        playing.load_redis(script.left / playing.REDIS, url)


def told(journal: Path):
    """The uses of old paths that a run noted."""
    if not journal.exists():
        return []
    return [json.loads(line) for line in journal.read_text().splitlines()]


@pytest.fixture
def unchanged(under_exec, served, tmp_path):
    """Plays runs of an unchanged script; gives transcripts, errors and uses."""

    def run(script, *, goes_on=False):
        url = served(script)
        folder = tmp_path / script.name
        folder.mkdir()
        script.copy_to(folder)
        if goes_on:
            move_in(script, folder, url)
        journal = tmp_path / "uses.jsonl"
        more = {"REDIS_URL": url, "HOLDOVER_SHIM_REPORT": str(journal)}
        transcripts, errors = [], []
        for one in script.runs[-1:] if goes_on else script.runs:
            if script.override:  # before all imports, so with a process of its own
                command = [*HOLDOVER, "exec", "--override"]
                env = {**environment(tmp_path, url), **more}
                transcript, error = playing.play(script, one, folder, command, env)
            else:
                transcript, error = under_exec.play(script, one, folder, **more)
            transcripts.append(transcript)
            errors.append(error)
        return transcripts, "".join(errors), told(journal)

    return run


@each(SCRIPTS)
def test_unchanged_script_gives_what_its_release_gave(script, unchanged, lost):
    transcripts, errors, uses = unchanged(script)
    assert transcripts == script.expected(), errors
    reported = {(_within(use["file"], script), use["line"], use["old"]) for use in uses}
    for one in imported_by(script):
        if not one.runs or (one.module, one.name) not in lost:
            continue
        where = (one.file, one.line)
        if one.name and not knows_module(f"{one.module}.{one.name}"):
            assert (*where, f"{one.module}.{one.name}") in reported
        else:  # a module is named where something of it is used
            path = ".".join(filter(None, (one.module, one.name)))
            assert any(old.startswith(path + ".") for _, _, old in reported), path
    for use in uses:
        assert use["code"].startswith("HO")
        assert use["new"] or use["old"].endswith(".*")


@each(GONE_ON)
def test_unchanged_script_goes_on_where_the_old_release_stopped(script, unchanged):
    transcripts, errors, _ = unchanged(script, goes_on=True)
    assert transcripts == script.expected()[-1:], errors


@each(SCRIPTS)
def test_rewritten_script_gives_the_same_without_the_shim(
    script, rewritten, plainly, served, tmp_path
):
    transcripts, errors = play_rewritten(
        script, rewritten, plainly, served(script), tmp_path
    )
    assert transcripts == script.expected(), errors
    assert "LegacyImportWarning" not in errors


@each([script for script in GONE_ON if not script.fresh])
def test_rewritten_script_goes_on_where_the_old_release_stopped(
    script, rewritten, plainly, served, tmp_path
):
    transcripts, errors = play_rewritten(
        script, rewritten, plainly, served(script), tmp_path, goes_on=True
    )
    assert transcripts == script.expected()[-1:], errors


def test_what_a_rewritten_script_cannot_unpickle_the_shim_loads():
    script = next(one for one in SCRIPTS if one.name == "pickled_memory")
    pickled = (script.left / "fair.pkl").read_bytes()
    state = shim.loads(pickled)
    shown = script.expected()[0]
    assert state["all"].buffer in shown
    assert all(repr(message.content) in shown for message in state["last"].buffer)
    command = [
        sys.executable,
        "-c",
        "import pickle, sys; pickle.load(sys.stdin.buffer)",
    ]
    plain = subprocess.run(command, input=pickled, capture_output=True, check=False)
    assert b"No module named 'langchain.memory'" in plain.stderr


def play_rewritten(script, rewritten, plainly, url, tmp_path, *, goes_on=False):
    folder = tmp_path / script.name
    for path in script.files:
        (folder / path.parent).mkdir(parents=True, exist_ok=True)
        source = rewritten[0] / script.name / path
        (folder / path).write_bytes(source.read_bytes())
    if goes_on:
        move_in(script, folder, url)
    played = [
        plainly.play(script, run, folder, REDIS_URL=url)
        for run in (script.runs[-1:] if goes_on else script.runs)
    ]
    return [one for one, _ in played], "".join(errors for _, errors in played)


def test_a_second_rewrite_changes_nothing(rewritten):
    folder, first = rewritten
    assert first.returncode == 1, first.stderr  # changes were made
    before = contents(folder)
    second = codemod("--write", ".", folder=folder)
    assert (second.returncode, second.stdout) == (0, ""), second.stderr
    assert contents(folder) == before


def test_every_script_was_rewritten_and_nothing_is_left_to_a_person(rewritten):
    folder, first = rewritten
    for script in SCRIPTS:
        now = folder / script.name
        same = [
            path
            for path in script.files
            if (now / path).read_bytes() == (script.folder / path).read_bytes()
        ]
        assert same != script.files, script.name
    for path, content in contents(folder).items():
        assert b"TODO" not in content, path
    assert "left for a person" not in first.stderr


def test_a_rewritten_script_imports_nothing_that_is_lost(rewritten, lost):
    folder, _ = rewritten
    for script in SCRIPTS:
        for path in script.files:
            for one in imports.imports_of(folder / script.name, path):
                assert (one.module, one.name) not in lost, (script.name, one)


def test_what_only_a_type_checker_reads_is_rewritten_as_well(rewritten):
    folder, _ = rewritten
    asked = {
        (one.module, one.name)
        for script in SCRIPTS
        for path in script.files
        for one in imports.imports_of(folder / script.name, path, holdover=True)
        if not one.runs
    }
    assert ("holdover.compat", "BaseChatMemory") in asked
    for module, name in asked:
        assert hasattr(importlib.import_module(module), name)


@pytest.mark.parametrize("name", ["package_app", "file_history"])
def test_the_command_writes_a_report_and_ends_as_the_script_does(name, tmp_path):
    script = next(one for one in SCRIPTS if one.name == name)
    folder = tmp_path / name
    folder.mkdir()
    script.copy_to(folder)
    report = tmp_path / "report.json"
    command = [*HOLDOVER, "exec", "--report", str(report)]
    transcript, _ = playing.play(
        script, script.runs[0], folder, command, environment(tmp_path)
    )
    assert transcript == script.expected()[0]
    document = json.loads(report.read_text())
    assert document["version"] == 1
    files = {_within(use["file"], script) for use in document["uses"]}
    assert files == {
        one.file for one in imported_by(script) if one.module.startswith("langchain.")
    }
    assert str(report) in report.with_suffix(".txt").read_text()


def test_a_rewritten_package_runs_from_a_cold_start(rewritten, tmp_path):
    script = next(one for one in SCRIPTS if one.name == "package_app")
    folder = rewritten[0] / script.name
    command = [sys.executable, "-W", "ignore::DeprecationWarning"]
    for run, expected in zip(script.runs, script.expected(), strict=True):
        transcript, errors = playing.play(
            script, run, folder, command, environment(tmp_path)
        )
        assert transcript == expected, errors


@each(SCRIPTS)
def test_recording_is_of_the_release_the_script_is_written_for(script):
    recorded = json.loads((playing.HERE / "recorded.json").read_text())
    assert recorded[script.name]["langchain"] == script.release
    assert len(script.expected()) == len(script.runs)


def test_there_are_scripts_of_every_era():
    assert {script.release for script in SCRIPTS} == ERAS
    assert len({script.use for script in SCRIPTS}) == len(SCRIPTS)


def contents(folder):
    return {
        path.relative_to(folder): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _within(file, script):
    """A path as it is below the script's folder."""
    parts = Path(file).parts
    if script.name in parts:
        parts = parts[parts.index(script.name) + 1 :]
    return str(Path(*parts))


@cache
def imported_by(script):
    return [
        one for path in script.files for one in imports.imports_of(script.folder, path)
    ]


#: Says which of the names on stdin cannot be imported.
TRY = """
import importlib, json, sys, warnings
warnings.simplefilter("ignore")
lost = []
for module, name in json.load(sys.stdin):
    try:
        found = importlib.import_module(module)
        if name and name != "*" and not hasattr(found, name):
            importlib.import_module(f"{module}.{name}")
    except ImportError:
        lost.append([module, name])
json.dump(lost, sys.stdout)
"""


@pytest.fixture(scope="module")
def lost(room):
    """What the scripts import and cannot be had without the shim."""
    asked = {(one.module, one.name) for each in SCRIPTS for one in imported_by(each)}
    done = subprocess.run(
        [sys.executable, "-c", TRY],
        env=environment(room),
        input=json.dumps(sorted(asked)),
        capture_output=True,
        text=True,
        check=True,
    )
    return {tuple(one) for one in json.loads(done.stdout)}
