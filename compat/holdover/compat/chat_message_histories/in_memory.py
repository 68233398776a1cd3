"""`ChatMessageHistory`: messages in this object alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdover.compat.base import InMemoryChatMessageHistory

__all__ = ["ChatMessageHistory"]


class ChatMessageHistory(InMemoryChatMessageHistory):
    """A history in memory; gone with the object."""

    def __setstate__(self, state: Any) -> None:
        """Take up a state, also one that pydantic 1 pickled."""
        if not isinstance(state, Mapping):
            from holdover.compat.old_states import (  # noqa: PLC0415 - rarely needed
                check_state,
            )

            check_state(type(self), state)
        super().__setstate__(state)
        if "__pydantic_fields_set__" not in state:
            from holdover.compat.half_made import mend  # noqa: PLC0415 - rarely needed

            mend([self])
