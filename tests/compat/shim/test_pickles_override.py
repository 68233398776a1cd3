"""With `override=True`, old pickles are of our classes, whatever is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ALL = Path(__file__).with_name("test_pickles.py")
_RUN = """
import os, sys
os.environ["HOLDOVER_SHIM"] = "silent"
import warnings
warnings.simplefilter("ignore")
from holdover.compat import shim
shim.install(override=True)
import pytest
options = ["-q", "-p", "no:cacheprovider", "--assert=plain"]
sys.exit(pytest.main([sys.argv[1], *options]))
"""
_KINDS = """
import os, pickle, sys, warnings
os.environ["HOLDOVER_SHIM"] = "silent"
warnings.simplefilter("ignore")
from holdover.compat import shim
shim.install(override=True)
sys.path.insert(0, sys.argv[1])
from old_pickles import PICKLES
for old in PICKLES:
    if old.name != "chat_message_history":
        with old.path.open("rb") as file:
            print(old, type(shim.load(file)).__module__)
"""


def python(program, argument):
    done = subprocess.run(
        [sys.executable, "-c", program, str(argument)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return done.returncode, done.stdout


def test_each_is_ours():
    code, said = python(_KINDS, ALL.parents[2])
    kinds = dict(line.split() for line in said.splitlines())

    assert code == 0
    assert len(kinds) > 90
    assert {
        one for one in kinds if not kinds[one].startswith("holdover.compat")
    } == set()


@pytest.mark.slow
def test_and_all_is_as_it_is_without():
    code, said = python(_RUN, ALL)

    assert code == 0, said[-3000:]
    assert " passed" in said
