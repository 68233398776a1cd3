"""The rights of `docs/rights.md`, taken from the page, are enough and not too many."""

import re
import shutil
import time
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import pytest
from servers import sentinel_master

from holdover.compat.errors import HoldoverError

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "rights.md").read_text("utf-8")
SAMPLE = ROOT / "examples" / "old_app" / "entities.db"
ENTITIES = 41
ROLES = ("memory_owner", "memory_writer", "memory_reader")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def statements(role):
    (block,) = [b for b in blocks("sql") if f"CREATE ROLE {role} " in b]
    return [line for line in block.splitlines() if line]


def as_role(url, role):
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"{role}@{parts.netloc.partition('@')[2]}"))


@pytest.fixture
def source(tmp_path):
    return str(shutil.copy(SAMPLE, tmp_path / "entities.db"))


@pytest.fixture
def rejects(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def grant(postgres_url):
    """Run the page's statements for one role, some left out; give the role's URL."""
    import psycopg

    database = urlsplit(postgres_url).path[1:]
    suffix = uuid4().hex[:8]
    made = {}

    def name(role):
        return f"{role}_{suffix}"

    def run(role, without=None):
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            for line in statements(role):
                sql = line
                sql = sql.replace("DATABASE app", f'DATABASE "{database}"')
                for other in ROLES:
                    sql = re.sub(rf"\b{other}\b", name(other), sql)
                connection.execute(sql)
            if without:
                on = f'DATABASE "{database}"' if without == "TEMPORARY" else "store"
                connection.execute(f"REVOKE {without} ON {on} FROM {name(role)}")
        made[role] = as_role(postgres_url, name(role))
        return made[role]

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'REVOKE ALL ON DATABASE "{database}" FROM PUBLIC')
        connection.execute("REVOKE ALL ON SCHEMA public FROM PUBLIC")
    yield run
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for role in reversed(made):
            connection.execute(f"DROP OWNED BY {name(role)} CASCADE")
            connection.execute(f"DROP ROLE {name(role)}")


@pytest.fixture
def writer(grant, source):
    """A database that `memory_owner` has set up, as `memory_writer` sees it."""
    from holdover.migrate.run import set_up

    owner = grant("memory_owner")
    set_up(owner)
    return grant("memory_writer")


@pytest.mark.usefixtures("rejects")
def test_every_command_runs_with_its_postgres_rights(grant, writer, source):
    from holdover.migrate.rollback import rollback
    from holdover.migrate.run import migrate
    from holdover.migrate.status import status
    from holdover.migrate.verify import verify

    reader = grant("memory_reader")
    planned = migrate(source, reader, dry_run=True)
    assert planned.exit_code == 0
    assert planned.plan.to_write == ENTITIES
    assert status(reader) == []

    done = migrate(source, writer)
    assert done.exit_code == 0
    assert done.verify.equal == ENTITIES

    assert verify(source, reader).equal == ENTITIES
    assert [run.state for run in status(reader)] == ["done"]
    assert rollback(writer).removed == ENTITIES
    assert status(reader) == []


@pytest.mark.usefixtures("rejects")
@pytest.mark.parametrize("right", ["TEMPORARY", "INSERT", "UPDATE", "DELETE", "SELECT"])
def test_a_writer_lacking_one_right_is_told(grant, source, right):
    from holdover.migrate.rollback import rollback
    from holdover.migrate.run import migrate, set_up

    set_up(grant("memory_owner"))
    crippled = grant("memory_writer", without=right)

    def there_and_back():
        migrate(source, crippled)
        rollback(crippled)

    # Without DELETE the lease of the first run stays until it expires.
    expected = "permission denied|being carried out"
    with pytest.raises(HoldoverError, match=expected):
        there_and_back()


@pytest.mark.usefixtures("rejects")
def test_a_reader_writes_nothing(grant, writer, source):
    from holdover.migrate.run import migrate
    from holdover.migrate.status import status

    reader = grant("memory_reader")
    with pytest.raises(HoldoverError):
        migrate(source, reader)
    assert status(reader) == []
    assert migrate(source, writer).exit_code == 0


def acl(version):
    """The page's user for Redis 7 (0) or 6 (1), a cluster (2), or Sentinel (3)."""
    return blocks("text")[version].strip().split()


def as_user(url, command):
    user = command[2]
    password = next(part[1:] for part in command if part.startswith(">"))
    parts = urlsplit(url)
    netloc = f"{user}:{password}@{parts.netloc}"
    return urlunsplit(parts._replace(netloc=netloc))


