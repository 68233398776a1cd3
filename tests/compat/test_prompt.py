"""The classic prompts: classic's own where it is installed, else ours."""

from __future__ import annotations

import pytest
from langchain_core.prompts import PromptTemplate

from holdover.compat import base, prompt

VARIABLES = {
    "ENTITY_EXTRACTION_PROMPT": {"history", "input"},
    "ENTITY_MEMORY_CONVERSATION_TEMPLATE": {"entities", "history", "input"},
    "ENTITY_SUMMARIZATION_PROMPT": {"entity", "summary", "history", "input"},
    "KNOWLEDGE_TRIPLE_EXTRACTION_PROMPT": {"history", "input"},
    "SUMMARY_PROMPT": {"summary", "new_lines"},
}
TEMPLATES = {
    "_DEFAULT_ENTITY_EXTRACTION_TEMPLATE": "ENTITY_EXTRACTION_PROMPT",
    "_DEFAULT_ENTITY_MEMORY_CONVERSATION_TEMPLATE": (
        "ENTITY_MEMORY_CONVERSATION_TEMPLATE"
    ),
    "_DEFAULT_ENTITY_SUMMARIZATION_TEMPLATE": "ENTITY_SUMMARIZATION_PROMPT",
    "_DEFAULT_KNOWLEDGE_TRIPLE_EXTRACTION_TEMPLATE": (
        "KNOWLEDGE_TRIPLE_EXTRACTION_PROMPT"
    ),
    "_DEFAULT_SUMMARIZER_TEMPLATE": "SUMMARY_PROMPT",
}


@pytest.fixture(params=["classic", "ours"])
def prompts(request, monkeypatch):
    """The module as it is with and without a classic package."""
    if request.param == "classic":
        if base.CLASSIC is None:
            pytest.skip("no classic package is installed")
    else:
        monkeypatch.setattr(base, "CLASSIC", None)
    for name in (*VARIABLES, *TEMPLATES):
        monkeypatch.delitem(vars(prompt), name, raising=False)
    yield prompt
    for name in (*VARIABLES, *TEMPLATES):
        vars(prompt).pop(name, None)


@pytest.mark.parametrize("name", VARIABLES)
def test_each_prompt_takes_its_variables(prompts, name):
    asked = getattr(prompts, name)
    assert isinstance(asked, PromptTemplate)
    assert set(asked.input_variables) == VARIABLES[name]
    text = asked.format(**{one: f"<{one}>" for one in VARIABLES[name]})
    assert all(f"<{one}>" in text for one in VARIABLES[name])
    assert "{" not in text


@pytest.mark.parametrize(("name", "of"), TEMPLATES.items())
def test_each_private_template_is_that_of_its_prompt(prompts, name, of):
    assert getattr(prompts, name) == getattr(prompts, of).template


def test_triples_are_asked_for_with_the_delimiter_they_are_read_with(prompts):
    asked = prompts.KNOWLEDGE_TRIPLE_EXTRACTION_PROMPT.template
    assert prompts.KG_TRIPLE_DELIMITER == "<|>"
    assert f"){prompts.KG_TRIPLE_DELIMITER}(" in asked
    assert "NONE" in asked


@pytest.mark.skipif(base.CLASSIC is None, reason="no classic package is installed")
def test_a_prompt_is_the_very_object_of_classic():
    assert prompt.SUMMARY_PROMPT is base.classic_module("memory.prompt").SUMMARY_PROMPT


def test_names_are_listed_and_others_refused():
    assert {*VARIABLES, *TEMPLATES, "KG_TRIPLE_DELIMITER"} <= set(dir(prompt))
    with pytest.raises(AttributeError, match="NO_PROMPT"):
        _ = prompt.NO_PROMPT
