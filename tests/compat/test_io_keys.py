"""Which input was said, which output is the answer."""

import pytest

from holdover.compat import get_prompt_input_key
from holdover.compat.io_keys import get_output_key, required


@pytest.mark.parametrize(
    ("inputs", "variables", "expected"),
    [
        ({"foo": 1}, [], "foo"),
        ({"foo": 1, "history": 2}, ["history"], "foo"),
        ({"foo": 1, "stop": 2}, [], "foo"),
        ({"input": 1, "language": 2}, [], "input"),
        ({"question": 1, "language": 2}, [], "question"),
        ({"query": 1, "language": 2}, [], "query"),
        ({"human_input": 1, "language": 2}, [], "human_input"),
        ({"input": 1, "question": 2, "history": 3}, ["history", "input"], "question"),
    ],
)
def test_an_input_that_tells_itself_is_used(inputs, variables, expected):
    assert get_prompt_input_key(inputs, variables) == expected


@pytest.mark.parametrize(
    "inputs",
    [{}, {"history": 1}, {"b": 1, "a": 2}, {"input": 1, "question": 2}],
)
def test_otherwise_the_error_names_the_keys_in_order_and_the_argument(inputs):
    names = sorted(set(inputs) - {"history"})

    with pytest.raises(ValueError, match="input_key=") as caught:
        get_prompt_input_key(inputs, ["history"])

    assert str(names) in str(caught.value)


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        ({"foo": 1}, "foo"),
        ({"answer": 1, "source_documents": 2}, "answer"),
        ({"result": 1, "source_documents": 2}, "result"),
        ({"response": 1, "steps": 2}, "response"),
        ({"text": 1, "steps": 2}, "text"),
    ],
)
def test_an_output_that_tells_itself_is_used(outputs, expected):
    assert get_output_key(outputs, "Memory") == expected


def test_output_among_several_is_used_with_a_warning():
    with pytest.warns(UserWarning, match="multiple output keys"):
        assert get_output_key({"output": 1, "answer": 2}, "Memory") == "output"


@pytest.mark.parametrize("outputs", [{}, {"a": 1, "b": 2}, {"answer": 1, "result": 2}])
def test_outputs_that_do_not_tell_are_an_error(outputs):
    with pytest.raises(ValueError):
        get_output_key(outputs, "Memory")


def test_a_named_key_that_is_not_there_is_a_key_error_that_names_those_that_are():
    with pytest.raises(KeyError, match=r"output_key.*\['b', 'c'\]"):
        required({"c": 1, "b": 2}, "a", "output_key")
