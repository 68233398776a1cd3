"""Only the exact answer NONE means that there is no entity."""

from helping import entity_model, verdict
from langchain_classic.memory import ConversationEntityMemory

expected = {
    "none": [],
    "NONE.": [],
    "": [],
    "None\n": [],
    "Output: NONE": [],
    "Maya,": ["Maya"],
    "- Maya\n- Leo": ["Maya", "Leo"],
}
wrong = {}
for answer, names in expected.items():
    memory = ConversationEntityMemory(llm=entity_model(answer))
    memory.load_memory_variables({"input": "hi"})
    if memory.entity_cache != names:
        wrong[answer] = memory.entity_cache
verdict(wrong, wrong)
