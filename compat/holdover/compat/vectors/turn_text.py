"""The text of a turn that a vector memory embeds: what was said, and the answer.

What other memories and agents put beside them is not part of it: transcripts, lists of
steps, retrieved documents.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from langchain_core.agents import AgentAction, AgentFinish
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage

from holdover.compat.io_keys import INPUT_KEYS, OUTPUT_KEYS, STOP, required
from holdover.compat.messages import as_text

#: What these hold by convention is not part of a turn.
_BESIDE = frozenset(
    {
        "agent_scratchpad",
        "chat_history",
        "entities",
        "history",
        "intermediate_steps",
        "source_documents",
        STOP,
    }
)
_NOT_SAID = (AgentAction, AgentFinish, Document, BaseMessage)


def turn_text(
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    *,
    input_key: str | None,
    exclude_inputs: Collection[str],
    exclude_outputs: Collection[str],
) -> str:
    """A turn as lines of `key: value`.

    Raises:
        KeyError: There is no input of the name that was given.
    """
    if input_key is None:
        said = _chosen(inputs, exclude_inputs, INPUT_KEYS, None)
    else:
        said = {input_key: required(inputs, input_key, "input_key")}
    answered = _chosen(outputs, exclude_outputs, OUTPUT_KEYS, OUTPUT_KEYS[0])
    return "\n".join(
        f"{name}: {as_text(value)}"
        for name, value in (*said.items(), *answered.items())
    )


def _chosen(
    values: Mapping[str, Any],
    exclude: Collection[str],
    conventional: Sequence[str],
    first: str | None,
) -> dict[str, Any]:
    """The only value, else `first`, else the only conventional, else all texts."""
    left = {name: value for name, value in values.items() if name not in exclude}
    if len(left) < 2:  # noqa: PLR2004 - nothing to choose from
        return left
    told = {name: value for name, value in left.items() if name not in _BESIDE}
    known = [name for name in conventional if name in told]
    if first in known:
        known = known[:1]
    if len(known) == 1:
        return {known[0]: told[known[0]]}
    return {name: value for name, value in told.items() if _is_said(value)}


def _is_said(value: Any) -> bool:
    if isinstance(value, (*_NOT_SAID, Mapping)):
        return isinstance(value, BaseMessage)
    if isinstance(value, list | tuple):
        return not any(isinstance(one, (*_NOT_SAID, list, tuple)) for one in value)
    return True
