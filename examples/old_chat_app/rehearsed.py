"""What stands in for a model and for a search index, so that no key is needed.

The model knows which of LangChain's own prompts it is asked by the prompt's last word,
and makes its answer of what is in it. So whatever a memory brought can be seen.
"""

from __future__ import annotations

import re
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.language_models.llms import LLM
from langchain_core.retrievers import BaseRetriever

SHELF = {
    "parcel": "Parcels arrive within three days.",
    "refund": "Refunds are paid within a week.",
}
_NAMES = re.compile(r"\b(?:Ana|Deven|Hoffmann|New York)\b")


class RehearsedModel(LLM):
    """Answers by rule, and counts words as tokens."""

    @property
    def _llm_type(self) -> str:
        return "rehearsed"

    def _call(
        self,
        prompt: str,
        stop: list[str] | None = None,  # noqa: ARG002
        run_manager: Any = None,  # noqa: ARG002
        **kwargs: Any,  # noqa: ARG002
    ) -> str:
        lines = prompt.strip().splitlines()
        kind = lines[-1]
        said = next((x[7:] for x in reversed(lines) if x.startswith("Human: ")), "")
        if kind == "Output:":  # which entities?
            return ", ".join(dict.fromkeys(_NAMES.findall(said))) or "NONE"
        if kind == "Updated summary:":  # of an entity
            known = prompt.partition("Existing summary of ")[2]
            known = known.partition(":\n")[2].partition("\n\nLast line")[0]
            return f"{known} {said}".strip()
        if kind == "New summary:":  # of the conversation
            known, _, new = prompt.rpartition("New lines of conversation:\n")
            known = known.rpartition("Current summary:\n")[2]
            return " ".join(f"{known} {new.removesuffix(kind)}".split())
        if kind == "Standalone question:":
            history = prompt.partition("Chat History:\n")[2]
            history, _, question = history.rpartition("\nFollow Up Input: ")
            topic = next((word for word in SHELF if word in history), "nothing")
            return f"{question.removesuffix(kind).strip()} ({topic})"
        if kind == "Helpful Answer:":
            question = prompt.rpartition("Question: ")[2].removesuffix(kind).strip()
            found = next((text for text in SHELF.values() if text in prompt), "")
            return f"{question} {found}"
        known = prompt.partition("Context:\n")[2].partition("\n\nCurrent")[0]
        return f"I know {known}"

    def get_num_tokens(self, text: str) -> int:
        """Count words; LangChain's own way downloads a tokenizer."""
        return len(text.split())


class Shelf(BaseRetriever):
    """Finds what is said about the words of a question."""

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002
    ) -> list[Document]:
        found = [text for word, text in SHELF.items() if word in query]
        return [Document(page_content=text) for text in found]
