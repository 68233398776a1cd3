"""What memories make of a chain's values, and how they show messages as text."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
)
from langchain_core.prompt_values import PromptValue
from pydantic import BaseModel

_OTHER_ROLES = ("System", "Function", "Tool")
_LINE_ENDS = r"(?:\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029])"
_HASH_DIGITS = 32
#: The content blocks of LangChain and of the providers.
_BLOCKS = frozenset(
    """
    text text-plain image image_file audio input_audio video file document media
    reasoning thinking redacted_thinking tool_use tool_result tool_call
    server_tool_call server_tool_result function_call refusal citation
    non_standard input_text input_image input_file output_text
    """.split()  # noqa: SIM905 - a list to be read
)


def as_messages(value: Any, kind: type[BaseMessage]) -> list[BaseMessage]:
    """What a chain was given or returned, as messages.

    Messages stay what they are; text and content blocks become one of `kind`; any
    other value becomes one with its JSON text. Nothing raises: the model has
    answered already.
    """
    if isinstance(value, BaseMessage):
        return [value]
    if isinstance(value, PromptValue):
        return value.to_messages()
    if isinstance(value, list) and not value:
        return [kind(content=[])]
    if isinstance(value, list | tuple) and value:
        if all(isinstance(one, BaseMessage) for one in value):
            return list(value)
        if all(_is_block(one) for one in value):
            return [kind(content=list(value))]
        if all(_is_role_and_content(one) for one in value):
            try:
                return convert_to_messages(value)
            except ValueError:  # a role nobody knows
                return [kind(content=json_text(value))]
    return [kind(content=_scalar_text(value))]


def as_text(value: Any) -> str:
    """What a chain was given or returned, as text: to search or to ask about.

    Of content blocks only the text is kept; others are named, as `[image]`: nobody
    searches by the bytes of a picture.
    """
    if isinstance(value, str):
        return value
    messages = as_messages(value, HumanMessage)
    return "\n".join(filter(None, map(content_text, messages)))


def content_text(message: BaseMessage) -> str:
    """The text of a message, with a word for each block that is not text."""
    content = message.content
    if isinstance(content, str):
        return content
    return " ".join(filter(None, map(_block_text, content)))


def json_text(value: Any) -> str:
    """Any value as JSON, readable and without escapes where there is a way."""
    if isinstance(value, BaseModel):
        value = value.model_dump()
    try:
        return json.dumps(value, ensure_ascii=False, default=_plain)
    except (TypeError, ValueError, RecursionError):
        return str(value)


def render(
    messages: Sequence[BaseMessage], human_prefix: str = "Human", ai_prefix: str = "AI"
) -> str:
    """Messages as one text, a turn a line, as `get_buffer_string` writes them.

    A line of somebody's text that looks like the beginning of a turn is quoted with
    `> `: what a user typed cannot pass for what the AI said.
    """
    imitation = _imitations(human_prefix, ai_prefix)
    lines = []
    for message in messages:
        text = imitation.sub(r"\g<0>> ", _spoken(message))
        lines.append(f"{_role(message, human_prefix, ai_prefix)}: {text}")
    return "\n".join(lines)


def message_hash(message: BaseMessage) -> str:
    """The same for one message however a history stored it; ids do not count."""
    said = {
        "type": message.type,
        "content": message.content,
        "name": message.name,
        "tool_calls": [
            (call.get("name"), call.get("args"), call.get("id"))
            for call in getattr(message, "tool_calls", None) or ()
        ],
        "tool_call_id": getattr(message, "tool_call_id", None),
    }
    options = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS
    try:
        raw = orjson.dumps(said, default=str, option=options)
    except TypeError:  # lone surrogates, numbers beyond 64 bits
        raw = json.dumps(said, sort_keys=True, default=str).encode()
    return hashlib.sha256(raw).hexdigest()[:_HASH_DIGITS]


def _is_block(value: Any) -> bool:
    """Whether it is a part of a message's content, and not data that has a type."""
    if isinstance(value, Mapping):
        return str(value.get("type")).removesuffix("_url") in _BLOCKS
    return isinstance(value, str)


def _is_role_and_content(value: Any) -> bool:
    if isinstance(value, Mapping):
        return isinstance(value.get("role"), str) and "content" in value
    pair = isinstance(value, tuple) and len(value) == 2  # noqa: PLR2004
    return pair and all(isinstance(part, str) for part in value)


def _scalar_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "replace")
    return json_text(value)


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump()
    return str(value)


def _block_text(block: Any) -> str:
    if isinstance(block, str):
        return block
    text = block.get("text")
    if isinstance(text, str):
        return text
    return f"[{str(block.get('type', 'content')).removesuffix('_url')}]"


def _imitations(human_prefix: str, ai_prefix: str) -> re.Pattern[str]:
    roles = "|".join(map(re.escape, (human_prefix, ai_prefix, *_OTHER_ROLES)))
    # Bounded: what somebody types must not cost more than its length.
    return re.compile(
        rf"{_LINE_ENDS}(?=[ \t\xa0\u3000]{{0,16}}(?:{roles})\s{{0,16}}:)", re.IGNORECASE
    )


def _spoken(message: BaseMessage) -> str:
    """The text of a message, and the calls an AI made in it."""
    content = message.content
    if isinstance(content, str):
        text = content
    else:
        blocks = (b if isinstance(b, str) else b.get("text", "") for b in content)
        text = "".join(block for block in blocks if isinstance(block, str))
    if isinstance(message, AIMessage):
        if message.tool_calls:
            return text + str(message.tool_calls)
        if "function_call" in message.additional_kwargs:
            return text + str(message.additional_kwargs["function_call"])
    return text


def _role(message: BaseMessage, human_prefix: str, ai_prefix: str) -> str:
    if isinstance(message, HumanMessage):
        return human_prefix
    if isinstance(message, AIMessage):
        return ai_prefix
    if isinstance(message, SystemMessage):
        return "System"
    if isinstance(message, FunctionMessage):
        return "Function"
    if isinstance(message, ToolMessage):
        return "Tool"
    if isinstance(message, ChatMessage):
        return message.role
    return message.type.capitalize()
