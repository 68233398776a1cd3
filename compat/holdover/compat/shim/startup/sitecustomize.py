"""Installs the shim when Python starts with this folder in `PYTHONPATH`.

It then runs the `sitecustomize` that it hides, if there is one.
"""

import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _install() -> None:
    try:
        from holdover.compat import shim
    except ImportError:  # another Python, that has no Holdover
        return
    try:
        shim.install(
            override=os.environ.get("HOLDOVER_SHIM_OVERRIDE", "") not in ("", "0")
        )
    except ValueError as error:  # a mistyped word must not keep a process from starting
        sys.stderr.write(f"holdover: {error} The shim is off.\n")


def _run_hidden() -> None:
    others = [path for path in sys.path if os.path.abspath(path) != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


_install()
_run_hidden()
