"""Defaults for the process, and for a block of one task or thread."""

import asyncio
import threading
from contextlib import suppress

import pytest
from langgraph.store.memory import InMemoryStore

from holdover.compat.configuration import configuration, configure, configured
from holdover.compat.errors import AddressError


def test_an_argument_left_out_keeps_its_value():
    store = InMemoryStore()
    configure(store=store)
    configure(scope=("tenant",))
    assert configuration().store is store
    assert configuration().scope == ("tenant",)
    configure(scope="tenant2")
    assert configuration().scope == ("tenant2",)
    configure(scope=None)
    assert configuration().scope == ()
    configure(redact=lambda kind, content: content)
    configure(store=None)
    assert configuration().store is None
    assert configuration().redact is not None


def test_blocks_nest_and_end_also_by_an_error():
    outer, inner = InMemoryStore(), InMemoryStore()
    with configured(store=outer, scope="a"):
        with suppress(RuntimeError), configured(store=inner):
            assert configuration().store is inner
            assert configuration().scope == ("a",)
            raise RuntimeError
        assert configuration().store is outer
    assert configuration().store is None


def test_a_block_is_seen_by_its_own_task_only():
    seen = {}

    async def work(name, started, go):
        with configured(scope=name):
            started.set()
            await go.wait()
            await asyncio.sleep(0)
            seen[name] = configuration().scope

    async def both():
        go, started = asyncio.Event(), [asyncio.Event(), asyncio.Event()]
        tasks = [
            asyncio.create_task(work(name, event, go))
            for name, event in zip("ab", started, strict=True)
        ]
        for event in started:
            await event.wait()
        seen["outside"] = configuration().scope
        go.set()
        await asyncio.gather(*tasks)

    asyncio.run(both())
    assert seen == {"a": ("a",), "b": ("b",), "outside": ()}


def test_a_block_is_seen_by_its_own_thread_only():
    seen = []
    with configured(scope="a"):
        thread = threading.Thread(target=lambda: seen.append(configuration().scope))
        thread.start()
        thread.join()
    assert seen == [()]


def test_a_block_is_seen_in_work_it_hands_to_threads():
    async def work():
        with configured(scope="a"):
            return await asyncio.to_thread(lambda: configuration().scope)

    assert asyncio.run(work()) == ("a",)


@pytest.mark.parametrize(
    ("store", "error", "told"),
    [
        ("", AddressError, "is empty"),
        (" ", AddressError, "is empty"),
        ({}, TypeError, "not a dict"),
        (True, TypeError, "not a bool"),
        (lambda: None, TypeError, "not a function"),
        (InMemoryStore, TypeError, "is the class InMemoryStore"),
    ],
)
def test_what_is_no_store_is_refused_at_once(store, error, told):
    with pytest.raises(error, match=told):
        configure(store=store)
    with pytest.raises(error, match=told), configured(store=store):
        pass
    assert configuration().store is None


@pytest.mark.parametrize(
    "address",
    ["postgresql://u:s3cret@h/db", "postgres//u:s3cret@h", "'redis://:s3cret@h'"],
)
def test_no_password_in_what_is_shown(address):
    configure(store=address)
    assert "s3cret" not in repr(configuration())
    assert "@h" in repr(configuration())
    assert configuration().store == address


def test_an_address_is_opened_once_and_only_when_used(tmp_path):
    from holdover.compat.stores.opening import close_stores

    configure(store=str(tmp_path / "a.db"))
    assert not (tmp_path / "a.db").exists()
    try:
        assert configuration().opened() is configuration().opened()
    finally:
        close_stores()
    assert (tmp_path / "a.db").exists()
