"""Each SQL history has an engine of its own (langchain PR#22065, langflow#5580)."""

from helping import place, verdict
from langchain_community.chat_message_histories import SQLChatMessageHistory
from sqlalchemy import event
from sqlalchemy.engine import Engine

opened = []
event.listen(Engine, "connect", lambda raw, record: opened.append(raw))
url = "sqlite:///" + place("h.db")
for n in range(10):
    SQLChatMessageHistory(f"s{n}", connection=url).add_user_message("hello")
verdict(len(opened) > 5, f"{len(opened)} connections for ten sessions")
