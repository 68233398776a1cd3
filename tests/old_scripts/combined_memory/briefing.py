"""Lines and a summary of them in one prompt; a tool reads along and writes nothing."""
from typing import List, Optional

from langchain.chains import ConversationChain, LLMChain
from langchain.llms.base import LLM
from langchain.memory import (
    CombinedMemory,
    ConversationBufferMemory,
    ConversationBufferWindowMemory,
    ConversationSummaryMemory,
    ReadOnlySharedMemory,
    SimpleMemory,
)
from langchain.prompts import PromptTemplate


class Officer(LLM):
    prompts: List[str] = []

    @property
    def _llm_type(self) -> str:
        return "officer"

    def _call(self, prompt: str, stop: Optional[List[str]] = None, run_manager=None) -> str:
        self.prompts.append(prompt)
        if "New summary:" in prompt:
            new = prompt.rsplit("New lines of conversation:", 1)[1]
            return "Last heard: " + new.split("Human: ")[1].splitlines()[0]
        if prompt.startswith("Report"):
            return "A report of " + str(prompt.count("Human:")) + " lines."
        return f"Roger, {len(self.prompts)}."


llm = Officer()
lines = ConversationBufferWindowMemory(k=2, memory_key="chat_history_lines", input_key="input")
summary = ConversationSummaryMemory(llm=llm, input_key="input")
place = SimpleMemory(memories={"place": "Camp 4"})
memory = CombinedMemory(memories=[lines, summary, place])

TEMPLATE = """You are at {place}.
Summary: {history}
Lines:
{chat_history_lines}
Human: {input}
AI:"""
PROMPT = PromptTemplate(
    input_variables=["history", "input", "chat_history_lines", "place"], template=TEMPLATE
)
conversation = ConversationChain(llm=llm, verbose=False, memory=memory, prompt=PROMPT)

print(conversation.run("Radio check"))
print(conversation.run("Two climbers left at dawn"))
print(conversation.run("Weather turns"))
print("--- the last prompt")
print([prompt for prompt in llm.prompts if prompt.startswith("You are at")][-1])
print("---")

readonly = ReadOnlySharedMemory(memory=lines)
report = LLMChain(
    llm=llm,
    prompt=PromptTemplate.from_template("Report for {input} on:\n{chat_history_lines}"),
    memory=readonly,
)
before = lines.buffer
print(report.run("headquarters"))
print("unchanged:", lines.buffer == before, len(lines.chat_memory.messages))
print(sorted(memory.memory_variables))

try:
    CombinedMemory(memories=[ConversationBufferMemory(), summary])
except ValueError as error:
    print("refused:", "history" in str(error))

memory.clear()
print(lines.buffer == [] or lines.buffer == "", repr(summary.buffer), place.memories)
