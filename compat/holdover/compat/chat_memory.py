"""`BaseChatMemory`: memories over a chat history, on a store if they are given one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    message_to_dict,
    messages_from_dict,
)
from pydantic import (
    Field,
    PlainSerializer,
    PrivateAttr,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from holdover.compat import base, io_keys
from holdover.compat.base import BaseChatMessageHistory
from holdover.compat.both_ways import Do, Operation
from holdover.compat.chat_message_histories.in_memory import ChatMessageHistory
from holdover.compat.memory import StoreMemory
from holdover.compat.messages import as_messages
from holdover.compat.place import Place

__all__ = ["BaseChatMemory"]


def _read_history(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    """Accept what `_dump_history` made of a history."""
    if isinstance(value, Mapping) and isinstance(value.get("messages"), list):
        value = value["messages"]
    if isinstance(value, list):
        said = [one for one in value if isinstance(one, BaseMessage)]
        if len(said) != len(value):
            said = messages_from_dict(value)
        return ChatMessageHistory(messages=said)
    return check(value)


def _dump_history(history: BaseChatMessageHistory) -> dict[str, Any]:
    return {"messages": [message_to_dict(message) for message in history.messages]}


History = Annotated[
    BaseChatMessageHistory,
    WrapValidator(_read_history),
    PlainSerializer(_dump_history, return_type=dict, when_used="json"),
]


class BaseChatMemory(StoreMemory, base.BaseChatMemory):
    """What memories over a chat history have in common.

    `store=` and `session_id=` keep the messages in a store; a history given as
    `chat_memory` is used as it is.
    """

    chat_memory: History = Field(default_factory=ChatMessageHistory)

    _state_fields: ClassVar[tuple[str, ...]] = ("chat_memory",)

    # Its own store, under the session of a history of another package.
    _of_history: Place | None = PrivateAttr(default=None)

    def __init__(self, *args: Any, **fields: Any) -> None:
        super().__init__(*args, **fields)
        if "chat_memory" not in self.model_fields_set and self._place.is_shared:
            self.chat_memory = self._stored_history(self._place)

    def _stored_history(self, place: Place) -> BaseChatMessageHistory:
        from holdover.compat.chat_message_histories.store import (  # noqa: PLC0415
            StoreChatMessageHistory,
        )

        return StoreChatMessageHistory.at(place)

    def _records_place(self) -> Place:
        """Where what it derives is kept: its own store, else its history's."""
        own = self._place
        if own.is_shared and own.is_named:
            return own
        history: Any = self.chat_memory
        place = getattr(history, "place", None)
        if isinstance(place, Place) and own.store is None:
            return place
        session = getattr(history, "session_id", None)
        if own.is_named or not isinstance(session, str):
            return own
        if self._of_history is None or self._of_history.session != session:
            self._of_history = own.for_session(session)
        return self._of_history

    def _get_input_output(
        self, inputs: dict[str, Any], outputs: dict[str, Any]
    ) -> tuple[Any, Any]:
        """What was said, and the answer, as the chain gave them."""
        return self._said(inputs), self._answered(outputs)

    def _said(self, inputs: Mapping[str, Any]) -> Any:
        return io_keys.said(inputs, self.input_key, self.memory_variables)

    def _answered(self, outputs: Mapping[str, Any]) -> Any:
        return io_keys.answered(outputs, self.output_key, type(self).__name__)

    def _turn(
        self, inputs: dict[str, Any], outputs: dict[str, Any]
    ) -> list[BaseMessage]:
        said, answered = self._get_input_output(inputs, outputs)
        return [*as_messages(said, HumanMessage), *as_messages(answered, AIMessage)]

    def _save(
        self, inputs: dict[str, Any], outputs: dict[str, Any]
    ) -> Operation[list[BaseMessage]]:
        """Keep a turn, and give its messages."""
        turn, history = self._turn(inputs, outputs), self.chat_memory
        yield Do(
            lambda: history.add_messages(turn), lambda: history.aadd_messages(turn)
        )
        return turn

    def _clear(self) -> Operation[None]:
        history = self.chat_memory
        yield Do(history.clear, history.aclear)

    def _dump_state(self) -> dict[str, Any]:
        return _dump_history(self.chat_memory)

    def _load_state(self, state: Mapping[str, Any]) -> None:
        history = self.chat_memory
        if not history.messages:
            history.add_messages(messages_from_dict(state["messages"]))
