"""Run the lanes: resolve, install, import, and test each set of versions.

    python tests/lanes/run.py                 everything, as CI does
    python tests/lanes/run.py bare --no-tests  one lane, imports only

Every lane file is resolved together with Holdover and its extras, highest and
lowest, for every Python we support. The highest and the lowest are installed on
the running Python and every module is imported there; the compat tests run on
the highest of each lane and on the lowest of `LOWEST_TESTED`, but for what the
suite itself shows: it runs on the highest of `SUITE`. Needs `uv` (extra `dev`)
and the package index.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LANES = tuple(sorted(path.stem for path in HERE.glob("*.txt")))
PYTHONS = ("3.11", "3.12", "3.13")
RESOLUTIONS = ("highest", "lowest-direct")
EXTRAS = ("postgres", "test-tools")
LOWEST_TESTED = "bare"
#: `pip install '.[test]' && pytest` is this lane.
SUITE = "current"
#: Where these are as they are there, the tests of the stores show nothing new.
BELOW_STORES = {
    "langgraph-checkpoint",
    "langgraph-checkpoint-postgres",
    "langgraph-checkpoint-sqlite",
    "orjson",
    "psycopg",
    "psycopg-pool",
    "pydantic",
    "redis",
    "sqlite-vec",
}
STORES = "tests/compat/stores"
# Like pip: trust the certificates that the system trusts, and fetch no Python.
UV_SETTINGS = {
    "UV_NATIVE_TLS": "1",
    "UV_SYSTEM_CERTS": "1",
    "UV_PYTHON_DOWNLOADS": "never",
}
TESTED = ("tests/lanes", "tests/compat", "tests/parity", "tests/cases")
# Long, and about the database or about text, not about the versions of a lane.
LEFT_OUT = (
    *("-m", "not slow"),
    "--ignore=tests/compat/test_hostile_names.py",
    "--ignore=tests/compat/test_many_at_once.py",
    "--ignore=tests/compat/test_many_processes.py",
    "--ignore=tests/compat/stores/test_redis_concurrency.py",
    "--ignore=tests/compat/stores/test_redis_connecting.py",
    "--ignore=tests/compat/stores/test_redis_layout.py",
    "--ignore=tests/compat/stores/test_upstash_rest.py",
    "--ignore=tests/compat/test_extraction.py",
    "--ignore=tests/compat/test_resolve.py",
)


class Step(NamedTuple):
    """One thing that was tried."""

    name: str
    ok: bool
    seconds: float
    output: str
    last: str = ""


def find_uv() -> str:
    """Return the `uv` beside this interpreter, else the one on the path."""
    beside = Path(sys.executable).parent / "uv"
    found = str(beside) if beside.exists() else shutil.which("uv")
    if not found:
        sys.exit("The lanes need uv: pip install -e '.[dev]'")
    return found


def run(name: str, *command: str, env: dict[str, str] | None = None) -> Step:
    """Run a command in the root of the project and say how it went."""
    began = time.monotonic()
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**UV_SETTINGS, **os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    lines = done.stdout.strip().splitlines()
    seconds = time.monotonic() - began
    ok = done.returncode == 0
    step = Step(name, ok, seconds, done.stdout, lines[-1] if lines else "")
    show = f"  {step.last}" if "tests" in name else ""
    print(f"{'ok  ' if ok else 'FAIL'} {name:<46} {seconds:5.1f} s{show}", flush=True)
    return step


def resolve(uv: str, lane: str, resolution: str, python: str, out: Path) -> Step:
    """Work out the versions of a lane without installing them."""
    extras = [argument for extra in EXTRAS for argument in ("--extra", extra)]
    return run(
        f"resolve {lane} {resolution} {python}",
        *(uv, "pip", "compile", "--quiet", "--no-header", "--no-annotate"),
        *("--resolution", resolution, "--python-version", python, *extras),
        *("--output-file", str(out), "pyproject.toml", f"tests/lanes/{lane}.txt"),
    )


def is_tested(lane: str, resolution: str) -> bool:
    """Whether more than the imports is tried."""
    if resolution == "highest":
        return lane != SUITE
    return lane == LOWEST_TESTED


def folders_of(lane: str) -> tuple[str, ...]:
    """What is tested in a lane; beside `legacy`, the comparisons show nothing new."""
    return TESTED[:2] if lane.startswith("legacy-") else TESTED


def has_stores_of_suite(work: Path, lane: str, resolution: str) -> bool:
    """Whether what is below our stores has the versions the suite runs on."""
    found = []
    for path in (
        pins(work, lane, resolution, running()),
        pins(work, SUITE, "highest", running()),
    ):
        lines = path.read_text().splitlines() if path.exists() else []
        found.append({x for x in lines if re.split(r"[\[=]", x)[0] in BELOW_STORES})
    return found[0] == found[1] != set()


def try_lane(
    uv: str, lane: str, resolution: str, work: Path, *, tests: bool, workers: int
) -> list[Step]:
    """Install one resolution of a lane, import every module, run the tests."""
    name = f"{lane} {resolution}"
    venv = work / f"venv-{lane}-{resolution}"
    python = str(venv / "bin" / "python")
    pinned = str(pins(work, lane, resolution, running()))
    wheel = str(next(work.glob("*.whl")))
    install = (uv, "pip", "install", "--quiet", "--python", python)
    steps = [run(f"venv    {name}", uv, "venv", "-q", "-p", sys.executable, str(venv))]
    steps.append(run(f"install {name}", *install, "-r", pinned))
    steps.append(run(f"holdover {name}", *install, "--no-deps", wheel))
    if not all(step.ok for step in steps):
        return steps
    full = tests and is_tested(lane, resolution)
    folders = folders_of(lane) if full else TESTED[:1]
    options = [*LEFT_OUT]
    if full and has_stores_of_suite(work, lane, resolution):
        options.append(f"--ignore={STORES}")
    if full and workers > 1:
        options += ["-n", str(workers)]
    steps.append(
        run(
            f"{'tests  ' if full else 'imports'} {name}",
            *(
                python,
                "-m",
                "pytest",
                "-q",
                "-p",
                "no:cacheprovider",
                *options,
                *folders,
            ),
            env={"HOLDOVER_LANE": lane},
        )
    )
    shutil.rmtree(venv)
    return steps


def pins(work: Path, lane: str, resolution: str, python: str) -> Path:
    """Where the resolved versions of a lane stand."""
    return work / f"{lane}.{resolution}.{python}.txt"


def running() -> str:
    """Return the version of this interpreter as a resolver names it."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def main() -> int:
    """Run what was asked for and return 0 when all of it went well."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("lanes", nargs="*", metavar="LANE", help=", ".join(LANES))
    parser.add_argument("--resolve-only", action="store_true")
    parser.add_argument("--no-tests", action="store_true", help="imports only")
    cores = os.cpu_count() or 1
    # Tests wait as well as work.
    parser.add_argument("--jobs", type=int, default=min(4, cores + 1))
    options = parser.parse_args()
    lanes = options.lanes or LANES
    unknown = set(lanes) - set(LANES)
    if unknown:
        parser.error(f"no such lane: {', '.join(sorted(unknown))}")

    uv, began = find_uv(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="holdover-lanes-") as folder:
        work = Path(folder)
        pythons = dict.fromkeys((running(), *PYTHONS))
        with ThreadPoolExecutor(2 * options.jobs) as pool:  # waits for the index
            steps = list(
                pool.map(
                    lambda job: resolve(uv, *job, pins(work, *job)),
                    [(la, r, p) for p in pythons for la in lanes for r in RESOLUTIONS],
                )
            )
        if not options.resolve_only and all(step.ok for step in steps):
            steps.append(run("wheel", uv, "build", "-q", "--wheel", "-o", str(work)))
        if not options.resolve_only and all(step.ok for step in steps):
            jobs = [(lane, r) for lane in lanes for r in RESOLUTIONS]
            # The longest first.
            jobs.sort(key=lambda job: (has_stores_of_suite(work, *job), job))
            jobs.sort(key=lambda job: not is_tested(*job))
            each = {"tests": not options.no_tests, "workers": cores // options.jobs}
            with ThreadPoolExecutor(options.jobs) as pool:
                for tried in pool.map(
                    lambda job: try_lane(uv, *job, work, **each), jobs
                ):
                    steps.extend(tried)

    failed = [step for step in steps if not step.ok]
    for step in failed:
        print(f"\n--- {step.name}\n{step.output}")
    took = time.monotonic() - began
    print(f"\nlanes: {len(steps) - len(failed)} ok, {len(failed)} failed, {took:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
