"""A vector memory needs a retriever, or a store that stands in for one."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ValidationError

from holdover.compat.place import Place


def may_be_missing(kind: type[BaseModel], fields: dict[str, Any]) -> None:
    """Let a memory be made without a retriever; `check_retriever` looks at it then."""
    if kind.model_fields["retriever"].is_required():
        fields.setdefault("retriever", None)


def check_retriever(memory: Any, place: Place, fields: dict[str, Any]) -> None:
    """Check a memory that was made of these fields, and keeps what it has in a place.

    Raises:
        ValidationError: Its retriever is missing, in the words of pydantic.
    """
    if memory.retriever is None and not place.is_shared:
        raise ValidationError.from_exception_data(
            type(memory).__name__,
            [{"type": "missing", "loc": ("retriever",), "input": fields}],
        )
