"""`ConversationStringBufferMemory`: the whole conversation as one text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from pydantic import PrivateAttr, computed_field, model_validator

from holdover.compat import io_keys
from holdover.compat.both_ways import Do, Operation, arun, run
from holdover.compat.memory import StoreMemory
from holdover.compat.messages import as_messages, content_text, render
from holdover.compat.transcript import everything

if TYPE_CHECKING:
    from holdover.compat.chat_message_histories.store import StoreChatMessageHistory

__all__ = ["ConversationStringBufferMemory"]

#: Marks the message that holds the text a session began with.
_TRANSCRIPT = "transcript"


class ConversationStringBufferMemory(StoreMemory):
    """Gives the whole conversation as text.

    On a store the turns are messages, as everywhere, and the text is made of them.

    Args:
        buffer: The text a session without any turn begins with.
    """

    human_prefix: str = "Human"
    ai_prefix: str = "AI"
    output_key: str | None = None
    input_key: str | None = None
    memory_key: str = "history"

    _state_fields: ClassVar[tuple[str, ...]] = ("buffer",)

    # What is kept here: everything, or what a stored session will begin with. A list,
    # to which several threads can add.
    _texts: list[str] = PrivateAttr(default_factory=list)
    _stored: StoreChatMessageHistory | None = PrivateAttr(default=None)

    def __init__(self, *args: Any, **fields: Any) -> None:
        text = fields.pop("buffer", "")
        if not isinstance(text, str):
            raise TypeError("buffer must be text.")
        if not fields.get("return_messages", True):
            del fields["return_messages"]
        super().__init__(*args, **fields)
        self._texts = _list_of(text)
        if self._place.is_shared:
            from holdover.compat.chat_message_histories.store import (  # noqa: PLC0415
                StoreChatMessageHistory,
            )

            self._stored = StoreChatMessageHistory.at(self._place)

    @model_validator(mode="before")
    @classmethod
    def validate_chains(cls, values: Any) -> Any:
        """Refuse to return messages."""
        if isinstance(values, Mapping) and values.get("return_messages"):
            raise ValueError(
                "return_messages must be False for ConversationStringBufferMemory"
            )
        return values

    @computed_field(repr=False)  # type: ignore[prop-decorator]
    @property
    def buffer(self) -> str:
        """The text; assigning one replaces the conversation."""
        return run(self._read())

    @buffer.setter
    def buffer(self, text: str) -> None:
        run(self._assign(text))

    @property
    def memory_variables(self) -> list[str]:
        """The one name it adds."""
        return [self.memory_key]

    def _read(self) -> Operation[str]:
        if self._stored is None:
            return "".join(self._texts)
        messages = yield from everything(self._stored)
        return "".join(map(self._lines, messages)) if messages else "".join(self._texts)

    def _lines(self, message: BaseMessage) -> str:
        if message.additional_kwargs.get(_TRANSCRIPT):
            return content_text(message)
        return "\n" + self._rendered([message])

    def _rendered(self, messages: Sequence[BaseMessage]) -> str:
        return render(messages, self.human_prefix, self.ai_prefix)

    def _turn(
        self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]
    ) -> list[BaseMessage]:
        said = io_keys.said(inputs, self.input_key, self.memory_variables)
        answered = io_keys.answered(outputs, self.output_key, type(self).__name__)
        return [*as_messages(said, HumanMessage), *as_messages(answered, AIMessage)]

    def _save(
        self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]
    ) -> Operation[None]:
        turn, stored = self._turn(inputs, outputs), self._stored
        if stored is None:
            self._texts.append("\n" + self._rendered(turn))
            return
        # Taken at once: of two turns that overlap, one puts it in front.
        try:
            first = self._texts.pop()
        except IndexError:
            first = ""
        try:
            if first and not (
                yield Do(lambda: stored.page(limit=1), lambda: stored.apage(limit=1))
            ):
                turn.insert(0, _transcript(first))
            yield Do(
                lambda: stored.add_messages(turn), lambda: stored.aadd_messages(turn)
            )
        except BaseException:
            self._texts += _list_of(first)
            raise

    def _assign(self, text: str) -> Operation[None]:
        yield from self._clear()
        stored = self._stored
        if stored is None:
            self._texts = _list_of(text)
        elif text:
            said = [_transcript(text)]
            yield Do(
                lambda: stored.add_messages(said), lambda: stored.aadd_messages(said)
            )

    def _clear(self) -> Operation[None]:
        self._texts = []
        if self._stored is not None:
            yield Do(self._stored.clear, self._stored.aclear)

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Give the text."""
        return {self.memory_key: run(self._read())}

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """See `load_memory_variables`."""
        return {self.memory_key: await arun(self._read())}

    def _dump_state(self) -> dict[str, Any]:
        return {"buffer": self.buffer}

    def _load_state(self, state: Mapping[str, Any]) -> None:
        if not self.buffer:
            self.buffer = state["buffer"]


def _list_of(text: str) -> list[str]:
    return [text] if text else []


def _transcript(text: str) -> BaseMessage:
    """A text that is a whole conversation, as a message.

    What a user typed is in it: it must not have the weight of a system message.
    """
    return HumanMessage(content=text, additional_kwargs={_TRANSCRIPT: True})
