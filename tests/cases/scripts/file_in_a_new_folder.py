"""The history of a file does not make its folder."""

from helping import place, verdict
from langchain_community.chat_message_histories import FileChatMessageHistory

try:
    history = FileChatMessageHistory(place("new") + "/h.json")
    history.add_user_message("hello")
except FileNotFoundError as error:
    verdict(fault=True, detail=repr(error))
else:
    verdict(history.messages[0].content != "hello", history.messages)
