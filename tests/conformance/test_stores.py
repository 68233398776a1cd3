"""Every store is as it should be, but for what is declared of it, by name."""

import asyncio
import importlib.metadata

import pytest
import servers
from expectations import EXPECTED, VERSIONS
from stores import OWN
from third_party import THIRD_PARTY

from holdover.compat.testing import acheck, properties

KINDS = {**OWN, **THIRD_PARTY}

pytestmark = [
    # Warnings of packages that are not ours.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.mark.parametrize("checked", KINDS)
def test_it_is_as_declared(checked, reports):
    for package in set(KINDS[checked].packages) & set(VERSIONS):
        installed = importlib.metadata.version(package)
        if installed != VERSIONS[package]:
            pytest.skip(f"what is declared is about {package} {VERSIONS[package]}")
    try:
        report = reports[checked].result()
    except (servers.Unavailable, importlib.metadata.PackageNotFoundError) as why:
        pytest.skip(str(why))
    assert report.failed == (), report.text()
    assert set(report.lacking) == {
        one.name
        for one in EXPECTED[checked]
        if (one.always or one.name in report.lacking)
        and report[one.name].outcome != "not applicable"
    }


def test_every_store_has_a_declaration():
    assert set(EXPECTED) == set(KINDS)


@pytest.mark.parametrize("name", ["sqlite", "postgres", "plain-redis"])
def test_ours_is_the_same_by_its_async_methods(name, given):
    only = [one.name for one in properties() if not one.sleeps]
    kind = KINDS[name]
    try:
        with kind.opened(given) as store:
            report = asyncio.run(
                acheck(
                    store,
                    capabilities=kind.capabilities,
                    differences=[one for one in EXPECTED[name] if one.name in only],
                    only=only,
                )
            )
    except servers.Unavailable as why:
        pytest.skip(str(why))
    assert report.failed == (), report.text()


@pytest.mark.parametrize("name", EXPECTED)
def test_each_is_declared_once_with_a_reason(name):
    names = [one.name for one in EXPECTED[name]]
    assert len(set(names)) == len(names)
    assert set(names) <= {one.name for one in properties()}
    assert all(one.reason for one in EXPECTED[name])
