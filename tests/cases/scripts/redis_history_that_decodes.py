"""A client that decodes breaks the history in Redis (redis:// with an option)."""

from helping import redis_url, verdict
from langchain_community.chat_message_histories import RedisChatMessageHistory

history = RedisChatMessageHistory("s", redis_url() + "?decode_responses=True")
history.add_user_message("hello")
try:
    kept = [message.content for message in history.messages]
except AttributeError as error:
    verdict(fault=True, detail=error)
else:
    verdict(kept != ["hello"], kept)
