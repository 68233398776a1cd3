"""The buffer of the agents keeps a text letter by letter (langchain#8881)."""

from helping import model, verdict
from langchain_classic.agents.openai_functions_agent.agent_token_buffer_memory import (
    AgentTokenBufferMemory,
)

memory = AgentTokenBufferMemory(llm=model(), max_token_limit=99)
try:
    memory.save_context(
        {"input": "one two"}, {"output": "three", "intermediate_steps": []}
    )
except AttributeError as error:
    verdict(fault=True, detail=f"{error}, {len(memory.chat_memory.messages)} items")
else:
    kept = [message.content for message in memory.chat_memory.messages]
    verdict(kept != ["one two", "three"], kept)
