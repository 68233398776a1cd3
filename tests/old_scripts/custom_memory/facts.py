"""A memory of our own: keeps one line per customer number that is mentioned."""
import re
from typing import Any, Dict, List

from langchain.chains import ConversationChain
from langchain.llms.fake import FakeListLLM
from langchain.prompts.prompt import PromptTemplate
from langchain.schema import BaseMemory
from pydantic import BaseModel


class CustomerMemory(BaseMemory, BaseModel):
    """Everything that was said about a customer, by number."""

    lines: dict = {}
    memory_key: str = "customers"

    @property
    def memory_variables(self) -> List[str]:
        return [self.memory_key]

    def load_memory_variables(self, inputs: Dict[str, Any]) -> Dict[str, str]:
        numbers = re.findall(r"#(\d+)", inputs[list(inputs.keys())[0]])
        known = [self.lines[number] for number in numbers if number in self.lines]
        return {self.memory_key: "\n".join(known) if known else "nothing"}

    def save_context(self, inputs: Dict[str, Any], outputs: Dict[str, str]) -> None:
        text = inputs[list(inputs.keys())[0]]
        for number in re.findall(r"#(\d+)", text):
            self.lines[number] = (self.lines.get(number, "") + " " + text).strip()

    def clear(self) -> None:
        self.lines = {}


TEMPLATE = """You work at a help desk.
Known: {customers}
Human: {input}
AI:"""

llm = FakeListLLM(responses=["Noted.", "A crack, since Monday.", "Who is that?"])
memory = CustomerMemory()
desk = ConversationChain(
    llm=llm,
    prompt=PromptTemplate(input_variables=["customers", "input"], template=TEMPLATE),
    memory=memory,
)

print(desk.predict(input="Customer #17 has a crack in the tub."))
print(desk.predict(input="It is there since Monday, says #17."))
print(desk.run("What of #99?"))
print(memory.load_memory_variables({"input": "Call #17"})["customers"])
print(isinstance(memory, BaseMemory), isinstance(desk.memory, CustomerMemory))
print(memory.dict())
memory.clear()
print(memory.load_memory_variables({"input": "Call #17"}))
