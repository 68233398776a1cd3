"""Which of a chain's inputs is what was said, and which output the answer."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

#: The names chains and their documentation use; only the first kind is looked for
#: among inputs.
INPUT_KEYS = ("input", "question", "query", "human_input")
OUTPUT_KEYS = ("output", "answer", "result", "response", "text")
#: An input that steers the model and is never part of a prompt.
STOP = "stop"


def get_prompt_input_key(
    inputs: Mapping[str, Any], memory_variables: Sequence[str]
) -> str:
    """The only input that no memory supplies, else the only conventional one.

    Raises:
        ValueError: There is none, or there are several.
    """
    names = sorted(set(inputs).difference(memory_variables, (STOP,)))
    if len(names) == 1:
        return names[0]
    conventional = [name for name in INPUT_KEYS if name in names]
    if len(conventional) == 1:
        return conventional[0]
    raise ValueError(
        f"One input key expected got {names}. "
        "Pass input_key= to say which of them is what the human said."
    )


def get_output_key(outputs: Mapping[str, Any], owner: str) -> str:
    """The only output, else `output`, else the only conventional one.

    Args:
        outputs: What a chain returned.
        owner: The class to name in a warning.

    Raises:
        ValueError: There is none, or nothing tells which it is.
    """
    if len(outputs) == 1:
        return next(iter(outputs))
    names = sorted(outputs)
    if "output" in outputs:
        warnings.warn(
            f"{owner!r} got multiple output keys: {names}. The default 'output' key "
            "is being used. If this is not desired, please manually set "
            "'output_key'.",
            stacklevel=4,
        )
        return "output"
    conventional = [name for name in OUTPUT_KEYS if name in outputs]
    if len(conventional) == 1:
        return conventional[0]
    raise ValueError(
        f"Got multiple output keys: {names}, cannot determine which to store in "
        "memory. Pass output_key= to say which of them is the answer."
        if names
        else "One output key expected, got none: the chain returned nothing."
    )


def said(
    inputs: Mapping[str, Any], input_key: str | None, memory_variables: Sequence[str]
) -> Any:
    """What was said: under the key that was named, else the one that tells itself."""
    if input_key is None:
        return inputs[get_prompt_input_key(inputs, memory_variables)]
    return required(inputs, input_key, "input_key")


def answered(outputs: Mapping[str, Any], output_key: str | None, owner: str) -> Any:
    """The answer: under the key that was named, else the one that tells itself."""
    if output_key is None:
        return outputs[get_output_key(outputs, owner)]
    return required(outputs, output_key, "output_key")


def required(values: Mapping[str, Any], key: str, argument: str) -> Any:
    """The value of a key that was named by an argument.

    Raises:
        KeyError: It is not there; the message names the keys that are.
    """
    try:
        return values[key]
    except KeyError:
        raise KeyError(_missing(key, values, argument)) from None


def _missing(key: str, names: Iterable[str], argument: str) -> str:
    return f"{key!r} ({argument}) is not among the keys {sorted(names)}"
