"""Checks what a prompt would cost with each memory; exit code 3 when it is too much."""

import sys

from langchain.memory import (
    ConversationBufferMemory,
    ConversationBufferWindowMemory,
    ConversationStringBufferMemory,
    ConversationTokenBufferMemory,
)
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import get_buffer_string


class WordModel(FakeListChatModel):
    def get_num_tokens(self, text: str) -> int:
        return len(text.split())


llm = WordModel(responses=["-"])
TURNS = [
    ("I want to fly to Oslo", "When?"),
    ("On the first of May", "In the morning or at noon?"),
    ("In the morning", "Booked."),
]
memories = {
    "everything": ConversationBufferMemory(return_messages=True),
    "window of 2": ConversationBufferWindowMemory(k=2, return_messages=True),
    "window of 1": ConversationBufferWindowMemory(k=1, return_messages=True),
    "20 tokens": ConversationTokenBufferMemory(
        llm=llm, max_token_limit=20, return_messages=True
    ),
}
for memory in memories.values():
    for asked, answered in TURNS:
        memory.save_context({"input": asked}, {"output": answered})

over = []
for name, memory in memories.items():
    messages = memory.load_memory_variables({})["history"]
    cost = llm.get_num_tokens(get_buffer_string(messages))
    print(f"{name}: {len(messages)} messages, {cost} tokens")
    if cost > 25:
        over.append(name)

text = ConversationStringBufferMemory(ai_prefix="Desk", memory_key="talk")
for asked, answered in TURNS[:2]:
    text.save_context({"input": asked}, {"output": answered})
print(text.load_memory_variables({})["talk"])
text.clear()
print(repr(text.buffer))

if over:
    print("over budget:", ", ".join(over), file=sys.stdout)
    sys.exit(3)
