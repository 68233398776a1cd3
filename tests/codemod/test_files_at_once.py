"""Many files in several processes: order, memory, and processes that die."""

import multiprocessing
import os

import pytest
from mortal import number_of, process_of

from holdover.migrate.codemod import pool


def paths_of(names):
    return [(name, not name.startswith("idle")) for name in names]


@pytest.mark.parametrize("number", [0, 1, 7, 8, 9, 100])
def test_results_come_in_the_order_of_the_paths(number):
    names = [
        f"{['slow', 'idle', 'f'][min(2, n % 50)]}{'x' * (n % 7)}{n}"
        for n in range(number)
    ]
    got = list(pool.in_order(number_of, paths_of(names), (), jobs=2))
    assert got == [
        (name, None if name.startswith("idle") else len(name)) for name in names
    ]


@pytest.mark.parametrize(
    "dead", [{0}, {59}, {8}, {0, 1, 2}, {5, 30}, set(range(0, 60, 7))]
)
def test_a_process_that_dies_costs_its_path(dead):
    names = [f"file{n:02}" for n in range(60)]
    killed = {names[n] for n in dead}
    got = list(pool.in_order(number_of, paths_of(names), killed, jobs=2))
    assert [path for path, _ in got] == names
    assert {path for path, one in got if one == pool.Died()} == killed
    assert all(one in (6, pool.Died()) for _, one in got)


def test_the_work_is_shared_and_paths_are_taken_as_needed():
    taken = []

    def endless():
        for number in range(1_000_000):
            taken.append(number)
            yield f"f{number}", True

    results = pool.in_order(process_of, endless(), (), jobs=2)
    used = {next(results)[1] for _ in range(80)}
    results.close()
    assert len(used) == 2
    assert os.getpid() not in used
    assert len(taken) < 200
    assert not {one.pid for one in multiprocessing.active_children()} & used
