"""The switch for processes that cannot be edited: a folder in `PYTHONPATH`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from compat.shim.conftest import HAS_OLD

from holdover.compat import shim

USES = "from langchain.memory import SimpleMemory; print(SimpleMemory.__module__)"


def run(*arguments, path=(), **environment):
    search = [shim.startup_path(), *path, os.environ.get("PYTHONPATH", "")]
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ
        | {"HOLDOVER_SHIM": "silent"}
        | environment
        | {"PYTHONPATH": os.pathsep.join(str(one) for one in search if one)},
    )


@pytest.mark.skipif(HAS_OLD, reason="langchain 0.3 has the old modules")
def test_it_is_off_without_the_folder_and_on_with_it():
    off = subprocess.run([sys.executable, "-c", USES], capture_output=True, check=False)
    assert off.returncode == 1
    assert run("-c", USES).stdout == "holdover.compat.simple\n"


@pytest.mark.skipif(HAS_OLD, reason="langchain 0.3 has the old modules")
def test_it_reaches_children():
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {USES!r}])"
    assert run("-c", code).stdout == "holdover.compat.simple\n"


def test_it_runs_the_sitecustomize_that_it_hides(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("print('theirs', __name__, __file__)\n")
    done = run(
        "-c", "import sitecustomize; print(sitecustomize.__file__)", path=[tmp_path]
    )
    theirs = str(tmp_path / "sitecustomize.py")
    assert done.stdout == f"theirs sitecustomize {theirs}\n{theirs}\n"
    assert done.stderr == ""


def test_it_costs_little_when_nothing_old_is_imported():
    code = "import sys; print([x for x in sys.modules if x.startswith('langchain')])"
    assert run("-c", code).stdout == "[]\n"


def test_a_python_without_holdover_starts_as_ever():
    done = subprocess.run(
        [sys.executable, "-S", "-c", "import sitecustomize; print('up')"],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": shim.startup_path(), "PATH": os.environ.get("PATH", "")},
    )
    assert (done.stdout, done.stderr) == ("up\n", "")


def test_a_mistyped_word_is_said_and_python_starts():
    done = run("-c", "print('up')", HOLDOVER_SHIM="loud")
    assert done.stdout == "up\n"
    assert "Set it to error, once or silent." in done.stderr
    assert "Traceback" not in done.stderr


def test_the_folder_holds_nothing_else():
    names = {path.name for path in Path(shim.startup_path()).iterdir()}
    assert names - {"__pycache__"} == {"sitecustomize.py"}
