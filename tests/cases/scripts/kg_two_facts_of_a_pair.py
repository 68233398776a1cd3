"""A second fact of the same two things overwrites the first."""

from helping import model, verdict
from langchain_community.memory.kg import ConversationKGMemory

answer = "(Maya, works at, Orbit)<|>(Maya, founded, Orbit)"
memory = ConversationKGMemory(llm=model(answer))
memory.save_context({"input": "Maya founded Orbit"}, {"output": "nice"})
verdict(len(memory.kg.get_triples()) != 2, memory.kg.get_triples())
