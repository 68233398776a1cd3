"""What every rewrite must be, whatever it changes."""

from __future__ import annotations

import pytest

from holdover.migrate.codemod.parsing import still_parses
from holdover.migrate.codemod.rule import ALL
from holdover.migrate.codemod.source import rewrite


@pytest.fixture(scope="session")
def rewritten():
    """Rewrites a source; proves that once is enough, and adds no odd character."""

    def run(source, *, codes=ALL, **about):
        done = rewrite(source, codes=frozenset(codes), **about)
        again = rewrite(done.text, codes=frozenset(codes), **about)
        assert again.text == done.text
        assert not any(finding.fixed for finding in again.findings)
        assert still_parses(source, done.text)
        assert done.text.isascii() >= source.isascii()
        return done

    return run
