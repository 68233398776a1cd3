"""Keeps notes on everybody who is named while a hackathon is planned."""
import re
from typing import List, Optional

from langchain.chains import ConversationChain
from langchain.chains.conversation.memory import ConversationEntityMemory
from langchain.chains.conversation.prompt import ENTITY_MEMORY_CONVERSATION_TEMPLATE
from langchain.llms.base import LLM

FACTS = {
    "Deven": "Deven is working on a hackathon project.",
    "Sam": "Sam works with Deven and likes graphs.",
    "Key-Value Store": "The Key-Value Store is what Deven and Sam build.",
}


class Secretary(LLM):
    """Names the entities, writes the summaries, and answers."""

    prompts: List[str] = []

    @property
    def _llm_type(self) -> str:
        return "secretary"

    def _call(self, prompt: str, stop: Optional[List[str]] = None) -> str:
        self.prompts.append(prompt)
        if prompt.endswith("Output:"):
            last = prompt.split("Last line of conversation")[-1]
            names = [name for name in FACTS if name in last]
            return " " + (", ".join(names) or "NONE")
        if prompt.endswith("Updated summary:"):
            name = re.search(r"Entity to summarize:\n(.*)\n", prompt).group(1)
            return " " + FACTS[name]
        known = [name for name in FACTS if FACTS[name] in prompt]
        return " I know of: " + (", ".join(known) or "nobody yet")


llm = Secretary()
conversation = ConversationChain(
    llm=llm,
    prompt=ENTITY_MEMORY_CONVERSATION_TEMPLATE,
    memory=ConversationEntityMemory(llm=llm, k=2),
)

for line in [
    "Deven & Sam are working on a hackathon project",
    "They are adding a Key-Value Store for what it learns",
    "Nice weather today",
    "What do you know about Deven and Sam?",
]:
    print("Human:", line)
    print("AI:", conversation.predict(input=line).strip())

memory = conversation.memory
print("cache:", memory.entity_cache)
print("variables:", memory.memory_variables)
loaded = memory.load_memory_variables({"input": "Sam asked about the Key-Value Store"})
for name, summary in loaded["entities"].items():
    print(f"{name}: {summary}")
print(loaded["history"])
print("calls of the model:", len(llm.prompts))
memory.clear()
print("after clear:", memory.load_memory_variables({"input": "Who is Sam?"}))
