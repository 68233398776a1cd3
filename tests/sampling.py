"""What a run leaves out because it repeats, unless `HOLDOVER_EVERYTHING=1`.

A test that runs for a sample says so where it asks for one, and what else shows the
rest. `HOLDOVER_CHAOS_RUNS`, of the tests that kill, is apart from this.
"""

from __future__ import annotations

import os

import pytest

EVERYTHING = os.environ.get("HOLDOVER_EVERYTHING", "") not in ("", "0")


def sampled(some, rest):
    """The values that always run, and with everything, the rest of them."""
    return [*some, *rest] if EVERYTHING else list(some)


#: For what starts the command or many processes for each kind of target: a cluster
#: differs from one Redis in how the target speaks to it, and that is run everywhere
#: else (keys, rows, conflicts, ledger, kills).
without_cluster = pytest.mark.parametrize(
    "target", sampled(["sqlite", "postgres", "redis"], ["cluster"]), indirect=True
)
