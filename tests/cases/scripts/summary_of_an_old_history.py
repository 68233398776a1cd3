"""A summary memory over an old history begins empty (langchain PR#4079)."""

from helping import model, verdict
from langchain_classic.memory import ConversationSummaryMemory
from langchain_core.chat_history import InMemoryChatMessageHistory

history = InMemoryChatMessageHistory()
history.add_user_message("my boat is called Juno")
history.add_ai_message("nice")
memory = ConversationSummaryMemory(llm=model("They have a boat."), chat_memory=history)
text = memory.load_memory_variables({})["history"]
verdict(text != "They have a boat.", repr(text))
