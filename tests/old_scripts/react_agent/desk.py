"""An executor around a ReAct agent, the way 0.1 and 0.2 documented it, with memory."""
from typing import Any, List, Optional

from langchain.agents import AgentExecutor, create_react_agent
from langchain.callbacks.base import BaseCallbackHandler
from langchain.memory import ConversationBufferMemory
from langchain.tools import tool
from langchain_core.language_models import LLM
from langchain_core.prompts import PromptTemplate


class Planner(LLM):
    @property
    def _llm_type(self) -> str:
        return "planner"

    def _call(self, prompt: str, stop: Optional[List[str]] = None, run_manager: Any = None, **kwargs: Any) -> str:
        scratch = prompt.rsplit("Thought:", 1)[1]
        if "Observation:" in scratch or "Observation" in prompt.rsplit("Question:", 1)[1]:
            seen = prompt.rsplit("Observation: ", 1)[1].splitlines()[0]
            return f" I know it.\nFinal Answer: {seen}"
        if "multiply" in prompt.rsplit("Question:", 1)[1]:
            return " I should compute.\nAction: times\nAction Input: 6,7"
        lines = prompt.split("History:\n")[1].split("\n\nQuestion")[0].count("Human:")
        return f" No tool needed.\nFinal Answer: there were {lines} questions before"


class Counter(BaseCallbackHandler):
    calls = 0

    def on_tool_start(self, serialized, input_str, **kwargs):
        self.calls += 1


@tool
def times(numbers: str) -> str:
    """Multiplies two numbers with a comma between."""
    a, b = numbers.split(",")
    return f"{a} times {b} is {int(a) * int(b)}"


prompt = PromptTemplate.from_template(
    """Tools: {tools}
Names: {tool_names}
History:
{chat_history}

Question: {input}
Thought:{agent_scratchpad}"""
)
memory = ConversationBufferMemory(memory_key="chat_history")
executor = AgentExecutor(
    agent=create_react_agent(Planner(), [times], prompt),
    tools=[times],
    memory=memory,
    max_iterations=3,
)
counter = Counter()
for question in ["multiply for me", "how many were there?", "multiply once more"]:
    result = executor.invoke({"input": question}, config={"callbacks": [counter]})
    print(result["output"], "|", len(result["chat_history"].splitlines()))
print("tool calls:", counter.calls)
print(memory.buffer)
