"""A window counts messages, and loses the one of the system (Flowise#2920)."""

from helping import verdict
from langchain_classic.memory import ConversationBufferWindowMemory
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

memory = ConversationBufferWindowMemory(k=1, return_messages=True)
memory.chat_memory.add_messages(
    [
        SystemMessage("be brief"),
        HumanMessage("a"),
        AIMessage("b"),
        SystemMessage("note: vip"),
        HumanMessage("c"),
        AIMessage("d"),
        SystemMessage("note: late"),
    ]
)
shown = [one.content for one in memory.load_memory_variables({})["history"]]
turn_is_whole = "c" in shown and "d" in shown and "a" not in shown
verdict("be brief" not in shown or not turn_is_whole, shown)
