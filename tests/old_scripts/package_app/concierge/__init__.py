"""A concierge: `python -m concierge LINE...`."""

from .memories import build_memory

__all__ = ["build_memory"]
