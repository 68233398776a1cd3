"""The SQL history cannot be imported with SQLAlchemy 2.1 as it is installed."""

import sys

from helping import verdict

sys.modules["greenlet"] = None
try:
    from langchain_community.chat_message_histories import SQLChatMessageHistory
except ImportError as error:
    verdict(fault=True, detail=error)
else:
    verdict(fault=False, detail=SQLChatMessageHistory)
finally:
    del sys.modules["greenlet"]
