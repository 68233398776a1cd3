"""A session's messages as the state of an agent: valid for every model, nothing lost.

An old history may hold what no model accepts today: a tool's result whose call was
trimmed away, a call that never got a result, roles and forms of older releases. Each
is given a valid form; what a message was before stands in its
`response_metadata["holdover"]`.
"""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    BaseMessageChunk,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
    message_chunk_to_message,
)

from holdover.compat.message_records import message_from

#: Where a message says what it was before.
MARK = "holdover"
#: What a result that was made up says.
NOT_RECORDED = "The result of this call was not recorded."
_IDS = uuid.UUID("6f4d1f0a-9a3e-5c57-9f0e-7d3c2f1b8a64")
_SPEAKERS: dict[str, type[BaseMessage]] = {
    "human": HumanMessage,
    "user": HumanMessage,
    "ai": AIMessage,
    "assistant": AIMessage,
    "system": SystemMessage,
    "developer": SystemMessage,
}
_RESULTS = ("tool", "function")
# What agents of the first function-calling models named an argument without a name.
_ARGUMENT = "__arg1"
_UNNAMED = "unknown"


@dataclass
class State:
    """The messages of a thread.

    Attributes:
        messages: They, valid.
        changes: How many messages were changed or added, by what was done.
    """

    messages: list[BaseMessage]
    changes: Counter[str] = field(default_factory=Counter)


def state_of(contents: Iterable[tuple[int, Mapping[str, Any]]], session: str) -> State:
    """Build the state of a session.

    Args:
        contents: Position and content of each message's record, in order.
        session: What makes ids differ from those of other sessions.
    """
    return _Builder(session).built(contents)


def is_removal(content: Mapping[str, Any]) -> bool:
    """Whether a record is a `RemoveMessage`, which says nothing."""
    data = content.get("data")
    text = data.get("content") if isinstance(data, Mapping) else data
    return content.get("type") == "remove" and not text


def is_made_up(message: BaseMessage) -> bool:
    """Whether a message stands for what was not recorded."""
    return _mark_of(message).get("made_up") is True


@dataclass(eq=False)
class _Asked:
    """A call, where its message is, and the id it had there."""

    at: int
    call: ToolCall
    had: str | None
    answered: bool = False


class _Waiting:
    """The calls that may still be answered, by their ids and by their tools."""

    def __init__(self) -> None:
        self._all: list[_Asked] = []
        self._by: dict[tuple[str, Any], list[_Asked]] = {}

    def add(self, one: _Asked) -> None:
        self._all.append(one)
        self._by.setdefault(("id", one.had), []).append(one)
        self._by.setdefault(("name", one.call["name"]), []).append(one)

    def take(self, result: ToolMessage | FunctionMessage) -> _Asked | None:
        """The newest call that a result answers; of several in one message, the first.

        A result of the first releases names its tool only.
        """
        if isinstance(result, FunctionMessage):
            asked = self._by.get(("name", result.name), [])
        elif result.tool_call_id:
            asked = self._by.get(("id", result.tool_call_id), [])
        else:
            return None
        while asked and asked[-1].answered:
            asked.pop()
        if not asked:
            return None
        found = asked[-1]
        for one in reversed(asked):
            if one.at != found.at:
                break
            if not one.answered:
                found = one
        found.answered = True
        return found

    def unanswered(self) -> list[_Asked]:
        return [one for one in self._all if not one.answered]


