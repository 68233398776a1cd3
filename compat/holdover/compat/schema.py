"""The documented schema of an item, as pydantic models; unknown fields are kept."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field


class _Open(BaseModel):
    model_config = ConfigDict(extra="allow")


class Source(_Open):
    """Where a record came from."""

    kind: Literal["chain", "migration", "adoption", "human", "agent"]
    run: str | None = None
    turn: list[str] | None = None
    locator: str | None = None
    model: str | None = None


class Meta(_Open):
    """What is known about a record; null and empty fields are not stored."""

    v: Annotated[int, Field(ge=1)]
    revision: str
    parent: str | None = None
    status: Literal["inferred", "imported", "verified"]
    recorded_at: AwareDatetime
    valid_from: AwareDatetime | None = None
    valid_to: AwareDatetime | None = None
    expires_at: AwareDatetime | None = None
    confidence: Annotated[float, Field(ge=0, le=1)] | None = None
    aliases: list[str] | None = None
    escaped: list[str] | None = None
    hash: str
    source: Source


class Record(_Open):
    """The value of one item."""

    kind: Literal["entity", "message", "turn", "summary", "triple"]
    content: dict[str, Any]
    meta: Meta
