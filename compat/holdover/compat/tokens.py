"""How many tokens messages take: by the given counter, the model's, or an estimate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.messages.utils import count_tokens_approximately

from holdover.compat.notices import warn_once
from holdover.compat.prompting import language_model_of

TokenCounter = Callable[[list[BaseMessage]], int]


def counter_of(llm: Any, token_counter: TokenCounter | None) -> TokenCounter:
    """What counts: `token_counter`, else the model's own, else an estimate.

    Many models have no counter, do not know their name, or would download a
    tokenizer; then it is estimated, with one warning.
    """
    if token_counter is not None:
        return token_counter

    def count(messages: Sequence[BaseMessage]) -> int:
        said = list(messages)
        model = language_model_of(llm)
        if model is None:
            return estimate(said)
        try:
            number = model.get_num_tokens_from_messages(said)
        except Exception as error:  # noqa: BLE001 - a tokenizer may raise anything
            number, why = None, type(error).__name__
        else:
            why = f"it gives a {type(number).__name__}"
        if isinstance(number, int):
            return number
        warn_once(
            f"{type(model).__name__} cannot count tokens ({why}); they are estimated. "
            "Pass token_counter= to count them."
        )
        return estimate(said)

    return count


def estimate(messages: Sequence[BaseMessage]) -> int:
    """About four characters a token."""
    return count_tokens_approximately(messages)