class _Builder:
    def __init__(self, session: str) -> None:
        self._session = session
        self._changes: Counter[str] = Counter()
        self._ids: set[str] = set()

    def built(self, contents: Iterable[tuple[int, Mapping[str, Any]]]) -> State:
        messages = []
        for position, content in contents:
            message = self._read(content)
            if message is None:
                continue
            self._give_id(message, position)
            messages.append(message)
        messages = self._paired(messages)
        messages = self._systems_first(messages)
        return State(messages, self._changes)

    # One message.

    def _read(self, content: Mapping[str, Any]) -> BaseMessage | None:
        if is_removal(content):
            # An instruction to a list, which no history ever carried out.
            self._changes["removal left out"] += 1
            return None
        message = message_from(content.get("type"), content.get("data"))
        if isinstance(message, BaseMessageChunk):
            message = message_chunk_to_message(message)
            self._changes["chunk made a message"] += 1
        if isinstance(message, ChatMessage):
            message = self._spoken(message)
        if isinstance(message, AIMessage):
            self._read_calls(message)
        return message

    def _spoken(self, message: ChatMessage) -> BaseMessage:
        """A message of a role that models know; a role of its own becomes a name."""
        role = message.role
        self._changes["role translated"] += 1
        fields: dict[str, Any] = {
            "content": message.content,
            "name": message.name,
            "id": message.id,
            "additional_kwargs": message.additional_kwargs,
            "response_metadata": message.response_metadata,
        }
        if role in _RESULTS:
            made: BaseMessage = FunctionMessage(
                **{**fields, "name": message.name or _UNNAMED}
            )
        else:
            made = _SPEAKERS.get(role.lower(), HumanMessage)(**fields)
            if role.lower() not in _SPEAKERS:
                made.name = message.name or _name_of(role)
        _mark(made, was="chat", role=role, **_extra(message))
        return made

    def _read_calls(self, message: AIMessage) -> None:
        """Make every call of a tool a `tool_calls` entry, however it was written."""
        calls = list(message.tool_calls)
        known = {call["id"] for call in calls}
        for block in message.content if isinstance(message.content, list) else ():
            if isinstance(block, dict) and block.get("type") == "tool_use":
                name, args = block.get("name"), block.get("input")
                if block.get("id") not in known and isinstance(name, str):
                    calls.append(_call(name, args, block.get("id")))
                    self._changes["call read from its content"] += 1
        for broken in message.invalid_tool_calls:
            calls.append(_call(broken["name"], broken["args"], broken["id"]))
            self._changes["arguments that are no JSON kept as text"] += 1
        if message.invalid_tool_calls:
            _mark(message, invalid_tool_calls=list(message.invalid_tool_calls))
            message.invalid_tool_calls = []
        old = message.additional_kwargs.get("function_call")
        if isinstance(old, Mapping):
            kept = dict(message.additional_kwargs)
            del kept["function_call"]
            message.additional_kwargs = kept
            _mark(message, function_call=dict(old))
            if not calls:
                call = _call(old.get("name"), old.get("arguments"), None)
                calls.append(call)
                self._changes["function call made a tool call"] += 1
                if _ARGUMENT in call["args"]:
                    self._changes["arguments that are no JSON kept as text"] += 1
        message.tool_calls = calls

    def _give_id(self, message: BaseMessage, position: int) -> None:
        """Keep an id, unless another message of the session has it already."""
        given = message.id
        if given:
            if given not in self._ids:
                self._ids.add(given)
                return
            self._changes["id given twice"] += 1
            _mark(message, id=given)
        message.id = self._fresh("message", str(position))
        self._ids.add(message.id)

    def _fresh(self, *of: str) -> str:
        """An id that is the same in every run and not taken yet."""
        text = "\x00".join((self._session, *of))
        made = str(uuid.uuid5(_IDS, text))
        while made in self._ids:
            text += "\x00"
            made = str(uuid.uuid5(_IDS, text))
        return made

    # Calls and their results.

    def _paired(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Put every result right after its call; make up the half that is missing."""
        results: dict[int, list[ToolMessage]] = {}
        waiting = _Waiting()
        places: list[BaseMessage | None] = []
        spoken = -1
        for at, message in enumerate(messages):
            if isinstance(message, ToolMessage | FunctionMessage):
                asked = waiting.take(message)
                if asked is None:
                    places.append(self._answer(message, None))
                    continue
                if spoken > asked.at:
                    self._changes["result moved to its call"] += 1
                results[asked.at].append(self._answer(message, asked.call))
                places.append(None)
                continue
            spoken = at
            if isinstance(message, AIMessage) and message.tool_calls:
                results[at] = []
                for one in self._announced(message, at):
                    waiting.add(one)
            places.append(message)
        for one in waiting.unanswered():
            results[one.at].append(self._made_up_result(one.call))
        return self._laid_out(places, results)

    def _announced(self, message: AIMessage, at: int) -> list[_Asked]:
        """The calls of a message with ids that differ, beside those they had."""
        found, seen = [], set()
        for number, call in enumerate(message.tool_calls):
            had = call["id"]
            own = had
            if not own or own in seen:
                own = f"call_{self._fresh('call', str(message.id), str(number))}"
                if had:
                    self._changes["id given twice"] += 1
            seen.add(own)
            found.append(_Asked(at, {**call, "id": own}, had))
        message.tool_calls = [one.call for one in found]
        return found

    def _answer(
        self, message: ToolMessage | FunctionMessage, call: ToolCall | None
    ) -> ToolMessage:
        """The result as a tool message that names its call."""
        if isinstance(message, ToolMessage):
            if call is not None and message.tool_call_id != call["id"]:
                message.tool_call_id = str(call["id"])
            if call is None and not message.tool_call_id:
                message.tool_call_id = f"call_{message.id}"
            return message
        self._changes["function result made a tool result"] += 1
        made = ToolMessage(
            content=message.content,
            name=message.name,
            id=message.id,
            tool_call_id=str(call["id"]) if call else f"call_{message.id}",
            additional_kwargs=message.additional_kwargs,
            response_metadata=message.response_metadata,
        )
        if "was" not in _mark_of(made):
            _mark(made, was="function", **_extra(message))
        return made

    def _made_up_result(self, call: ToolCall) -> ToolMessage:
        self._changes["result made up"] += 1
        made = ToolMessage(
            content=NOT_RECORDED,
            name=call["name"],
            tool_call_id=str(call["id"]),
            status="error",
            id=self._fresh("result", str(call["id"])),
        )
        self._ids.add(str(made.id))
        _mark(made, made_up=True)
        return made

    def _made_up_call(self, results: Sequence[ToolMessage]) -> AIMessage:
        """What must have been said for these results to be there."""
        self._changes["call made up"] += 1
        seen: set[str] = set()
        for number, result in enumerate(results):
            if result.tool_call_id in seen:
                result.tool_call_id = f"{result.tool_call_id}_{number}"
            seen.add(result.tool_call_id)
        made = AIMessage(
            content="",
            tool_calls=[_call(r.name, {}, r.tool_call_id) for r in results],
            id=self._fresh("call", str(results[0].id)),
        )
        self._ids.add(str(made.id))
        _mark(made, made_up=True)
        return made

    def _laid_out(
        self,
        places: Sequence[BaseMessage | None],
        results: Mapping[int, Sequence[ToolMessage]],
    ) -> list[BaseMessage]:
        found: list[BaseMessage] = []
        orphans: list[ToolMessage] = []
        for at, message in enumerate(places):
            if isinstance(message, ToolMessage):
                orphans.append(message)
                continue
            if message is None:
                continue
            self._adopt(found, orphans)
            found.append(message)
            found += results.get(at, ())
        self._adopt(found, orphans)
        return found

    def _adopt(self, found: list[BaseMessage], orphans: list[ToolMessage]) -> None:
        if orphans:
            found += [self._made_up_call(orphans), *orphans]
            orphans.clear()

    # System messages.

    def _systems_first(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Models take system messages in front, some of them only there."""
        front: list[BaseMessage] = []
        rest: list[BaseMessage] = []
        for at, message in enumerate(messages):
            if not isinstance(message, SystemMessage):
                rest.append(message)
                continue
            if rest:
                self._changes["system message moved to the front"] += 1
                _mark(message, place=at)
            front.append(message)
        return [*front, *rest]


def _call(name: Any, args: Any, identity: Any) -> ToolCall:
    if isinstance(args, str):
        try:
            parsed = json.loads(args) if args.strip() else {}
        except (ValueError, RecursionError):
            parsed = None
        args = parsed if isinstance(parsed, dict) else {_ARGUMENT: args}
    elif args is None:
        args = {}
    elif not isinstance(args, dict):
        args = {_ARGUMENT: args}
    return ToolCall(
        name=name if isinstance(name, str) and name else _UNNAMED,
        args=args,
        id=identity if isinstance(identity, str) else None,
        type="tool_call",
    )


def _name_of(role: str) -> str:
    """A role as the name of who speaks, in what models accept as one."""
    name = "".join(char if char.isalnum() or char in "_-" else "_" for char in role)
    return name[:64] or _UNNAMED


def _extra(message: BaseMessage) -> dict[str, Any]:
    """What a message of another class holds that its new class has no field for."""
    return {"fields": dict(message.model_extra)} if message.model_extra else {}


def _mark_of(message: BaseMessage) -> Mapping[str, Any]:
    mark = message.response_metadata.get(MARK)
    return mark if isinstance(mark, Mapping) else {}


def _mark(message: BaseMessage, **what: Any) -> None:
    message.response_metadata = {
        **message.response_metadata,
        MARK: {**_mark_of(message), **what},
    }
