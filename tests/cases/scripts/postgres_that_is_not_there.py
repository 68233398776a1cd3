"""The error of a connection hides behind another one."""

import logging
import sys

from helping import verdict
from langchain_community.chat_message_histories import PostgresChatMessageHistory

logging.disable(logging.CRITICAL)
sys.unraisablehook = lambda _: None
url = "postgresql://u:secret@127.0.0.1:1/x"
try:
    history = PostgresChatMessageHistory("s", connection_string=url)
    history.add_user_message("hello")
except AttributeError as error:
    verdict(fault=True, detail=repr(error))
except Exception as error:
    verdict("secret" in str(error), repr(error))
else:
    verdict(fault=True, detail="it went well")
finally:
    logging.disable(logging.NOTSET)
    sys.unraisablehook = sys.__unraisablehook__
