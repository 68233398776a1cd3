"""Pruning empties a copy: all is kept and summarised anew (langchain#3072, #10078)."""

from helping import model, place, verdict
from langchain_classic.memory import ConversationSummaryBufferMemory
from langchain_community.chat_message_histories import FileChatMessageHistory

memory = ConversationSummaryBufferMemory(
    llm=model("SUMMARY"),
    chat_memory=FileChatMessageHistory(place("h.json")),
    max_token_limit=6,
    return_messages=True,
)
for n in range(4):
    memory.save_context({"input": f"alpha beta {n}"}, {"output": f"gamma delta {n}"})
repeated = sum("alpha beta 0" in prompt for prompt in memory.llm.prompts)
shown = len(memory.load_memory_variables({})["history"])
verdict(repeated != 1 or shown > 5, f"summarised {repeated} times, {shown} shown")
