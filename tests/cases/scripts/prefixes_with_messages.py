"""Prefixes that cannot apply are ignored silently (langchain#7285, #3536)."""

from helping import verdict, warned
from langchain_classic.memory import ConversationBufferMemory

told = warned(
    lambda: ConversationBufferMemory(
        return_messages=True, human_prefix="USER", ai_prefix="BOT"
    )
)
verdict(not told, "a warning" if told else "not a word")
