"""Hands a conversation over to another desk as JSON, and reads it there."""
import json

from langchain.memory import ChatMessageHistory, ConversationBufferMemory
from langchain.schema import (
    AIMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    messages_from_dict,
    messages_to_dict,
)

history = ChatMessageHistory()
history.messages.append(SystemMessage(content="You sell tickets."))
history.add_user_message("Two for Friday, please.")
history.add_ai_message("Row F, seats 4 and 5?")
history.messages.append(ChatMessage(role="clerk", content="They are the last ones."))
history.messages.append(HumanMessage(content="Fine \u2013 d'accord!", additional_kwargs={"tone": "glad"}))

text = json.dumps([
    {"type": entry["type"], "content": entry["data"]["content"]}
    for entry in messages_to_dict(history.messages)
])
print(text)

again = messages_from_dict(json.loads(json.dumps(messages_to_dict(history.messages))))
print("same:", again == history.messages, [type(m).__name__ for m in again])
print(again[-1].additional_kwargs)

memory = ConversationBufferMemory(
    chat_memory=ChatMessageHistory(messages=again), human_prefix="Guest", ai_prefix="Desk"
)
memory.save_context({"input": "How much?"}, {"output": "Forty."})
print(memory.buffer)

memory = ConversationBufferMemory(return_messages=True, chat_memory=memory.chat_memory)
last = memory.load_memory_variables({})["history"][-1]
print(isinstance(last, AIMessage), last.content)
memory.clear()
print(len(history.messages), len(memory.chat_memory.messages))
