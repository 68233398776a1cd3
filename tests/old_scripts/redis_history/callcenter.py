"""A call centre whose desks share what a caller said, in Redis.

    REDIS_URL=redis://... python callcenter.py CALLER LINE...
"""
import os
import sys

from langchain.chains import ConversationChain
from langchain.llms.fake import FakeListLLM
from langchain.memory import ConversationBufferWindowMemory, RedisChatMessageHistory

caller, lines = sys.argv[1], sys.argv[2:]
history = RedisChatMessageHistory(
    session_id=caller, url=os.environ["REDIS_URL"], key_prefix="calls:", ttl=3600
)
print(history.key, "knows", len(history.messages), "messages")

memory = ConversationBufferWindowMemory(k=2, chat_memory=history)
chain = ConversationChain(
    llm=FakeListLLM(responses=["One moment.", "I see.", "Goodbye!"]), memory=memory
)
for line in lines:
    print(line, "->", chain.predict(input=line))

print(memory.load_memory_variables({})["history"])

other = RedisChatMessageHistory("nobody", os.environ["REDIS_URL"], "calls:")
other.add_user_message("hello?")
print("nobody:", [message.content for message in other.messages])
other.clear()
print("nobody:", other.messages)
print("caller:", len(history.messages))
