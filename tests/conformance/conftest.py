"""Places for the stores under test, and the modules of this folder."""

import contextlib
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

#: So many stores are checked at once: most of their time is spent waiting.
AT_ONCE = 3


@pytest.fixture(scope="session")
def given(request, tmp_path_factory):
    """Servers that start when asked for; those of the other tests are used again."""
    from stores import Servers

    urls = {}
    for name in ("postgres", "redis"):
        # Where there is none, the store that wants it says so.
        with contextlib.suppress(pytest.skip.Exception):
            urls[name] = request.getfixturevalue(f"{name}_server")
    with contextlib.ExitStack() as exits:
        yield Servers(tmp_path_factory.mktemp("stores"), exits, **urls)


@pytest.fixture(scope="session")
def reports(request, given):
    """The reports to come of the stores whose tests were selected, by name."""
    from expectations import EXPECTED
    from stores import OWN
    from third_party import THIRD_PARTY

    kinds = {**OWN, **THIRD_PARTY}
    selected = {
        item.callspec.params.get("checked")
        for item in request.session.items
        if hasattr(item, "callspec")
    }
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {
            name: pool.submit(kind.run, given, EXPECTED[name])
            for name, kind in kinds.items()
            if name in selected
        }
