"""Stores: opening them by address, and reading and writing them exactly."""

from holdover.compat.stores.choosing import backend_for
from holdover.compat.stores.opening import close_stores, open_store

__all__ = ["backend_for", "close_stores", "open_store"]
