"""The messages of an entity memory in SQLite end with the process (langchain#12766)."""

from helping import entity_model, place, verdict
from langchain_classic.memory import ConversationEntityMemory, SQLiteEntityStore

path = place("e.db")


def start():
    store = SQLiteEntityStore(session_id="ana", db_file=path)
    return ConversationEntityMemory(llm=entity_model(), entity_store=store)


first = start()
first.load_memory_variables({"input": "Maya?"})
first.save_context({"input": "Maya?"}, {"output": "an astronomer"})
second = start()
known = second.entity_store.exists("Maya")
verdict(known and not second.buffer, f"known {known}, messages {second.buffer}")
