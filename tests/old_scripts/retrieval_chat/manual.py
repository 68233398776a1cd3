"""Answers questions about a manual; follow-up questions are made complete first."""
from typing import List, Optional

from langchain.chains import ConversationalRetrievalChain
from langchain.llms.base import LLM
from langchain.memory import ConversationBufferMemory
from langchain.prompts import PromptTemplate
from langchain.schema import BaseRetriever, Document

PAGES = [
    Document(page_content="To descale the kettle, boil vinegar in it.", metadata={"page": 4}),
    Document(page_content="The kettle holds 1.7 litres of water.", metadata={"page": 2}),
    Document(page_content="The toaster has six levels.", metadata={"page": 9}),
]


class PageRetriever(BaseRetriever):
    """Finds the pages that share most words with the question."""

    pages: List[Document] = PAGES

    def _get_relevant_documents(self, query, *, run_manager):
        words = set(query.lower().strip("?").split())

        def shared(page):
            return len(words & set(page.page_content.lower().strip(".").split()))

        return sorted(self.pages, key=shared, reverse=True)[:2]

    async def _aget_relevant_documents(self, query, *, run_manager):
        return self._get_relevant_documents(query, run_manager=run_manager)


class Clerk(LLM):
    """Makes a question stand alone, or answers from the first page it is shown."""

    @property
    def _llm_type(self) -> str:
        return "clerk"

    def _call(self, prompt, stop: Optional[List[str]] = None, run_manager=None, **kwargs):
        if "Standalone question:" in prompt:
            return "How much water does the kettle hold?"
        context = prompt.split("---\n")[1]
        return "The manual says: " + context.splitlines()[0]


memory = ConversationBufferMemory(
    memory_key="chat_history", output_key="answer", return_messages=True
)
qa = ConversationalRetrievalChain.from_llm(
    Clerk(),
    PageRetriever(),
    memory=memory,
    return_source_documents=True,
    combine_docs_chain_kwargs={
        "prompt": PromptTemplate.from_template("---\n{context}\n---\n{question}\nAnswer:")
    },
)

for question in ["How do I descale the kettle?", "And how much does it hold?"]:
    result = qa({"question": question})
    print("Q:", question)
    print("A:", result["answer"])
    print("pages:", [doc.metadata["page"] for doc in result["source_documents"]])
    print("kept:", len(memory.buffer), "asked first:", memory.buffer[0].content)

for message in memory.chat_memory.messages:
    print(f"{message.type:>5}: {message.content}")
