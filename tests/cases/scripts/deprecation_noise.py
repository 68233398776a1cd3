"""Making a memory warns of its end (langchain PR#23504, jenkins chatbot#207)."""

import warnings

from helping import verdict
from langchain_classic.memory import ConversationBufferMemory

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    ConversationBufferMemory()
told = [str(one.message)[:80] for one in caught if "Deprec" in one.category.__name__]
verdict(told, told)
