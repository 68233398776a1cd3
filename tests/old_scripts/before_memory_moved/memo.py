"""Written when memory still lived below `langchain.chains`, with the names of then."""
from typing import Any, Dict, List, Optional

from pydantic import BaseModel

from langchain.chains import LLMChain
from langchain.chains.base import Memory
from langchain.chains.conversation.base import ConversationChain
from langchain.chains.conversation.memory import (
    ConversationalBufferWindowMemory,
    ConversationEntityMemory,
)
from langchain.chains.conversation.prompt import SUMMARY_PROMPT
from langchain.llms.base import LLM
from langchain.prompts.base import BasePromptTemplate
from langchain.prompts.prompt import PromptTemplate


class Typist(LLM, BaseModel):
    """Counts the lines it is shown, or names Maya."""

    @property
    def _llm_type(self) -> str:
        return "typist"

    def _call(self, prompt: str, stop: Optional[List[str]] = None) -> str:
        if prompt.endswith("Output:"):
            return "Maya" if "Maya" in prompt.rsplit("Human:", 1)[-1] else "NONE"
        if prompt.endswith("Updated summary:"):
            return "Maya types as well."
        return f"I see {len(prompt.splitlines())} lines"


class Letterhead(Memory, BaseModel):
    """Gives every prompt the same head, and counts the letters."""

    head: str = "Office of Typists"
    letters: int = 0

    @property
    def memory_variables(self) -> List[str]:
        return ["head"]

    def load_memory_variables(self, inputs: Dict[str, Any]) -> Dict[str, str]:
        return {"head": self.head}

    def save_context(self, inputs: Dict[str, Any], outputs: Dict[str, str]) -> None:
        self.letters += 1

    def clear(self) -> None:
        self.letters = 0


llm = Typist()

prompt = PromptTemplate(input_variables=["head", "text"], template="{head}\n{text}")
print(isinstance(prompt, BasePromptTemplate))
letter = LLMChain(llm=llm, prompt=prompt, memory=Letterhead())
print(letter.predict(text="one\ntwo"))
print(letter.predict(text="three"))
print(letter.memory.letters, isinstance(letter.memory, Memory))

window = ConversationChain(llm=llm, memory=ConversationalBufferWindowMemory(k=1))
for line in ["first", "second", "third"]:
    print(window.predict(input=line))
print(window.memory.load_memory_variables({})["history"])

people = ConversationEntityMemory(llm=llm, store={"Leo": "Leo is the boss."}, k=1)
people.load_memory_variables({"input": "Maya is new here"})
people.save_context({"input": "Maya is new here"}, {"output": "Welcome!"})
for name in sorted(people.store):
    print(f"{name}: {people.store[name]}")
print(sorted(SUMMARY_PROMPT.input_variables))
