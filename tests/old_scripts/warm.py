"""Runs scripts one after the other, each in a process forked from this one.

langchain-core, and what it needs, is imported once: that is most of what a script waits
for. More modules can be named as arguments; what is not named, each script imports in
an order of its own. How this is started decides how the scripts run: by `holdover
exec`, which has switched on the shim before the first line of this, or plainly.

A line of stdin, as JSON, is one run: its arguments, folder, environment and the files
that are its stdin, stdout and stderr. A line of stdout answers with the exit code.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import runpy
import sys
import threading
import traceback
from pathlib import Path

WANTED = (
    "pydantic.v1",
    "pydantic.dataclasses",
    "httpx",
    "jinja2",
    "langchain_core.language_models",
    "langchain_core.messages",
    "langchain_core.prompts",
    "langchain_core.tracers.event_stream",
    "langchain_core.vectorstores",
    "langsmith.client",
    "numpy",
    "redis",
    "requests",
    "sqlalchemy.ext.asyncio",
    "tenacity",
    "yaml",
)


def main() -> None:
    for name in (*WANTED, *sys.argv[1:]):
        with contextlib.suppress(ModuleNotFoundError):  # it only saves time
            importlib.import_module(name)
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _be(json.loads(line))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _be(job) -> None:
    """Become the run: what `python *run` would do."""
    os.chdir(job["folder"])
    os.environ.update(job["env"])
    for number, name, flags in (
        (0, "stdin", os.O_RDONLY),
        (1, "stdout", os.O_WRONLY | os.O_CREAT),
        (2, "stderr", os.O_WRONLY | os.O_CREAT),
    ):
        handle = os.open(job[name], flags)
        os.dup2(handle, number)
        os.close(handle)
    # They stay open until the process ends.
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, encoding="utf-8", closefd=False)  # noqa: SIM115
    run = job["run"]
    exit_code = 0
    try:
        if run[0] == "-m":
            sys.argv = run[1:]
            sys.path[0] = job["folder"]
            runpy.run_module(run[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = run
            sys.path[0] = str(Path(job["folder"], run[0]).parent)
            runpy.run_path(run[0], run_name="__main__")
    except SystemExit as ended:
        exit_code = _exit_code(ended.code)
    except BaseException:
        traceback.print_exc()
        exit_code = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(exit_code)


def _exit_code(given) -> int:
    if given is None or isinstance(given, int):
        return given or 0
    print(given, file=sys.stderr)
    return 1


if __name__ == "__main__":
    main()
