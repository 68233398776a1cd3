"""An answer that says nothing new replaces what is known (langchain PR#2397)."""

from helping import entity_model, verdict
from langchain_classic.memory import ConversationEntityMemory

answers = iter(
    [
        "Maya is an astronomer.",
        "No new information provided. The existing summary stays the same.",
    ]
)
memory = ConversationEntityMemory(llm=entity_model(summary=lambda _: next(answers)))
for said in ("Maya is an astronomer", "Maya says hi"):
    memory.load_memory_variables({"input": said})
    memory.save_context({"input": said}, {"output": "ok"})
kept = memory.entity_store.get("Maya")
verdict("astronomer" not in kept, repr(kept))
