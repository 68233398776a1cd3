"""The report of a migration as one page that needs nothing but itself."""

from __future__ import annotations

__all__ = ["PageData", "render"]

from holdover.migrate.page.building import PageData, render
