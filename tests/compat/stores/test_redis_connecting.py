"""What goes wrong with a Redis is said in one sentence, without a secret."""

import socket
import threading
import time
import traceback
from contextlib import contextmanager

import pytest
import redis
import servers
from langgraph.store.base import PutOp, SearchOp
from plain_redis import connect, disagreements, raw_items, raw_keys

from holdover.compat.errors import AddressError, HoldoverError, StoreUnavailable
from holdover.compat.repository import Repository
from holdover.compat.stores import backend
from holdover.compat.stores.choosing import backend_for
from holdover.compat.stores.opening import _open
from holdover.compat.stores.redis import PlainRedisStore
from holdover.compat.stores.redis_connecting import explain, parse_address

NS = ("users", "u1")
SECRET = "s3cret-pass"


def check(error, *words):
    """One sentence that says these words, and no secret in it or behind it."""
    message = str(error)
    assert "\n" not in message
    assert all(word in message for word in words), message
    shown = "".join(traceback.format_exception(error)) + repr(error) + error.hint
    assert SECRET not in shown
    assert error.hint


def with_login(url, login):
    return url.replace("redis://", f"redis://{login}@")


@contextmanager
def answering(words):
    """Something that listens and is not Redis."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                with client:
                    client.recv(1000)
                    client.sendall(words)

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def test_a_wrong_password(redis_url):
    servers.redis_user(redis_url, "someone", "~*", "+@all")
    for login in (f"someone:{SECRET}", f"nobody:{SECRET}", f":{SECRET}"):
        with pytest.raises(StoreUnavailable) as caught:
            _open(with_login(redis_url, login), None, setup=True)
        check(caught.value, "refuses the login")


def test_no_password_where_one_is_needed():
    with servers.redis("--requirepass", "other") as url:
        for address in (url, with_login(url, f":{SECRET}")):
            with pytest.raises(StoreUnavailable) as caught:
                _open(address, None, setup=True)
            check(caught.value, "refuses the login")
        store = _open(with_login(url, ":other"), None, setup=True)
        store.put(NS, "k", {})
        assert len(store.search(())) == 1
        store.close()


def test_nothing_listens():
    port = servers.free_port()
    with pytest.raises(StoreUnavailable) as caught:
        _open(f"redis://u:{SECRET}@127.0.0.1:{port}/0", None, setup=True)
    check(caught.value, "cannot be reached", str(port))


def test_no_such_socket(tmp_path):
    with pytest.raises(StoreUnavailable) as caught:
        _open(f"unix://{tmp_path}/redis.sock", None, setup=True)
    check(caught.value, "cannot be reached", "redis.sock")


@pytest.mark.parametrize("words", [b"HTTP/1.1 400 Bad\r\n\r\n", b"SSH-2.0-x\r\n", b""])
def test_what_answers_is_not_redis(words):
    with answering(words) as port, pytest.raises(StoreUnavailable) as caught:
        _open(f"redis://u:{SECRET}@127.0.0.1:{port}/0", None, setup=True)
    check(caught.value, str(port))
    if words:
        check(caught.value, "not Redis")


def test_no_such_database(redis_url):
    with pytest.raises(StoreUnavailable) as caught:
        _open(f"{redis_url[:-1]}99", None, setup=True)
    check(caught.value, "database")


def test_a_cluster_has_no_other_database(cluster_url):
    with pytest.raises(StoreUnavailable) as caught:
        _open(f"{cluster_url[:-1]}3", None, setup=True)
    check(caught.value, "names a database", "/3")


def test_sentinels_that_know_no_such_master(sentinel_url):
    with pytest.raises(StoreUnavailable) as caught:
        _open(sentinel_url.replace("mymaster", "other"), None, setup=True)
    check(caught.value, "no running master")


def test_an_authority_that_is_not_trusted(tls_url):
    with pytest.raises(StoreUnavailable) as caught:
        _open(tls_url.partition("?")[0], None, setup=True)
    check(caught.value, "cannot be reached")


@pytest.mark.parametrize(
    "end",
    ["?prefix=a{b", "?prefix=}", "?shards=0", "?shards=-1", "?shards=two", "?db=x"],
)
def test_an_address_that_cannot_be_used(redis_url, end):
    with connect(redis_url) as client:
        client.execute_command("ACL", "SETUSER", "u", "on", f">{SECRET}", "~*", "+@all")
        before = {one["id"] for one in client.client_list()}
        with pytest.raises(AddressError) as caught:
            _open(with_login(redis_url, f"u:{SECRET}") + end, None, setup=True)
        assert SECRET not in str(caught.value) + repr(caught.value)
        assert raw_keys(client) == {}
        assert {one["id"] for one in client.client_list()} <= before  # none stays open


def test_an_index_is_refused(redis_url):
    with pytest.raises(AddressError, match="by meaning"):
        _open(redis_url, {"dims": 2, "embed": "x"}, setup=True)


def test_no_password_is_shown():
    address = parse_address(f"redis://u:{SECRET}@h:1/2?prefix=p&shards=3")
    assert SECRET not in repr(address)
    assert address.options["password"] == SECRET
    assert address.store_options == {"prefix": "p", "shards": 3}


# --- a store in use -----------------------------------------------------------


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    """Wait once, and not for the many seconds of a failover."""
    monkeypatch.setattr(backend, "_pauses", lambda: iter([0.01]))


def failure(store):
    """What a repository says when it cannot write."""
    repository = Repository(store, ("root", "session"))
    with pytest.raises(HoldoverError) as caught:
        repository.put_many("entity", [{"name": "A", "summary": "s"}])
    return caught.value


def test_a_replica_takes_no_writes(redis_url):
    with servers.redis("--replicaof", "127.0.0.1 1") as url:
        store = _open(url, None, setup=False)
        assert store.search(()) == []
        error = failure(store)
        assert isinstance(error, StoreUnavailable)
        check(error, "replica")
        store.close()


@pytest.mark.parametrize("kind", ["one", "cluster"])
def test_no_memory_left(kind):
    start = servers.redis if kind == "one" else servers.redis_cluster
    with start() as url:
        store = _open(url, None, setup=True)
        places = [(f"n{n}",) for n in range(30)]
        store.batch([PutOp(place, "k", {"n": 1}) for place in places])
        client = connect(url)
        nodes = client.get_primaries() if kind == "cluster" else [None]
        for node in nodes:
            target = {"target_nodes": node} if node else {}
            client.config_set("maxmemory", "1", **target)
        error = failure(store)
        assert isinstance(error, StoreUnavailable)
        check(error, "no memory left")
        for place in places:
            assert store.get(place, "k").value == {"n": 1}
            with pytest.raises(redis.ResponseError):
                store.put(place, "new", {})
        # There has to be a way out: what is there can be deleted.
        store.batch([PutOp(place, "k", None) for place in places[:20]])
        store.delete(places[20], "k")
        assert {item.namespace for item in store.search(())} <= set(places[21:])
        assert len(raw_items(client)) == 9
        assert disagreements(client) == []
        client.close()
        store.close()


def test_a_right_that_is_missing(redis_url):
    url = servers.redis_user(redis_url, "few", "~holdover:*", "+get", "+zrangebylex")
    store = _open(url, None, setup=False)
    error = failure(store)
    assert isinstance(error, StoreUnavailable)
    check(error, "may not run")
    store.close()


@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_server_that_went_away_and_came_back(loop, way, tmp_path):
    command = [servers.redis_binary(), "--port", str(port := servers.free_port()),
               "--save", "", "--dir", str(tmp_path), "--bind", "127.0.0.1"]  # fmt: skip
    url = f"redis://127.0.0.1:{port}/0"

    def start(name):
        folder = tmp_path / name
        folder.mkdir()
        return servers.running(
            command, folder, signal="KILL", ready=lambda: servers.accepts(port)
        )

    def put(store, number):
        if way == "async":
            loop.run(store.aput(NS, f"{number}", {"n": number}))
        else:
            store.put(NS, f"{number}", {"n": number})

    with start("first"):
        store = _open(url, None, setup=True)
        put(store, 1)
    error = failure(store)
    assert isinstance(error, StoreUnavailable)
    check(error, "cannot be reached")
    with start("second"):
        # It is another one: nothing is in it, and it does not know the script.
        for number in range(3):
            put(store, number)
        assert [item.key for item in store.search(())] == ["2", "1", "0"]
        with connect(url) as client:
            assert disagreements(client) == []
        loop.run(store.aclose())
        store.close()


def test_a_cluster_that_went_away():
    with servers.redis_cluster() as url:
        store = _open(url, None, setup=True)
        store.put(NS, "k", {})
    error = failure(store)
    assert isinstance(error, StoreUnavailable)
    check(error, "cannot be reached")
    store.close()


def test_a_pause_is_waited_for(redis_url):
    store = PlainRedisStore.from_url(f"{redis_url}?socket_timeout=5")
    store.put(NS, "k", {})
    with connect(redis_url) as client:
        client.client_pause(300)
        started = time.monotonic()
        assert store.batch([PutOp(NS, "l", {}), SearchOp(NS)])[1]
        assert time.monotonic() - started > 0.1
    store.close()


def test_a_login_that_is_no_longer_good(redis_url, monkeypatch):
    url = servers.redis_user(redis_url, "own", "~*", "+@all")
    url = url.replace("own-password", SECRET)
    with connect(redis_url) as client:
        client.execute_command("ACL", "SETUSER", "own", f">{SECRET}")
        store = PlainRedisStore.from_url(url)
        assert SECRET not in repr(store) + store.shown
        client.execute_command("ACL", "DELUSER", "own")
    # A login that is refused now will be, so nobody waits for it.
    monkeypatch.setattr(backend, "_pauses", lambda: iter([60]))
    error = failure(store)
    assert isinstance(error, StoreUnavailable)
    check(error, "refuses the login")
    assert backend_for(store).store is store
    store.close()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("-READONLY You can't write against a read only replica.", "a replica"),
        ("-OOM command not allowed when used memory > 'maxmemory'.", "no memory left"),
        ("-NOPERM this user has no permissions to run 'zrem'", "may not run"),
    ],
)
def test_what_a_script_met_is_told_apart_in_old_servers(code, said):
    """Servers before 7 put words of their own around it."""
    whole = f"Error running script (call to f_ab12): @user_script:9: {code} "
    error = redis.ResponseError(whole)
    assert said in explain(error, "redis://host")[0]
    assert "refuses" not in explain(error, "redis://host")[0]
