"""The quickstart works as it is written: its blocks, in order, in a clean folder."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_blocks_run_in_order(tmp_path):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    tools = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    said = []
    (_, install), *rest = BLOCK.findall(
        (ROOT / "docs/quickstart.md").read_text("utf-8")
    )
    assert "pip install ." in install  # as in the README, where it is tried
    for language, code in rest:
        command = ["bash", "-euc"] if language == "sh" else [sys.executable, "-c"]
        done = subprocess.run(
            [*command, code],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
        said.append(done.stdout)
    scanned, moved, looked, read, beside, kept, undone = said
    assert "41" in scanned
    assert "41 of 41" in moved
    assert "41 of 41" in looked
    assert "New York is where Ana's sister moved in 2021." in read
    assert len(read.splitlines()) == 13
    assert beside == kept == "New York is where Ana's sister moved in 2021.\n"
    assert "41" in undone
