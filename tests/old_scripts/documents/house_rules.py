"""Questions about the house rules: text is split, kept in a docstore, and quoted."""
from langchain.chains.question_answering import load_qa_chain
from langchain.docstore.document import Document
from langchain.docstore.in_memory import InMemoryDocstore
from langchain.llms.fake import FakeListLLM
from langchain.memory import ConversationBufferMemory
from langchain.prompts import PromptTemplate
from langchain.text_splitter import CharacterTextSplitter, RecursiveCharacterTextSplitter

RULES = """Breakfast is from seven to ten in the garden.

Dogs are welcome on the ground floor, cats everywhere.

The gate is closed at midnight. Ring twice and wait for the porter."""

splitter = CharacterTextSplitter(separator="\n\n", chunk_size=60, chunk_overlap=0)
texts = splitter.split_text(RULES)
print(len(texts), [len(text) for text in texts])

fine = RecursiveCharacterTextSplitter(chunk_size=40, chunk_overlap=8)
for part in fine.create_documents([RULES], metadatas=[{"source": "rules"}])[:3]:
    print(part.metadata, repr(part.page_content))

docstore = InMemoryDocstore(
    {str(i): Document(page_content=text, metadata={"rule": i}) for i, text in enumerate(texts)}
)
found = docstore.search("1")
print(found.page_content, found.metadata)
print(docstore.search("9"))

template = """Given parts of a long text and a question, answer it.

{context}

{chat_history}
Human: {human_input}
Chatbot:"""
prompt = PromptTemplate(
    input_variables=["chat_history", "human_input", "context"], template=template
)
memory = ConversationBufferMemory(memory_key="chat_history", input_key="human_input")
chain = load_qa_chain(
    FakeListLLM(responses=["On the ground floor.", "Ring twice."]),
    chain_type="stuff",
    memory=memory,
    prompt=prompt,
)

docs = [docstore.search("1"), docstore.search("2")]
result = chain({"input_documents": docs, "human_input": "Where may my dog go?"}, return_only_outputs=True)
print(result)
result = chain({"input_documents": docs, "human_input": "It is late?"}, return_only_outputs=True)
print(result["output_text"])
print(chain.memory.buffer)
