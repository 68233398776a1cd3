"""A support desk as people wrote it for LangChain 0.2.

It answers from documents, remembers each customer's conversation in Redis, and
summarises what does not fit.

    python support.py REDIS_URL CUSTOMER QUESTION
"""

from __future__ import annotations

import sys

from langchain.chains import ConversationalRetrievalChain
from langchain.memory import ConversationSummaryBufferMemory
from langchain_community.chat_message_histories import RedisChatMessageHistory
from rehearsed import RehearsedModel, Shelf


def make_chain(url: str, customer: str) -> ConversationalRetrievalChain:
    """Make the chain of one customer, as for every request."""
    llm = RehearsedModel()
    memory = ConversationSummaryBufferMemory(
        llm=llm,
        chat_memory=RedisChatMessageHistory(customer, url=url),
        memory_key="chat_history",
        output_key="answer",
        return_messages=True,
        max_token_limit=40,
    )
    return ConversationalRetrievalChain.from_llm(
        llm=llm, retriever=Shelf(), memory=memory, return_source_documents=True
    )


def ask(url: str, customer: str, question: str) -> str:
    """Answer one question."""
    return make_chain(url, customer).invoke({"question": question})["answer"]


if __name__ == "__main__":
    if len(sys.argv) != 4:  # noqa: PLR2004
        sys.exit("usage: python support.py REDIS_URL CUSTOMER QUESTION")
    print(ask(*sys.argv[1:]))
