"""Who changes what was loaded changes the memory set in stone."""

from helping import verdict
from langchain_classic.memory import SimpleMemory

memory = SimpleMemory(memories={"city": "Oslo"})
memory.load_memory_variables({})["city"] = "Rome"
verdict(memory.memories["city"] != "Oslo", memory.memories)
