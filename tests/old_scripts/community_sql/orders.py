"""Orders by phone: a history per customer in SQL, as langchain-community had it."""

import sys

from langchain.chains import ConversationChain
from langchain.memory import ConversationBufferMemory
from langchain_community.chat_message_histories import SQLChatMessageHistory
from langchain_core.language_models.fake import FakeListLLM
from langchain_core.messages import AIMessage

customer, *lines = sys.argv[1:]
history = SQLChatMessageHistory(session_id=customer, connection_string="sqlite:///orders.db")
print(f"{customer} said {len(history.messages)} lines before" if history.messages else "new")

chain = ConversationChain(
    llm=FakeListLLM(responses=["Two pizzas.", "In half an hour."]),
    memory=ConversationBufferMemory(chat_memory=history),
)
for line in lines:
    print(chain.invoke(line)["response"])
history.add_messages([AIMessage(content="(hung up)")])
print(chain.memory.buffer_as_str)
