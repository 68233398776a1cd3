"""A limit means nothing over a kept history (langchain#5053, #14957, #18303)."""

from helping import model, place, verdict
from langchain_classic.memory import ConversationTokenBufferMemory
from langchain_community.chat_message_histories import FileChatMessageHistory

memory = ConversationTokenBufferMemory(
    llm=model(),
    chat_memory=FileChatMessageHistory(place("h.json")),
    max_token_limit=5,
    return_messages=True,
)
for n in range(4):
    memory.save_context({"input": f"one two {n}"}, {"output": f"three four {n}"})
shown = memory.load_memory_variables({})["history"]
count = memory.llm.get_num_tokens_from_messages(shown)
verdict(count > 5, f"{count} tokens")
