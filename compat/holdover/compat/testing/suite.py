"""The suite for pytest: one test a property, in a class to inherit from."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, ClassVar

from langgraph.store.base import BaseStore

from holdover.compat.testing.checking import acheck, check
from holdover.compat.testing.outcomes import Capabilities, Difference, Outcome
from holdover.compat.testing.registry import properties
from holdover.compat.testing.report import Report, Result


class StoreConformance:
    """Inherit, in a module with a fixture `store`.

        @pytest.fixture(scope="module")
        def store():
            return MyStore()

        class TestMyStore(StoreConformance): ...

    A declared difference shows as an expected failure, with its reason; one that
    vanished fails. What is not applicable is skipped.

    The fixture may stand in the class as well. If its scope is wider than `function`,
    the store is checked once, for the selected tests. Otherwise each property gets a
    new one, and those that wait for time to pass wait one after the other.

    Attributes:
        capabilities: What the store claims; by default what it says of itself.
        differences: What it is known to lack.
    """

    capabilities: ClassVar[Capabilities | None] = None
    differences: ClassVar[Sequence[Difference]] = ()
    _checked: ClassVar[tuple[BaseStore, Report] | None] = None

    def pytest_generate_tests(self, metafunc: Any) -> None:
        """Make a test of each property."""
        if "property_name" in metafunc.fixturenames:
            metafunc.parametrize("property_name", [one.name for one in properties()])

    def test_conforms(self, store: BaseStore, property_name: str, request: Any) -> None:
        """The store has this property, or a difference declares that it has not."""
        cls = type(self)
        if cls._checked is None:
            cls._checked = (store, self._check(store, _selected(request)))
        known, report = cls._checked
        if known is not store:
            report = self._check(store, [property_name])
        _tell(report[property_name])

    def _check(self, store: BaseStore, only: list[str]) -> Report:
        return check(
            store,
            capabilities=self.capabilities,
            differences=self.differences,
            only=only,
        )


class AsyncStoreConformance:
    """The same for a store that lives in an event loop.

    Inherit, and override `opened`, an async context manager that gives the store.
    """

    capabilities: ClassVar[Capabilities | None] = None
    differences: ClassVar[Sequence[Difference]] = ()
    _report: ClassVar[Report | None] = None

    def opened(self) -> AbstractAsyncContextManager[BaseStore]:
        """Open the store, and close it afterwards."""
        raise NotImplementedError("Override `opened` to give the store.")

    def pytest_generate_tests(self, metafunc: Any) -> None:
        """Make a test of each property."""
        if "property_name" in metafunc.fixturenames:
            metafunc.parametrize("property_name", [one.name for one in properties()])

    def test_conforms(self, property_name: str, request: Any) -> None:
        """The store has this property, or a difference declares that it has not."""
        cls = type(self)
        if cls._report is None:
            cls._report = asyncio.run(self._check(_selected(request)))
        _tell(cls._report[property_name])

    async def _check(self, only: list[str]) -> Report:
        async with self.opened() as store:
            return await acheck(
                store,
                capabilities=self.capabilities,
                differences=self.differences,
                only=only,
            )


def _selected(request: Any) -> list[str]:
    """The properties whose tests of this class will run."""
    return [
        item.callspec.params["property_name"]
        for item in request.session.items
        if getattr(item, "cls", None) is request.cls
        and "property_name" in getattr(getattr(item, "callspec", None), "params", {})
    ]


def _tell(result: Result) -> None:
    import pytest  # noqa: PLC0415 - only who runs the tests has it

    if result.outcome is Outcome.NOT_APPLICABLE:
        pytest.skip("not applicable: the store does not claim it")
    if result.outcome is Outcome.DIFFERS:
        pytest.xfail(f"{result.reason} ({result.detail})")
    if result.outcome.is_failure:
        pytest.fail(
            f"{result.name} [{result.severity}] {result.outcome}\n"
            f"should be: {result.meaning}\nfound: {result.detail}",
            pytrace=False,
        )