@pytest.fixture
def redis_admin(redis_url):
    import redis

    with redis.Redis.from_url(redis_url) as client:
        for number in range(3):
            client.set(f"memory_store:s{number}:Alice", "Alice", ex=86_400)
            client.set(f"secret:{number}", "not to be read")
        yield client
        client.execute_command("ACL", "DELUSER", "memory_scan")


@pytest.mark.usefixtures("rejects")
@pytest.mark.parametrize("version", [0, 1])
def test_redis_user_may_be_read_and_nothing_else(
    redis_admin, redis_url, tmp_path, version
):
    import redis

    from holdover.migrate.run import migrate
    from holdover.migrate.scan import scan

    command = acl(version)
    redis_admin.execute_command(*command)
    address = as_user(redis_url, command)
    assert sum(group.items for group in scan(address).groups) == 3
    done = migrate(address, str(tmp_path / "memory.db"))
    assert done.exit_code == 0
    assert done.verify.equal == 3

    with redis.Redis.from_url(address) as client:
        for refused in (
            ("SET", "memory_store:s0:Alice", "x"),
            ("GETEX", "memory_store:s0:Alice", "EX", "1"),
            ("DEL", "memory_store:s0:Alice"),
            ("MGET", "secret:0"),
            ("KEYS", "*"),
            ("CONFIG", "GET", "*"),
        ):
            with pytest.raises(redis.exceptions.NoPermissionError):
                client.execute_command(*refused)


@pytest.mark.parametrize("right", ["+scan", "+mget", "+pttl", "+strlen", "+type"])
def test_redis_user_lacking_one_right_is_told(redis_admin, redis_url, tmp_path, right):
    from holdover.migrate.run import migrate

    command = [part for part in acl(0) if part != right]
    redis_admin.execute_command(*command)
    with pytest.raises(HoldoverError, match="may not run a command"):
        migrate(as_user(redis_url, command), str(tmp_path / "memory.db"))


@pytest.fixture
def store_user(redis_url):
    """Make one of the store's users as the page says; give its address."""
    import redis

    made = []

    def make(name, without=None):
        (command,) = [block.split() for block in blocks("text") if f" {name} " in block]
        with redis.Redis.from_url(redis_url) as client:
            client.execute_command(*[word for word in command if word != without])
        made.append(name)
        return redis_url.replace("redis://", f"redis://{name}:CHANGE-ME@")

    yield make
    with redis.Redis.from_url(redis_url) as client:
        for name in made:
            client.execute_command("ACL", "DELUSER", name)


def test_every_command_runs_with_its_redis_rights(store_user, source, rejects):
    from holdover.migrate.care import forget, probe
    from holdover.migrate.rollback import rollback
    from holdover.migrate.run import migrate, set_up
    from holdover.migrate.status import status
    from holdover.migrate.verify import verify

    writer, reader = map(store_user, ("memory_store_writer", "memory_store_reader"))
    planned = migrate(source, reader, dry_run=True)
    assert planned.plan.to_write == ENTITIES
    with pytest.raises(HoldoverError, match="may not run a command"):
        migrate(source, reader)
    set_up(writer)
    assert migrate(source, writer).exit_code == 0
    assert verify(source, reader).equal == ENTITIES
    assert status(reader)[0].state == "done"
    assert migrate(source, reader).copy.written == 0
    assert probe(writer).failed == ()
    assert forget(writer, "ana_example").items > 0
    assert rollback(writer).removed > 0
    with pytest.raises(HoldoverError, match="may not run a command"):
        forget(reader, "ana_example")


@pytest.mark.parametrize("lifetime", [None, 60])
def test_a_redis_reader_reads_everything(store_user, lifetime):
    from holdover.compat.stores.redis import PlainRedisStore

    writer, reader = (
        PlainRedisStore.from_url(store_user(name))
        for name in ("memory_store_writer", "memory_store_reader")
    )
    writer.put(("users", "ana"), "key", {"n": 1}, ttl=lifetime)
    for store in (writer, reader):
        item = store.get(("users", "ana"), "key", refresh_ttl=False)
        assert item.value == {"n": 1}
        assert len(store.search(("users",), filter={"n": 1}, refresh_ttl=False)) == 1
        assert store.list_namespaces(suffix=("ana",)) == [("users", "ana")]
    writer.delete(("users", "ana"), "key")
    writer.close()
    reader.close()


