"""A limit holds only from the next save on (langchain#3922, PR#8230, PR#11802)."""

from helping import model, verdict
from langchain_classic.memory import ConversationTokenBufferMemory
from langchain_core.chat_history import InMemoryChatMessageHistory

history = InMemoryChatMessageHistory()
for n in range(50):
    history.add_user_message(f"old line {n}")
memory = ConversationTokenBufferMemory(
    llm=model(), chat_memory=history, max_token_limit=9, return_messages=True
)
shown = memory.load_memory_variables({})["history"]
count = memory.llm.get_num_tokens_from_messages(shown)
verdict(not 0 < count <= 9, f"{count} tokens")
