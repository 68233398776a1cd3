"""The constructor of the documentation fails: connection_string."""

from helping import place, verdict
from langchain_community.chat_message_histories import SQLChatMessageHistory

url = "sqlite:///" + place("h.db")
try:
    history = SQLChatMessageHistory(session_id="s", connection_string=url)
    history.add_user_message("hello")
except TypeError as error:
    verdict(fault=True, detail=error)
else:
    verdict(len(history.messages) != 1, history.messages)
