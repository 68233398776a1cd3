"""Scan: what a source holds. Writes nothing."""

from __future__ import annotations

from holdover.migrate.ends import opened_source
from holdover.migrate.options import Options
from holdover.migrate.sources.base import Inventory


def scan(source: str, options: Options | None = None) -> Inventory:
    """Look at a source.

    Raises:
        SourceError: It cannot be read.
    """
    with opened_source(source, (options or Options()).prepared()) as opened:
        return opened.inventory(others=True)
