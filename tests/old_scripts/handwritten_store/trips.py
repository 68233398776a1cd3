"""Finds earlier trips by what they have in common, over a vector store of our own."""
from __future__ import annotations

from typing import Any, Iterable, List, Optional, Tuple

from langchain.chains import ConversationChain
from langchain.llms.fake import FakeListLLM
from langchain.memory import VectorStoreRetrieverMemory
from langchain.prompts import PromptTemplate
from langchain.schema import Document
from langchain.schema.embeddings import Embeddings
from langchain.schema.vectorstore import VectorStore


class WordStore(VectorStore):
    """Ranks texts by the words they share with the query; no vectors at all."""

    def __init__(self) -> None:
        self.docs: List[Document] = []

    def add_texts(
        self, texts: Iterable[str], metadatas: Optional[List[dict]] = None, **kwargs: Any
    ) -> List[str]:
        ids = []
        for i, text in enumerate(texts):
            metadata = dict(metadatas[i]) if metadatas else {}
            self.docs.append(Document(page_content=text, metadata=metadata))
            ids.append(str(len(self.docs)))
        return ids

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> List[Document]:
        ranked = sorted(self.docs, key=lambda doc: -self._shared(query, doc))
        return ranked[:k]

    @staticmethod
    def _shared(query: str, doc: Document) -> int:
        return len(set(query.lower().split()) & set(doc.page_content.lower().split()))

    @classmethod
    def from_texts(
        cls,
        texts: List[str],
        embedding: Embeddings,
        metadatas: Optional[List[dict]] = None,
        **kwargs: Any,
    ) -> WordStore:
        store = cls()
        store.add_texts(texts, metadatas)
        return store


store = WordStore()
retriever = store.as_retriever(search_kwargs={"k": 2})
memory = VectorStoreRetrieverMemory(
    retriever=retriever, memory_key="trips", input_key="input", return_docs=False
)
memory.save_context({"input": "We took the ferry to Rab"}, {"response": "Lovely island"})
memory.save_context({"input": "The night train to Split was late"}, {"response": "Pity"})
memory.save_context({"input": "I rode my bike along the coast"}, {"response": "Brave"})

chain = ConversationChain(
    llm=FakeListLLM(responses=["By ferry, as last time.", "The train, then."]),
    prompt=PromptTemplate.from_template("Trips:\n{trips}\nHuman: {input}\nAI:"),
    memory=memory,
)
for question in ["How do we get to Rab by ferry ?", "Is there a train to Split ?"]:
    found = memory.load_memory_variables({"input": question})["trips"]
    print(f"[{question}]\n{found}")
    print("AI:", chain.predict(input=question))

docs = VectorStoreRetrieverMemory(retriever=retriever, return_docs=True)
for doc in docs.load_memory_variables({"prompt": "bike coast"})["history"][:1]:
    print(doc.page_content.replace("\n", " | "), doc.metadata)
print(len(store.docs), memory.memory_variables)
