"""One operation, driven synchronously and from async code."""

import asyncio
import contextvars
import threading
import time

import pytest

from holdover.compat.both_ways import AT_ONCE, Do, Together, arun, run


def doing(value):
    async def later():
        await asyncio.sleep(0)
        return f"async {value}"

    return Do(lambda: f"sync {value}", later)


def failing(error):
    def now():
        raise error

    async def later():
        raise error

    return Do(now, later)


@pytest.fixture(params=[run, lambda operation: asyncio.run(arun(operation))])
def drive(request):
    return request.param


def test_each_way_takes_its_own_form():
    def operation():
        return [(yield doing(1)), (yield doing(2))]

    assert run(operation()) == ["sync 1", "sync 2"]
    assert asyncio.run(arun(operation())) == ["async 1", "async 2"]


def test_an_operation_can_handle_what_a_step_raises(drive):
    def operation():
        try:
            yield failing(ValueError("x"))
        except ValueError:
            return "handled"

    assert drive(operation()) == "handled"


def test_what_it_does_not_handle_reaches_the_caller_with_its_type(drive):
    def operation():
        yield failing(LookupError("x"))

    with pytest.raises(LookupError, match="x"):
        drive(operation())


def test_operations_together_give_results_and_exceptions_in_order(drive):
    def one(value):
        return (yield doing(value))

    def bad():
        yield failing(ValueError("x"))

    def operation():
        return (yield Together([one(1), bad(), one(3)]))

    first, second, third = drive(operation())
    assert (first[-1], third[-1]) == ("1", "3")
    assert isinstance(second, ValueError)


def test_operations_together_overlap(drive):
    running = highest = 0
    lock = threading.Lock()

    def enter(step):
        nonlocal running, highest
        with lock:
            running += step
            highest = max(highest, running)

    def now():
        enter(1)
        time.sleep(0.05)
        enter(-1)

    async def later():
        enter(1)
        await asyncio.sleep(0.05)
        enter(-1)

    def one():
        yield Do(now, later)

    def operation():
        yield Together([one() for _ in range(2 * AT_ONCE)])

    drive(operation())
    assert 2 <= highest <= AT_ONCE


def test_threads_see_the_callers_context():
    variable = contextvars.ContextVar("variable", default="unset")
    variable.set("set")

    def one():
        return (yield Do(variable.get, None))

    def operation():
        return (yield Together([one(), one()]))

    assert run(operation()) == ["set", "set"]


def test_nothing_together_is_nothing(drive):
    def operation():
        return (yield Together([]))

    assert drive(operation()) == []


def test_a_model_that_has_no_more_to_say_is_told_as_it_says_it():
    def operation():
        yield Do(lambda: next(iter(())), None)

    with pytest.raises(StopIteration):
        run(operation())
