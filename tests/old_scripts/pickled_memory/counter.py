"""A counter at a fair whose memory is pickled between two days."""
import os
import pickle
import sys

from langchain.chains.conversation.base import ConversationChain
from langchain.llms.fake import FakeListLLM
from langchain.memory.buffer import ConversationBufferMemory
from langchain.memory.buffer_window import ConversationBufferWindowMemory

FILE = "fair.pkl"

if os.path.exists(FILE):
    with open(FILE, "rb") as stream:
        state = pickle.load(stream)
    print("loaded day", state["day"])
else:
    state = {
        "day": 0,
        "all": ConversationBufferMemory(ai_prefix="Stall"),
        "last": ConversationBufferWindowMemory(k=1, return_messages=True),
    }
state["day"] += 1

chain = ConversationChain(
    llm=FakeListLLM(responses=["Three coins.", "Sold.", "Come again!"]),
    memory=state["all"],
)
for line in sys.argv[1:]:
    answer = chain.predict(input=line)
    state["last"].save_context({"input": line}, {"output": answer})

with open(FILE, "wb") as stream:
    pickle.dump(state, stream)
with open(FILE, "rb") as stream:
    again = pickle.load(stream)

for name in ["all", "last"]:
    print(name, type(again[name]).__name__, again[name] == state[name])
print(again["all"].buffer)
for message in again["last"].load_memory_variables({})["history"]:
    print(repr(message.content), type(message).__name__)
