"""What must hold in every lane: the versions it says, and that all of us imports."""

import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

LANE = os.environ.get("HOLDOVER_LANE", "")
HERE = Path(__file__).resolve().parent

WALK = """
import importlib, pathlib
import {package}
root = pathlib.Path({package}.__file__).parent
names = []
for path in sorted(root.rglob("*.py")):
    parts = path.relative_to(root).with_suffix("").parts
    if parts[-1] == "__init__":
        parts = parts[:-1]
    if parts[-1:] != ("__main__",):
        names.append(".".join(("{package}", *parts)))
for name in names:
    importlib.import_module(name)
print(len(names))
"""


def python(code, *options):
    return subprocess.run(
        [sys.executable, *options, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("package", ["holdover.compat", "holdover.migrate"])
def test_every_module_imports(package):
    done = python(WALK.format(package=package))
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 3


def test_import_is_silent_and_leaves_classic_alone():
    code = (
        "import sys, holdover.compat\n"
        "print([m for m in ('langchain', 'langchain_classic', 'langchain_community')"
        " if m in sys.modules])"
    )
    done = python(code, "-W", "error")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
    assert done.stderr == ""


@pytest.mark.skipif(not LANE, reason="only in an environment made by run.py")
def test_lane_holds_what_its_file_says():
    packaging = pytest.importorskip("packaging.requirements")
    for line in (HERE / f"{LANE}.txt").read_text().splitlines():
        absent = re.fullmatch(r"# absent: (\S+)", line)
        if absent:
            with pytest.raises(importlib.metadata.PackageNotFoundError):
                importlib.metadata.version(absent[1])
        elif not line.startswith("#"):
            wanted = packaging.Requirement(line)
            assert importlib.metadata.version(wanted.name) in wanted.specifier


@pytest.mark.skipif(not LANE, reason="only in an environment made by run.py")
def test_lane_tests_the_installed_wheel():
    found = importlib.util.find_spec("holdover.compat")
    assert found is not None
    assert found.origin is not None
    assert Path(found.origin).is_relative_to(sys.prefix)


def test_old_classes_accept_ours():
    """An old chain accepts nothing but subclasses of its own base classes."""
    for module in ("langchain_classic", "langchain"):
        name = f"{module}.memory.entity"
        if importlib.util.find_spec(module) is None:
            continue
        if importlib.util.find_spec(f"{module}.memory") is None:
            continue
        code = (
            f"from {name} import BaseEntityStore as Theirs\n"
            "from holdover.compat import SQLiteEntityStore as Ours\n"
            "assert issubclass(Ours, Theirs)"
        )
        done = python(code)
        assert done.returncode == 0, done.stderr
        return
    pytest.skip("no classic memory classes in this environment")
