"""Commands reach a Redis over HTTP as they do directly, or say why not."""

from __future__ import annotations

import os
import socket
import threading
import time
from contextlib import closing

import pytest
import redis
import servers
from upstash import upstash

from holdover.compat.errors import AddressError, StoreUnavailable, UnportableValue
from holdover.compat.stores import upstash_rest
from holdover.compat.stores.address import is_upstash
from holdover.compat.stores.upstash_rest import UpstashRest, parse_upstash

ALL_BYTES = bytes(range(256))


@pytest.fixture
def client(redis_url):
    with redis.Redis.from_url(redis_url, protocol=2) as client:
        yield client


@pytest.fixture
def service(redis_url):
    with upstash(redis_url) as service:
        yield service


@pytest.fixture
def rest(service):
    with closing(UpstashRest(*service)) as rest:
        yield rest


@pytest.fixture
def hasty(monkeypatch):
    monkeypatch.setattr(upstash_rest, "_PAUSE", 0.001)
    monkeypatch.setattr(upstash_rest, "_LONGEST_PAUSE", 0.01)


class TestAnswers:
    def test_of_every_kind(self, rest, client):
        client.set("bytes", ALL_BYTES)
        client.rpush("list", "a", ALL_BYTES)
        answers = rest.send(
            [
                ["SET", "key", "OK"],
                ["GET", "key"],
                [b"GET", b"bytes"],
                ["GET", "nothing"],
                ["STRLEN", "bytes"],
                ["LRANGE", "list", "0", "-1"],
                ["TYPE", "list"],
                ["PING"],
            ]
        )
        assert answers == [
            b"OK",
            b"OK",
            ALL_BYTES,
            None,
            256,
            [b"a", ALL_BYTES],
            b"list",
            b"PONG",
        ]

    def test_of_one_command(self, rest, service):
        assert rest.send([["SET", "key", "é\0\n\u2028🎉"]]) == [b"OK"]
        assert rest.send([["GET", "key"]]) == ["é\0\n\u2028🎉".encode()]
        assert [path for path, _ in service.requests] == ["/", "/"]
        assert rest.send([]) == []
        assert len(service.requests) == 2

    def test_a_refusal_is_one_of_them(self, rest, client):
        client.rpush("list", "a")
        wrong = [["GET", "list"], ["SCAN", "x"], ["EVALSHA", "0" * 40, "0"], ["NO"]]
        texts = ("WRONGTYPE", "invalid cursor", "No matching script", "unknown command")
        for command, text in zip(wrong, texts, strict=True):
            for answers in (rest.send([command]), rest.send([command, ["PING"]])[:1]):
                (error,) = answers
                assert isinstance(error, redis.ResponseError)
                assert str(error).startswith(text)
        assert isinstance(rest.send([wrong[2]])[0], redis.exceptions.NoScriptError)

    def test_are_those_of_redis_py(self, rest, client):
        """The same errors, so that whoever reads them need not know the way."""
        client.rpush("list", "a")
        for command in (["GET", "list"], ["EVALSHA", "0" * 40, "0"], ["NO", "such"]):
            (error,) = rest.send([command])
            with pytest.raises(redis.ResponseError) as caught:
                client.execute_command(*command)
            assert (type(error), str(error)) == (type(caught.value), str(caught.value))

    def test_of_scripts(self, rest):
        script = "redis.call('SET', KEYS[1], ARGV[1]); return {ARGV[1], 1, false}"
        (answer,) = rest.send([["EVAL", script, "1", "key", "é\0"]])
        assert answer == ["é\0".encode(), 1, None]
        (digest,) = rest.send([["SCRIPT", "LOAD", script]])
        assert rest.send([["EVALSHA", digest, "1", "key", "v"]]) == [[b"v", 1, None]]

    @pytest.mark.parametrize("argument", [b"\xff", "\ud800"])
    def test_there_is_none_where_an_argument_is_not_utf8(self, rest, service, argument):
        with pytest.raises(UnportableValue, match="not UTF-8"):
            rest.send([["PING"], ["SET", "key", argument]])
        assert service.requests == []


