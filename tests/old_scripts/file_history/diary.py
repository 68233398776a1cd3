"""A diary that goes on where it stopped: the conversation is kept in a file.

    python diary.py FILE LINE...
"""
import sys

from langchain import LLMChain, PromptTemplate
from langchain.llms.fake import FakeListLLM
from langchain.memory import ConversationBufferMemory
from langchain.memory.chat_message_histories import FileChatMessageHistory

if len(sys.argv) < 2:
    sys.exit("usage: diary.py FILE LINE...")

history = FileChatMessageHistory(sys.argv[1])
print("lines before:", len(history.messages))

template = """A diary that answers.

{chat_history}
Me: {text}
Diary:"""
memory = ConversationBufferMemory(
    memory_key="chat_history", chat_memory=history, human_prefix="Me", ai_prefix="Diary"
)
chain = LLMChain(
    llm=FakeListLLM(responses=["Tell me more.", "And then?", "Caf\u00e9 sounds nice \u2615."]),
    prompt=PromptTemplate(input_variables=["chat_history", "text"], template=template),
    memory=memory,
)
for line in sys.argv[2:]:
    chain.run(line)

print(memory.buffer)
print("kinds:", [message.type for message in history.messages])
if not sys.argv[2:]:
    sys.exit(3)
