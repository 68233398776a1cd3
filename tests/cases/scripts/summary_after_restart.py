"""The moving summary ends with its object (langchain#21604, langchainjs#2411)."""

from helping import model, place, verdict
from langchain_classic.memory import ConversationSummaryBufferMemory
from langchain_community.chat_message_histories import FileChatMessageHistory

path = place("h.json")


def start():
    return ConversationSummaryBufferMemory(
        llm=model("SUMMARY"),
        chat_memory=FileChatMessageHistory(path),
        max_token_limit=3,
    )


first = start()
first.save_context({"input": "a b c d"}, {"output": "e f g h"})
second = start()
loaded = second.load_memory_variables({})["history"]
before, after = first.moving_summary_buffer, second.moving_summary_buffer
verdict(before != after or "SUMMARY" not in loaded, f"{before!r}, then {after!r}")
