"""A support line that keeps the newest messages and a summary of what came before."""
from typing import Any, List, Mapping, Optional

from langchain import ConversationChain, PromptTemplate
from langchain.llms.base import LLM
from langchain.memory import ChatMessageHistory, ConversationSummaryBufferMemory, ConversationSummaryMemory
from langchain.memory.prompt import SUMMARY_PROMPT


class Agent(LLM):
    """Counts words as tokens; its summaries say which lines they hold."""

    persona: str = "patient"

    @property
    def _llm_type(self) -> str:
        return "agent"

    @property
    def _identifying_params(self) -> Mapping[str, Any]:
        return {"persona": self.persona}

    def get_num_tokens(self, text: str) -> int:
        return len(text.split())

    def _call(self, prompt: str, stop: Optional[List[str]] = None, run_manager=None) -> str:
        if prompt.endswith("New summary:"):
            old, new = prompt.rsplit("Current summary:", 1)[1].split("New lines of conversation:")
            asked = [l[7:] for l in new.splitlines() if l.startswith("Human: ")]
            return "; ".join(part for part in [old.strip()] + asked if part)
        return "Answered: " + prompt.rsplit("Human: ", 1)[1].splitlines()[0]


print(sorted(SUMMARY_PROMPT.input_variables))

llm = Agent()
memory = ConversationSummaryBufferMemory(llm=llm, max_token_limit=24)
chain = ConversationChain(llm=llm, memory=memory)
for line in [
    "My router blinks red",
    "I restarted it twice already",
    "The cable is new",
    "What should I do now?",
]:
    print(chain.predict(input=line))
    print("   [summary]", memory.moving_summary_buffer or "-")

print(memory.load_memory_variables({})["history"])

print(memory.predict_new_summary(memory.chat_memory.messages[-2:], "So far: a router"))

history = ChatMessageHistory()
history.add_user_message("The printer is on fire")
history.add_ai_message("Leave the room")
summary = ConversationSummaryMemory.from_messages(
    llm=llm, chat_memory=history, return_messages=True
)
print(summary.buffer)
print([m.content for m in summary.load_memory_variables({})["history"]])

short = ConversationSummaryBufferMemory(
    llm=llm,
    max_token_limit=6,
    return_messages=True,
    prompt=PromptTemplate(
        input_variables=["summary", "new_lines"],
        template="Current summary:{summary}New lines of conversation:\n{new_lines}\nNew summary:",
    ),
)
short.save_context({"input": "one two three"}, {"output": "four five six"})
for message in short.load_memory_variables({})["history"]:
    print(f"{message.type}: {message.content}")
