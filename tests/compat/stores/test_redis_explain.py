"""What a Redis refuses is explained by what it means, in a sentence of ours."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
import redis
import servers

from holdover.compat.stores.redis_connecting import explain


@pytest.fixture
def stack():
    with ExitStack() as stack:
        yield stack


def refused(client, *command):
    with pytest.raises((redis.RedisError, OSError)) as caught:
        client.execute_command(*command)
    return explain(caught.value, "THE PLACE")


def connected(stack, url):
    return stack.enter_context(redis.Redis.from_url(url, protocol=2))


def test_a_server_without_memory(stack):
    limits = "--maxmemory", "1", "--maxmemory-policy", "noeviction"
    client = connected(stack, stack.enter_context(servers.redis(*limits)))
    message, hint = refused(client, "SET", "key", "value")
    assert message == "Redis at THE PLACE has no memory left and takes no writes."
    assert "maxmemory" in hint


def test_a_replica(stack, redis_server):
    port = redis_server.rpartition(":")[2].partition("/")[0]
    following = "--replicaof", f"127.0.0.1 {port}"
    client = connected(stack, stack.enter_context(servers.redis(*following)))
    message, _ = refused(client, "SET", "key", "value")
    assert message == "Redis at THE PLACE is a replica, which takes no writes."


def test_a_node_that_sends_to_others(stack, cluster_url):
    client = connected(stack, cluster_url)
    answers = {refused_or_none(client, f"key {n}") for n in range(20)}
    assert answers == {
        None,
        "THE PLACE is one server of a cluster, and the others are not known.",
    }
    message, _ = refused(client, "MGET", "a", "b", "c", "d")
    assert message in answers


def refused_or_none(client, key):
    try:
        client.get(key)
    except redis.ResponseError as error:
        return explain(error, "THE PLACE")[0]
    return None


def test_what_is_refused_for_another_reason(stack, redis_url):
    client = connected(stack, redis_url)
    message, _ = refused(client, "OBJECT", "FREQ", "no such key", "too many")
    assert message == "Redis at THE PLACE refuses a command that is needed."
    assert "does not know" in refused(client, "NO.SUCH.COMMAND")[0]


@pytest.mark.parametrize("error", [OSError("secret"), redis.ConnectionError("secret")])
def test_nothing_of_an_errors_own_text_is_told(error):
    assert not any("secret" in part for part in explain(error, "THE PLACE"))
