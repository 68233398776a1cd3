"""No public method, property or field of a classic class is without a scenario."""

import importlib.util
import warnings

import parity.scenarios  # noqa: F401 - registers them
import pytest
from parity.comparing import SCENARIOS, outcome
from parity.library import CLASSES, NEEDS
from parity.recording import fields_of, names_of, recorded, words_of

from holdover.compat import base

if base.CLASSIC is None:
    pytest.skip("no classic package to compare with", allow_module_level=True)

#: What nobody calls on these objects, or what cannot be called, with the reason.
NOT_CALLED = {
    # Classic cannot construct it.
    "UpstashRedisEntityStore": {
        "clear",
        "delete",
        "exists",
        "full_key_prefix",
        "get",
        "set",
    },
    # Of the SQL table, not of the history.
    "SQLChatMessageHistory": {"aadd_message", "Session"},
}
#: Arguments whose values only servers of their own would show.
NOT_NAMED = {"RedisEntityStore": {"redis_client"}}


def importable(name):
    return name not in NEEDS or importlib.util.find_spec(NEEDS[name])


NAMES = sorted(CLASSES)


@pytest.fixture(scope="module")
def classic(request, tmp_path_factory):
    from parity.library import Library

    give = request.getfixturevalue("servers_of")
    return Library("classic", "sync", tmp_path_factory.mktemp("classic"), give)


@pytest.fixture(scope="module")
def calls(classic, tmp_path_factory, servers_of):
    """Every scenario is done with classic once more, and its calls are noted."""
    from parity.library import Library

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kinds = [getattr(classic, name) for name in NAMES if importable(name)]
        with recorded(kinds) as calls:
            for one in SCENARIOS:
                if importable(one.of):
                    for way in one.ways:
                        servers_of.empty()
                        folder = tmp_path_factory.mktemp("run")
                        outcome(one, Library("classic", way, folder, servers_of))
    return calls


@pytest.mark.parametrize("name", NAMES)
def test_every_method_and_property_is_called(name, classic, calls):
    if not importable(name):
        pytest.skip(f"classic's {name} needs {NEEDS[name]}")
    own_name = getattr(classic, name).__name__
    called = {method for kind, method in calls if kind == own_name}
    wanted = set(names_of(getattr(classic, name))) - NOT_CALLED.get(name, set())
    assert sorted(wanted - called) == []


@pytest.mark.parametrize("name", NAMES)
def test_every_field_and_argument_is_named(name, classic):
    if not importable(name):
        pytest.skip(f"classic's {name} needs {NEEDS[name]}")
    wanted = set(fields_of(getattr(classic, name))) - NOT_NAMED.get(name, set())
    assert sorted(wanted - words_of(name)) == []
