"""One entity in other letters gets a second, empty record."""

from helping import entity_model, verdict
from langchain_classic.memory import ConversationEntityMemory

names = iter(["LangGraph", "langgraph"])
memory = ConversationEntityMemory(
    llm=entity_model(lambda _: next(names), "A library for graphs.")
)
memory.load_memory_variables({"input": "LangGraph rocks"})
memory.save_context({"input": "LangGraph rocks"}, {"output": "it does"})
found = memory.load_memory_variables({"input": "what is langgraph?"})["entities"]
verdict("A library for graphs." not in found.values(), found)