class TestRequests:
    def test_are_bounded_in_size(self, rest, service, monkeypatch):
        monkeypatch.setattr(upstash_rest, "_REQUEST_BYTES", 10_000)
        values = [f"{n}:" + "x" * (n * 37 % 3_000) for n in range(200)]
        values[77] = "y" * 25_000  # alone in its request
        sets = [["SET", f"key {n}", value] for n, value in enumerate(values)]
        assert rest.send(sets) == [b"OK"] * 200
        gets = [["GET", f"key {n}"] for n in range(200)]
        assert rest.send(gets) == [value.encode() for value in values]
        sizes = [size for _, size in service.requests]
        assert sorted(sizes)[-2] <= 10_000 + 100
        assert max(sizes) > 25_000
        assert len(sizes) < 80

    def test_are_bounded_in_number(self, rest, service):
        answers = rest.send([["ECHO", str(n)] for n in range(2_500)])
        assert answers == [b"%d" % n for n in range(2_500)]
        assert len(service.requests) == 3

    def test_are_halved_where_the_plan_allows_less(self, rest, service, client):
        service.max_request_bytes = 3_000
        pushes = [["RPUSH", "list", f"{n}:" + "x" * 100] for n in range(100)]
        assert rest.send(pushes) == list(range(1, 101))
        assert [v.partition(b":")[0] for v in client.lrange("list", 0, -1)] == [
            b"%d" % n for n in range(100)
        ]

    def test_a_command_that_is_too_large_is_refused(self, rest, service):
        service.max_request_bytes = 3_000
        (error,) = rest.send([["SET", "key", "x" * 4_000]])
        assert isinstance(error, redis.ResponseError)
        answers = rest.send([["PING"], ["SET", "key", "x" * 4_000], ["PING"]])
        assert answers[::2] == [b"PONG", b"PONG"]
        assert "max request size" in str(answers[1])

    def test_share_connections_among_threads(self, rest, service):
        failures = []

        def work(number):
            for n in range(30):
                text = f"{number}.{n}"
                if rest.send([["ECHO", text], ["PING"]]) != [text.encode(), b"PONG"]:
                    failures.append(text)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert len(service.requests) == 240
        assert service.connections <= 8

    def test_of_a_forked_process_go_another_way(self, rest, service):
        assert rest.send([["PING"]]) == [b"PONG"]
        before = service.connections
        rest._process = -1  # as after os.fork(), which threads make unsafe here
        assert rest.send([["PING"]]) == [b"PONG"]
        assert service.connections == before + 1

    def test_carry_what_keeps_a_replica_from_answering_too_early(
        self, rest, service, monkeypatch
    ):
        rest.send([["SET", "key", "v"]])
        sent = []
        request = upstash_rest.http.client.HTTPConnection.request
        monkeypatch.setattr(
            upstash_rest.http.client.HTTPConnection,
            "request",
            lambda self, *args: (sent.append(args[3]), request(self, *args)),
        )
        rest.send([["GET", "key"]])
        assert sent[0]["upstash-sync-token"] == "1"


class TestFaults:
    @pytest.fixture(autouse=True)
    def _hasty(self, hasty):
        pass

    @pytest.mark.parametrize("fault", [429, 500, 502, 503, "drop", "drop late"])
    def test_that_pass_are_not_noticed(self, rest, service, fault):
        rest.send([["SET", "key", "v"]])
        service.fail(*[fault] * 4)
        assert rest.send([["GET", "key"], ["PING"]]) == [b"v", b"PONG"]
        assert len(service.requests) == 6

    @pytest.mark.parametrize(
        ("fault", "message"),
        [
            (429, "takes no more requests for now"),
            (503, r"fails \(HTTP 503\)"),
            ("drop", "is not there"),
        ],
    )
    def test_that_stay_are_told(self, rest, service, fault, message):
        service.fail(*[fault] * 5)
        with pytest.raises(StoreUnavailable, match=message) as caught:
            rest.send([["GET", "key"]])
        tell_nothing(caught.value, service)
        assert rest.send([["PING"]]) == [b"PONG"]

    def test_slowness_is_told(self, rest, service, monkeypatch):
        monkeypatch.setattr(upstash_rest, "_ANSWER_SECONDS", 0.1)
        service.fail(*[0.4] * 5)
        started = time.monotonic()
        with pytest.raises(StoreUnavailable, match="does not answer") as caught:
            rest.send([["PING"]])
        assert time.monotonic() - started < 5
        tell_nothing(caught.value, service)

    def test_a_wrong_token_is_told_at_once(self, service):
        for token in ("wrong", service.token[:-1]):
            rest = UpstashRest(service.url, token)
            with pytest.raises(StoreUnavailable, match="refuses the token") as caught:
                rest.send([["PING"], ["PING"]])
            assert token not in str(caught.value)
        assert len(service.requests) == 2

    def test_nobody_answers(self):
        rest = UpstashRest(f"http://127.0.0.1:{servers.free_port()}", "secret")
        with pytest.raises(StoreUnavailable, match="is not there") as caught:
            rest.send([["PING"]])
        assert "secret" not in str(caught.value)

    @pytest.mark.parametrize(
        "body", [b"<html>hello</html>", b"{}", b"[]", b'{"result": "no base64"}', b"7"]
    )
    def test_what_answers_is_something_else(self, body):
        head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
        with socket.create_server(("127.0.0.1", 0)) as server:

            def answer():
                connection, _ = server.accept()
                with connection:
                    connection.recv(10_000)
                    connection.sendall(head % len(body) + body)

            thread = threading.Thread(target=answer)
            thread.start()
            rest = UpstashRest(f"http://127.0.0.1:{server.getsockname()[1]}", "t")
            with pytest.raises(StoreUnavailable, match="not Upstash's REST"):
                rest.send([["PING"]])
            thread.join()

    def test_a_certificate_nobody_signed(self, service, monkeypatch):
        with servers.tls(service.url) as url:
            place = url.partition("//")[2].partition("?")[0]
            rest = UpstashRest(f"https://{place}", service.token)
            with pytest.raises(StoreUnavailable, match="is not trusted"):
                rest.send([["PING"]])
            monkeypatch.setenv("SSL_CERT_FILE", str(servers.TLS_AUTHORITY))
            rest = UpstashRest(f"https://{place}", service.token)
            assert rest.send([["PING"]]) == [b"PONG"]
            rest.close()


