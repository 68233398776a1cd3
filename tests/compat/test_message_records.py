"""A message as a record, and back: nothing raises, nothing is lost."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import uuid

import orjson
import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from pydantic import BaseModel

from holdover.compat import records
from holdover.compat.message_records import content_of, message_content, message_of

MESSAGES = [
    HumanMessage("hi"),
    HumanMessage("hi", id="m1", name="Ann"),
    HumanMessage(
        [
            {"type": "text", "text": "see"},
            {"type": "image_url", "image_url": {"url": "x"}},
        ]
    ),
    HumanMessage([]),
    HumanMessage(""),
    AIMessage("", tool_calls=[{"name": "f", "args": {"a": 1, "b": None}, "id": "c1"}]),
    AIMessage(
        "yes",
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        response_metadata={"finish_reason": "stop", "logprobs": None},
    ),
    AIMessage(
        "x", invalid_tool_calls=[{"name": "f", "args": "{", "id": "c", "error": "e"}]
    ),
    SystemMessage("be kind"),
    ChatMessage("x", role="critic"),
    FunctionMessage("x", name="f"),
    ToolMessage("x", tool_call_id="c1", artifact={"rows": [1, 2.5]}, status="error"),
    AIMessageChunk("part"),
    RemoveMessage(id="m1"),
]  # fmt: skip


def round_trip(message, key="k"):
    """Through what every store keeps: JSON."""
    meta = {"revision": "r", "recorded_at": "t"}
    value = records.build("message", message_content(message), meta)
    read = records.read("message", key, orjson.loads(orjson.dumps(value)))
    return message_of(read)


@pytest.mark.parametrize(
    "message", MESSAGES, ids=lambda m: f"{m.type}-{m.content!r:.20}"
)
def test_a_message_comes_back_equal(message):
    assert round_trip(message) == message
    assert type(round_trip(message)) is type(message)


def test_empty_fields_are_not_stored():
    assert message_content(HumanMessage("hi")) == {
        "type": "human",
        "data": {"content": "hi", "type": "human"},
    }


class Colour(enum.Enum):
    RED = "red"


class Model(BaseModel):
    when: dt.datetime = dt.datetime(2024, 5, 6, tzinfo=dt.UTC)


@dataclasses.dataclass
class Point:
    x: int = 1


class Rude:
    def __str__(self):
        raise RuntimeError("no")


LOOP: dict = {}
LOOP["self"] = LOOP
DEEP: list = []
for _ in range(500):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (b"text", "text"),
        (b"\xff\x00", "/wA="),
        (dt.datetime(2024, 5, 6, 7), "2024-05-06T07:00:00"),
        (dt.date(2024, 5, 6), "2024-05-06"),
        (uuid.UUID(int=7), str(uuid.UUID(int=7))),
        (decimal.Decimal("1.50"), "1.50"),
        (2**64, "18446744073709551616"),
        (2**63 - 1, 2**63 - 1),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (Colour.RED, "red"),
        (Model(), {"when": "2024-05-06T00:00:00+00:00"}),
        (Point(), {"x": 1}),
        ((1, 2), [1, 2]),
        ({1: "a", None: "b"}, {"1": "a", "None": "b"}),
        (Rude(), "<Rude>"),
        ("nul \x00 and \ud800", "nul \x00 and \ud800"),
        ({"nul\x00": 1}, {"nul~00": 1}),
    ],
)
def test_what_json_cannot_hold_is_kept_as_text(value, stored):
    read = round_trip(AIMessage("x", additional_kwargs={"value": value}))
    assert read.additional_kwargs["value"] == stored


@pytest.mark.parametrize(
    "value", [LOOP, DEEP, 10**5000], ids=["loop", "deep", "digits"]
)
def test_no_value_costs_a_turn(value):
    message = ToolMessage("x", tool_call_id="1", artifact=value)
    assert round_trip(message).content == "x"


def test_a_lone_surrogate_in_the_text_comes_back():
    assert round_trip(HumanMessage("a \ud800 b")).content == "a \ud800 b"


def test_what_is_no_message_is_refused():
    with pytest.raises(TypeError, match="str"):
        message_content("hi")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"text": "plain"}, HumanMessage("plain")),
        ({"role": "assistant", "content": "I"}, AIMessage("I")),
        ({"role": "user", "content": "you"}, HumanMessage("you")),
        ({"type": "system", "content": "rules"}, SystemMessage("rules")),
        ({"role": ["odd"], "content": "x"}, HumanMessage("x")),
    ],
)
def test_an_item_of_another_program_is_read_as_what_it_says(value, expected):
    assert message_of(records.read("message", "k", value)) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"type": "narrator", "data": {"content": "x", "id": "i"}},
         ChatMessage("x", role="narrator", id="i")),
        ({"type": "tool", "data": {"content": "no call id"}},
         ChatMessage("no call id", role="tool")),
        ({"type": "ai", "data": {"content": {"odd": 1}}}, AIMessage("{'odd': 1}")),
        ({"type": "ai", "data": {"content": "x", "tool_calls": "odd"}},
         ChatMessage("x", role="ai")),
        ({"type": "human", "data": {}}, HumanMessage("")),
        ({"type": "human", "data": "text"}, HumanMessage("text")),
        ({"data": {"content": "x"}}, ChatMessage("x", role="unknown")),
    ],
)  # fmt: skip
def test_a_record_that_is_no_known_message_is_still_shown(content, expected):
    value = {"kind": "message", "content": content, "meta": {}}
    assert message_of(records.read("message", "k", value)) == expected


def test_the_content_is_the_same_whichever_release_wrote_the_message():
    old = {"content": "x", "additional_kwargs": {}, "example": False}
    new = {"content": "x", "additional_kwargs": {}, "id": None, "name": None}
    assert content_of("human", old) == content_of("human", new)
