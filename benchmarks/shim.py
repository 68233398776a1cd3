"""What the shim costs: to install, at the first old import, and at each use."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

Row = tuple[str, str, str, str, str]
LIMIT_MS = 1.0

INSTALL = """\
import time
import holdover.compat.shim as shim
{before}
began = time.perf_counter()
shim.install()
print(time.perf_counter() - began)
"""
FIRST = """\
import time, warnings
warnings.simplefilter("ignore")
from langchain_core import messages
from holdover.compat import shim
shim.install()
began = time.perf_counter()
from {module} import ConversationBufferMemory
print(time.perf_counter() - began)
"""
EACH = """\
import timeit, warnings
warnings.simplefilter("ignore")
from holdover.compat import shim
shim.install()
import {module} as module
module.ConversationBufferMemory
taken = timeit.repeat(lambda: module.ConversationBufferMemory, number=20_000)
print(min(taken) / 20_000)
"""


def _seconds(code: str, rounds: int = 7) -> float:
    """The best of some fresh processes: what is asked for once is measured once."""
    return min(
        float(
            subprocess.run(
                [sys.executable, "-c", code], check=True, capture_output=True, text=True
            ).stdout
        )
        for _ in range(rounds)
    )


def shim(items: int, folder: Path) -> Iterator[Row]:
    """Rows of the shim, each against doing without it."""
    for name, before in (
        ("nothing imported", ""),
        ("classic imported", "import langchain_classic.memory"),
    ):
        cost = _seconds(INSTALL.format(before=before)) * 1000
        met = "met" if cost <= LIMIT_MS else "MISSED"
        yield f"shim.install(), {name}", f"{cost * 1000:.0f} µs", "", "≤ 1 ms", met
    for name, code, unit, scale in (
        ("the first import of an old path", FIRST, "ms", 1e3),
        ("each use of a name through its old module", EACH, "µs", 1e6),
    ):
        old = _seconds(code.format(module="langchain.memory"))
        new = _seconds(code.format(module="holdover.compat"))
        cost = f"{old * scale:.1f} {unit}"
        yield f"{name}, against ours", cost, f"{old / new:.2f}×", "", ""
