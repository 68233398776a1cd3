"""Runs the old scripts, for the recorder and for the tests alike."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
EXPECTED = "expected.txt"
#: What the old release left after its last run but one, and in Redis.
LEFT = "left"
REDIS = "redis.json"


@dataclass(frozen=True)
class Script:
    """One old application, as `scripts.toml` describes it."""

    name: str
    release: str
    use: str
    runs: tuple[tuple[str, ...], ...]
    input: str = ""
    needs: tuple[str, ...] = ()
    override: bool = False
    fresh: str = ""

    @property
    def folder(self) -> Path:
        return HERE / self.name

    @property
    def files(self) -> list[Path]:
        """What a user would have written: no recordings."""
        return sorted(
            path.relative_to(self.folder)
            for path in self.folder.rglob("*")
            if path.is_file()
            and path.name != EXPECTED
            and not {LEFT, "__pycache__"} & set(path.relative_to(self.folder).parts)
        )

    @property
    def left(self) -> Path | None:
        """The folder of what the old release left before the last run."""
        folder = self.folder / LEFT
        return folder if folder.is_dir() else None

    def copy_to(self, folder: Path) -> None:
        for path in self.files:
            (folder / path.parent).mkdir(parents=True, exist_ok=True)
            shutil.copy(self.folder / path, folder / path)

    def expected(self) -> list[str]:
        """The recorded transcript of each run."""
        text = (self.folder / EXPECTED).read_text(encoding="utf-8")
        return re.split(r"(?m)^(?=\$ )", text)[1:]


def scripts() -> list[Script]:
    table = tomllib.loads((HERE / "scripts.toml").read_text(encoding="utf-8"))
    return [
        Script(
            name=name,
            release=entry["release"],
            use=entry["use"],
            runs=tuple(tuple(run) for run in entry["runs"]),
            input=entry.get("input", ""),
            needs=tuple(entry.get("needs", ())),
            override=entry.get("override", False),
            fresh=entry.get("fresh", ""),
        )
        for name, entry in table.items()
    ]


def environment(home: Path, redis_url: str = "", **more: str) -> dict[str, str]:
    """Nothing of the caller's that could change what a script prints."""
    kept = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT", "TMPDIR")
    plain = {name: os.environ[name] for name in kept if name in os.environ}
    return plain | {
        "HOME": str(home),
        "PYTHONUTF8": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "REDIS_URL": redis_url,
        **more,
    }


def play(
    script: Script,
    run: tuple[str, ...],
    folder: Path,
    command: list[str],
    env: dict[str, str],
) -> tuple[str, str]:
    """One run in a folder: its transcript, and what it wrote to stderr."""
    given = (script.folder / script.input).read_bytes() if script.input else b""
    done = subprocess.run(
        [*command, *run],
        cwd=folder,
        env=env,
        input=given,
        capture_output=True,
        timeout=120,
        check=False,
    )
    shown = done.stdout.decode()
    return transcript(run, shown, done.returncode), done.stderr.decode()


def transcript(run: tuple[str, ...], shown: str, exit_code: int) -> str:
    if shown and not shown.endswith("\n"):
        shown += "\n(no newline at the end)\n"
    return f"$ {shlex.join(run)}\n{shown}[exit {exit_code}]\n"


class Player:
    """Plays many runs from one warm process, see `warm.py`."""

    def __init__(
        self,
        command: list[str],
        env: dict[str, str],
        log: Path,
        imported: tuple[str, ...] = (),
    ) -> None:
        self._log = log
        with log.open("wb") as errors:
            self._server = subprocess.Popen(
                [*command, str(HERE / "warm.py"), *imported],
                env=env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    def play(
        self, script: Script, run: tuple[str, ...], folder: Path, **env: str
    ) -> tuple[str, str]:
        """As the function of that name; `env` is added to the environment."""
        out, err = (
            folder.with_name(f"{folder.name}.{name}") for name in ("out", "err")
        )
        for file in (out, err):
            file.write_bytes(b"")
        job = {
            "run": run,
            "folder": str(folder),
            "env": env,
            "stdin": str(script.folder / script.input) if script.input else os.devnull,
            "stdout": str(out),
            "stderr": str(err),
        }
        self._server.stdin.write(json.dumps(job) + "\n")
        self._server.stdin.flush()
        answer = self._server.stdout.readline()
        if not answer:
            raise RuntimeError(f"no answer: {self._log.read_text()[-2000:]}")
        shown = out.read_text(encoding="utf-8")
        return transcript(run, shown, int(answer)), err.read_text(encoding="utf-8")

    def close(self) -> None:
        self._server.stdin.close()
        self._server.wait(timeout=30)
        self._server.stdout.close()


def save_redis(url: str, file: Path) -> None:
    """Write the lists of a Redis to a file, with the lifetimes they have left."""
    import redis

    with redis.Redis.from_url(url, decode_responses=True) as client:
        kept = {
            key: {"ttl": client.ttl(key), "list": client.lrange(key, 0, -1)}
            for key in sorted(client.keys())
        }
    file.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def load_redis(file: Path, url: str) -> None:
    import redis

    with redis.Redis.from_url(url) as client:
        for key, entry in json.loads(file.read_text(encoding="utf-8")).items():
            client.rpush(key, *entry["list"])
            if entry["ttl"] > 0:
                client.expire(key, entry["ttl"])
