"""Memories of our own on the bases of 0.2: `BaseMemory` and `BaseChatMemory`."""

from typing import Any, Dict, List

from langchain.chains.base import Chain
from langchain.chains.llm import LLMChain
from langchain.memory.chat_memory import BaseChatMemory
from langchain.memory.utils import get_prompt_input_key
from langchain_core.memory import BaseMemory
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.prompts import PromptTemplate
from langchain_community.llms.fake import FakeListLLM


class MoodMemory(BaseMemory):
    """Counts smiles and frowns in what is said."""

    smiles: int = 0
    frowns: int = 0

    @property
    def memory_variables(self) -> List[str]:
        return ["mood"]

    def load_memory_variables(self, inputs: Dict[str, Any]) -> Dict[str, Any]:
        if self.smiles == self.frowns:
            return {"mood": "calm"}
        return {"mood": "happy" if self.smiles > self.frowns else "sad"}

    def save_context(self, inputs: Dict[str, Any], outputs: Dict[str, str]) -> None:
        text = inputs[get_prompt_input_key(inputs, self.memory_variables)]
        self.smiles += text.count(":)")
        self.frowns += text.count(":(")

    def clear(self) -> None:
        self.smiles = self.frowns = 0


class QuestionsOnly(BaseChatMemory):
    """Shows the questions that were asked, and no answers."""

    memory_key: str = "asked"

    @property
    def memory_variables(self) -> List[str]:
        return [self.memory_key]

    def load_memory_variables(self, inputs: Dict[str, Any]) -> Dict[str, Any]:
        kept: List[BaseMessage] = self.chat_memory.messages
        asked = [m.content for m in kept if isinstance(m, HumanMessage)]
        return {self.memory_key: " / ".join(asked) or "-"}


def answer(memory: BaseMemory, template: str, *lines: str) -> Chain:
    chain = LLMChain(
        llm=FakeListLLM(responses=["Good.", "Oh.", "Fine."]),
        prompt=PromptTemplate.from_template(template),
        memory=memory,
    )
    for line in lines:
        result = chain.invoke({"input": line})
        print(result)
    return chain


chain = answer(MoodMemory(), "Mood: {mood}\n{input}", "hello :)", "it rains :( :(", "well")
print(repr(chain.memory), isinstance(chain.memory, BaseMemory))
chain.memory.clear()
print(chain.memory.load_memory_variables({}))

chain = answer(QuestionsOnly(input_key="input"), "{asked}\n{input}", "who?", "where?")
print(chain.memory.chat_memory.messages[-1].content, len(chain.memory.chat_memory.messages))
print(isinstance(chain.memory, BaseChatMemory), isinstance(chain.memory, BaseMemory))
