"""A waiter with two tools and a memory of the table's conversation."""
from typing import List, Optional

from langchain.agents import AgentType, Tool, initialize_agent
from langchain.llms.base import LLM
from langchain.memory import ConversationBufferMemory


class Waiter(LLM):
    """Thinks aloud in the format that the conversational agent expects."""

    @property
    def _llm_type(self) -> str:
        return "waiter"

    def _call(self, prompt: str, stop: Optional[List[str]] = None, run_manager=None, **kwargs) -> str:
        history = prompt.split("Previous conversation history:\n")[1].split("\n\nNew input:")[0]
        asked, scratchpad = prompt.rsplit("New input: ", 1)[1].split("\n", 1)
        if "Observation:" in scratchpad:
            seen = scratchpad.rsplit("Observation: ", 1)[1].splitlines()[0]
            return f"Thought: Do I need to use a tool? No\nAI: {seen}"
        if "cost" in asked:
            return "Thought: Do I need to use a tool? Yes\nAction: Price\nAction Input: soup"
        if "free" in asked:
            return "Thought: Do I need to use a tool? Yes\nAction: Tables\nAction Input: tonight"
        told = history.count("Human: ")
        return f"Thought: Do I need to use a tool? No\nAI: You asked {told} things before."


tools = [
    Tool(name="Price", func=lambda dish: f"The {dish} is 7.50", description="what a dish costs"),
    Tool(name="Tables", func=lambda when: f"Table 3 is free {when}", description="free tables"),
]
memory = ConversationBufferMemory(memory_key="chat_history")
agent_chain = initialize_agent(
    tools,
    Waiter(),
    agent=AgentType.CONVERSATIONAL_REACT_DESCRIPTION,
    memory=memory,
)

print(agent_chain.run(input="Hi, do you remember me?"))
print(agent_chain.run(input="What does the soup cost?"))
print(agent_chain.run("Is a table free?"))
print(agent_chain.run(input="What did we talk about?"))
print("---")
print(memory.buffer)
print(type(agent_chain).__name__, [tool.name for tool in agent_chain.tools])
