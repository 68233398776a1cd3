"""A chat in the terminal: reads lines until `quit`, then shows the conversation."""
import sys
from typing import List, Optional

from langchain import ConversationChain
from langchain.chains.conversation.memory import ConversationBufferMemory
from langchain.llms.base import LLM


class Receptionist(LLM):
    """Stands in for a paid model: answers by the last thing that was said."""

    @property
    def _llm_type(self) -> str:
        return "receptionist"

    def _call(self, prompt: str, stop: Optional[List[str]] = None) -> str:
        said = [line for line in prompt.splitlines() if line.startswith("Human: ")]
        last = said[-1][len("Human: "):]
        if "again" in last.lower():
            return f" You began with: {said[0][len('Human: '):]}"
        return f" That was line {len(said)}: {last}"


memory = ConversationBufferMemory()
chain = ConversationChain(llm=Receptionist(), memory=memory)

print("Type quit to leave.")
while True:
    line = sys.stdin.readline()
    if not line or line.strip() == "quit":
        break
    print(chain.predict(input=line.strip()).strip())

print("---")
print(memory.buffer.strip())
print("---")
print(chain.input_keys, memory.memory_variables)