ASKED_ONLY = {"+info", "+ping", "+select", "+client|setinfo"}
(WRITER,) = [block.split() for block in blocks("text") if "_store_writer " in block]
NEEDED = [word for word in WRITER if word.startswith("+") and word not in ASKED_ONLY]


def everything(store):
    """Whatever a store does to its keys."""
    from langgraph.store.base import GetOp

    from holdover.compat.stores import redis_operations as operations
    from holdover.compat.stores.redis import now_ms

    space = ("users", "ana")
    store.put(space, "key", {"n": 1}, ttl=60)
    store.put(space, "brief", {"n": 2}, ttl=0.001)
    store.batch([GetOp(space, key) for key in ("key", "brief")])
    time.sleep(0.1)
    assert len(store.search(("users",))) == 1
    assert store.list_namespaces() == [space]
    layout = store.run(store.known_layout(create=False))
    assert store.run(operations.page(layout, space, None, 10, reverse=True))
    assert store.run(operations.count(layout, space, now_ms())) == 1
    store.sweep_ttl()
    assert store.get(space, "key").value == {"n": 1}
    store.delete(space, "key")


def test_a_redis_writer_may_be_refused_what_is_only_asked(store_user):
    from holdover.compat.stores.redis import PlainRedisStore

    store = PlainRedisStore.from_url(store_user("memory_store_writer", "+info"))
    everything(store)
    assert store.facts() == {}
    store.close()


def test_a_redis_writer_in_a_cluster(cluster_url, source, rejects):
    import redis

    from holdover.migrate.run import migrate

    command = [*WRITER, "+cluster|slots", "+command"]
    with redis.RedisCluster.from_url(cluster_url.removesuffix("/0")) as client:
        for node in client.get_primaries():
            with redis.Redis(host=node.host, port=node.port) as one:
                one.execute_command(*command)
        try:
            address = cluster_url.replace(
                "redis://", "redis://memory_store_writer:CHANGE-ME@"
            )
            assert migrate(source, address).exit_code == 0
        finally:
            for node in client.get_primaries():
                with redis.Redis(host=node.host, port=node.port) as one:
                    one.execute_command("ACL", "DELUSER", "memory_store_writer")


@pytest.mark.parametrize("right", NEEDED)
def test_a_redis_writer_lacking_one_right_is_told(store_user, redis_url, right):
    import redis

    from holdover.compat.stores.redis import PlainRedisStore

    with redis.Redis.from_url(redis_url) as client:
        client.script_flush()
    store = PlainRedisStore.from_url(store_user("memory_store_writer", right))
    with pytest.raises(redis.RedisError):
        everything(store)
    store.close()


@pytest.mark.usefixtures("rejects")
@pytest.mark.parametrize("right", ["+scan", "+type", "+llen", "+lrange", "+pttl", ""])
def test_a_reader_of_chat_histories(store_user, redis_url, tmp_path, right):
    import redis

    from holdover.migrate.options import Options
    from holdover.migrate.run import migrate
    from holdover.migrate.sources.base import ReadOptions

    with redis.Redis.from_url(redis_url) as client:
        client.lpush("message_store:s", '{"type": "human", "data": {"content": "x"}}')
        client.lpush("secret", "not to be read")
    address = store_user("memory_messages", right)
    options = Options(read=ReadOptions(kinds=frozenset({"messages"})))
    target = str(tmp_path / "memory.db")
    if right not in ("+type", ""):
        with pytest.raises(HoldoverError, match="may not run a command"):
            migrate(address, target, options)
        return
    # A key of another type is told by what is asked of it, too.
    done = migrate(address, target, options)
    assert (done.exit_code, done.verify.equal) == (0, 1)
    with redis.Redis.from_url(address) as client:
        for refused in (
            ("LPUSH", "message_store:s", "x"),
            ("LTRIM", "message_store:s", 0, 0),
            ("LRANGE", "secret", 0, -1),
            ("EXPIRE", "message_store:s", 1),
        ):
            with pytest.raises(redis.exceptions.NoPermissionError):
                client.execute_command(*refused)


@pytest.fixture
def cluster_admin(cluster_url):
    """Give the page's user, some rights left out, to every node of a cluster."""
    import redis

    with redis.RedisCluster.from_url(cluster_url) as cluster:
        for number in range(60):
            cluster.set(f"memory_store:s{number}:Alice", "Alice", ex=86_400)

        def grant(command):
            for node in cluster.get_primaries():
                node.redis_connection.execute_command(*command)
            return as_user(cluster_url, command)

        yield grant
        for node in cluster.get_primaries():
            node.redis_connection.acl_deluser("memory_scan")


