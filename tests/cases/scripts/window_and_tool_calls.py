"""A window begins with the result of a call it lost (n8n#34166, spring-ai#6029)."""

from helping import verdict
from langchain_classic.memory import ConversationBufferWindowMemory
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

memory = ConversationBufferWindowMemory(k=2, return_messages=True)
memory.chat_memory.add_messages(
    [
        HumanMessage("rain?"),
        AIMessage("", tool_calls=[{"name": "weather", "args": {}, "id": "c1"}]),
        ToolMessage("dry", tool_call_id="c1"),
        AIMessage("it is dry"),
        HumanMessage("thanks"),
        AIMessage("bye"),
    ]
)
kinds = [one.type for one in memory.load_memory_variables({})["history"]]
verdict(kinds[0] == "tool", kinds)
