"""What the page of the shim shows works, and it names every switch."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

from holdover.compat import SimpleMemory, shim

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "shim.md").read_text("utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.filterwarnings("ignore::holdover.compat.shim.LegacyImportWarning")
@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_each_example_runs(number, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    memory = SimpleMemory(memories={"tea": "green"})
    (tmp_path / "memory.pkl").write_bytes(pickle.dumps(memory))
    space = {}
    try:
        exec(compile(EXAMPLES[number], PAGE[:12], "exec", dont_inherit=True), space)
    finally:
        shim.uninstall()

    if "memory" in space:
        assert space["memory"] == memory
    else:
        found = space["ConversationBufferMemory"]
        assert found.__module__ == "holdover.compat.buffer"


def test_the_switch_is_the_folder_that_is_shown():
    (code,) = re.findall(r"python -c '(.*?)'", PAGE)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    program = (
        "from langchain.memory import SimpleMemory; print(SimpleMemory.__module__)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": done.stdout.strip()},
    )
    assert run.stdout == "holdover.compat.simple\n"


def test_every_variable_and_name_is_on_the_page():
    sources = (ROOT / "compat" / "holdover" / "compat" / "shim").rglob("*.py")
    used = {
        name
        for source in sources
        for name in re.findall(r"HOLDOVER_[A-Z_]+", source.read_text("utf-8"))
    }
    assert used == set(re.findall(r"HOLDOVER_[A-Z_]+", PAGE))
    named = {"Report", "Use"}  # what `report()` gives
    assert all(
        f"shim.{name}" in PAGE or name in PAGE for name in {*shim.__all__} - named
    )
