"""Writers at the same time lose messages of a file (langchainjs PR#9436)."""

from concurrent.futures import ThreadPoolExecutor

from helping import place, verdict
from langchain_community.chat_message_histories import FileChatMessageHistory

history = FileChatMessageHistory(place("h.json"))
failed = []


def write(n):
    try:
        history.add_user_message(f"message {n}")
    except Exception as error:
        failed.append(type(error).__name__)


with ThreadPoolExecutor(16) as pool:
    list(pool.map(write, range(200)))
try:
    kept = len({message.content for message in history.messages})
except Exception as error:
    kept = repr(error)
verdict(kept != 200, f"kept {kept} of 200, failed {set(failed)}")