@pytest.mark.usefixtures("rejects")
def test_cluster_user_may_read(cluster_admin, tmp_path):
    from holdover.migrate.run import migrate
    from holdover.migrate.scan import scan

    address = cluster_admin(acl(2))
    inventory = scan(address)
    assert sum(group.items for group in inventory.groups) == 60
    assert not any("not known" in note for note in inventory.notes)
    done = migrate(address, str(tmp_path / "memory.db"))
    assert done.exit_code == 0
    assert done.verify.equal == 60


@pytest.mark.parametrize(
    ("right", "message"),
    [
        ("+scan", "may not run a command"),
        ("+mget", "may not run a command"),
        ("+pttl", "may not run a command"),
        ("+strlen", "may not run a command"),
        ("+type", "may not run a command"),
        ("+cluster|slots", "the others are not known"),
    ],
)
def test_cluster_user_lacking_one_right_is_told(
    cluster_admin, tmp_path, right, message
):
    from holdover.migrate.run import migrate

    address = cluster_admin([part for part in acl(2) if part != right])
    with pytest.raises(HoldoverError, match=message):
        migrate(address, str(tmp_path / "memory.db"))


def test_cluster_user_without_nodes_gets_a_note(cluster_admin):
    from holdover.migrate.scan import scan

    address = cluster_admin([p for p in acl(2) if p != "+cluster|nodes"])
    assert any("is not known" in note for note in scan(address).notes)


def test_cluster_user_without_asking_is_told(cluster_admin, cluster_url):
    """A slot half of whose keys have moved is the only case for it."""
    import redis

    from holdover.migrate.scan import scan

    with redis.RedisCluster.from_url(cluster_url) as cluster:
        key = "memory_store:s1:Alice"
        slot = cluster.keyslot(key)
        giver = cluster.nodes_manager.get_node_from_slot(slot)
        taker = next(node for node in cluster.get_primaries() if node != giver)
        ends = [node.redis_connection for node in (giver, taker)]
        ids = [end.execute_command("CLUSTER", "MYID") for end in ends]
        ends[1].execute_command("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[0])
        ends[0].execute_command("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[1])
        try:
            move = "MIGRATE", "127.0.0.1", taker.port, key, 0, 5_000
            ends[0].execute_command(*move)
            assert scan(cluster_admin(acl(2))).groups[0].items == 60
            lacking = cluster_admin([p for p in acl(2) if p != "+asking"])
            with pytest.raises(HoldoverError, match="may not run a command"):
                scan(lacking)
        finally:
            for end in ends:
                end.execute_command("CLUSTER", "SETSLOT", slot, "STABLE")


def test_sentinel_user_may_find_the_master(sentinel_url):
    import redis

    from holdover.migrate.scan import scan

    with redis.Redis.from_url(sentinel_master(sentinel_url)) as master:
        master.set("memory_store:s:Alice", "Alice")
    port = int(urlsplit(sentinel_url).netloc.rpartition(":")[2])
    command = acl(3)
    login = f"sentinel_username={command[2]}&sentinel_password=CHANGE-ME"
    address = f"{sentinel_url}?{login}"
    with redis.Redis(port=port) as sentinel:
        sentinel.execute_command(*command)
        try:
            assert scan(address).groups[0].items == 1
            sentinel.execute_command("ACL", "SETUSER", command[2], "-sentinel|masters")
            with pytest.raises(HoldoverError, match="may not run a command") as caught:
                scan(address)
            assert "CHANGE-ME" not in str(caught.value)
        finally:
            sentinel.execute_command("ACL", "DELUSER", command[2])


def test_upstash_user_may_read(redis_admin, redis_url, tmp_path, monkeypatch):
    """The emulator logs in as the user, as Upstash does for a token of its own."""
    from upstash import upstash

    from holdover.migrate.run import migrate

    monkeypatch.chdir(tmp_path)
    command = [part for part in acl(1) if part != "+client"]
    redis_admin.execute_command(*command)
    with upstash(as_user(redis_url, command)) as service:
        done = migrate(service.address, str(tmp_path / "memory.db"))
        assert (done.exit_code, done.verify.equal) == (0, 3)
        redis_admin.execute_command(*command, "-mget")
        with pytest.raises(HoldoverError, match="may not run a command"):
            migrate(service.address, str(tmp_path / "other.db"))