def tell_nothing(error, service):
    assert service.token not in str(error)
    assert error.__cause__ is None
    assert error.__suppress_context__ or error.__context__ is None


def test_a_proxy_is_used_for_https_alone(service, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{server.getsockname()[1]}")
        monkeypatch.setenv("no_proxy", "")
        monkeypatch.setattr(upstash_rest, "_TRIES", 1)
        heard = []

        def answer():
            connection, _ = server.accept()
            with connection:
                heard.append(connection.recv(1_000))
                connection.sendall(b"HTTP/1.1 403 Forbidden\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        rest = UpstashRest("https://name.upstash.io", "secret")
        with pytest.raises(StoreUnavailable):
            rest.send([["PING"]])
        thread.join()
    assert heard[0].startswith(b"CONNECT name.upstash.io:443")
    assert b"secret" not in heard[0]
    assert UpstashRest(*service).send([["PING"]]) == [b"PONG"]


class TestAddresses:
    @pytest.fixture(autouse=True)
    def _token(self, monkeypatch):
        monkeypatch.setenv("UPSTASH_REDIS_REST_TOKEN", "of the environment")

    @pytest.mark.parametrize(
        ("address", "url", "token"),
        [
            ("upstash+https://h", "https://h", "of the environment"),
            ("upstash+http://h:80/p", "http://h:80/p", "of the environment"),
            ("https://n.upstash.io", "https://n.upstash.io", "of the environment"),
            ("upstash+https://:a%2Fb=@h", "https://h", "a/b="),
            ("https://tok@n.upstash.io", "https://n.upstash.io", "tok"),
            ("UPSTASH+HTTPS://default:tok@h", "https://h", "tok"),
        ],
    )
    def test_say_where_and_who(self, address, url, token):
        assert is_upstash(address)
        assert parse_upstash(address) == (url, token)

    @pytest.mark.parametrize(
        "address",
        [
            "https://example.com",
            "https://n.upstash.io.example.com",
            "https://example.com/?at=@n.upstash.io",
            "https://example.com/@n.upstash.io",
            "http://n.upstash.io",
            "redis://h",
            "rediss://n.upstash.io",
            "entities.db",
            "module:factory",
        ],
    )
    def test_of_others_are_not_ours(self, address):
        assert not is_upstash(address)

    @pytest.mark.parametrize(
        "address",
        [
            "upstash+https://",
            "upstash+https://:secret@h:port",
            "upstash+https://:secret@[::1",
            "upstash+https://:sec/ret@h",
            "upstash+https://:secret@h?x=1",
            "https://n.upstash.io?token=secret",
        ],
    )
    def test_that_are_none(self, address):
        with pytest.raises(AddressError) as caught:
            UpstashRest.from_address(address)
        assert "secret" not in str(caught.value)
        assert "sec/ret" not in str(caught.value)
        assert caught.value.__suppress_context__ or caught.value.__context__ is None

    def test_need_a_token(self, monkeypatch):
        monkeypatch.delenv("UPSTASH_REDIS_REST_TOKEN")
        with pytest.raises(AddressError, match="no token for https://h") as caught:
            UpstashRest.from_address("upstash+https://h")
        assert "UPSTASH_REDIS_REST_TOKEN" in str(caught.value)

    @pytest.mark.parametrize("token", ["sec\nret", "secrét", "sec\x00ret"])
    def test_a_token_that_would_not_fit_a_header(self, token):
        with pytest.raises(AddressError) as caught:
            UpstashRest("https://h", token)
        assert "sec" not in str(caught.value)

    def test_a_line_end_behind_a_token_does_no_harm(self, service):
        rest = UpstashRest(service.url, f"{service.token}\n")
        assert rest.send([["PING"]]) == [b"PONG"]

    def test_the_emulators_own(self, service, monkeypatch):
        with closing(UpstashRest.from_address(service.address)) as rest:
            assert rest.send([["PING"]]) == [b"PONG"]
            assert rest.shown == service.url
        assert os.environ["UPSTASH_REDIS_REST_TOKEN"] == "of the environment"


def test_transactions_of_the_emulator_are_some(service, client):
    """What other clients of the service may use; ours does not."""
    import json
    import urllib.request

    request = urllib.request.Request(
        f"{service.url}/multi-exec",
        json.dumps([["SET", "key", "1"], ["INCR", "key"], ["LPOP", "key"]]).encode(),
        {"Authorization": f"Bearer {service.token}"},
    )
    with urllib.request.urlopen(request) as response:
        answers = json.load(response)
    assert answers[:2] == [{"result": "OK"}, {"result": 2}]
    assert answers[2]["error"].startswith("WRONGTYPE")
    assert client.get("key") == b"2"
