"""A library that keeps one conversation per reader in a database.

    python library.py READER LINE...
"""
import sys

from langchain.chains import LLMChain
from langchain.llms.fake import FakeListLLM
from langchain.memory import ConversationBufferMemory
from langchain.memory.chat_message_histories.sql import SQLChatMessageHistory
from langchain.prompts import PromptTemplate

DATABASE = "sqlite:///library.db"


def conversation_of(reader):
    return SQLChatMessageHistory(
        session_id=reader,
        connection_string=DATABASE,  # one file for all
        table_name="readers",
    )


prompt = PromptTemplate.from_template("{chat_history}\nReader: {question}\nLibrarian:")
for reader, lines in [(sys.argv[1], sys.argv[2:]), ("someone else", ["Hello"])]:
    memory = ConversationBufferMemory(
        memory_key="chat_history", chat_memory=conversation_of(reader)
    )
    chain = LLMChain(
        llm=FakeListLLM(responses=["Shelf 12.", "It is lent until May."]),
        prompt=prompt,
        memory=memory,
    )
    for line in lines:
        print(f"{reader}: {line} -> {chain.predict(question=line)}")

for message in conversation_of(sys.argv[1]).messages:
    print(f"  {message.type}: {message.content}")

conversation_of("someone else").clear()
print(len(conversation_of("someone else").messages), "of someone else")
