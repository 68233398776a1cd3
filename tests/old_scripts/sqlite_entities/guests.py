"""A porter who knows his guests again after a restart: entities in a file."""
import re
import sys
from typing import List, Optional

from langchain.chains import ConversationChain
from langchain.llms.base import LLM
from langchain.memory.entity import ConversationEntityMemory, SQLiteEntityStore
from langchain.memory.prompt import ENTITY_MEMORY_CONVERSATION_TEMPLATE

NAMES = ["Maya", "Leo", "Hotel Adria"]


class Porter(LLM):
    """Knows the names above and joins what is said about them."""

    @property
    def _llm_type(self) -> str:
        return "porter"

    def _call(self, prompt: str, stop: Optional[List[str]] = None, run_manager=None) -> str:
        if prompt.endswith("Output:"):
            last = prompt.split("Last line of conversation")[-1]
            return ", ".join(name for name in NAMES if name in last) or "NONE"
        if prompt.endswith("Updated summary:"):
            known = re.search(r"Existing summary of .*:\n(.*)\n", prompt).group(1)
            said = re.search(r"Last line of conversation:\nHuman: (.*)\n", prompt).group(1)
            return f"{known} / {said}".lstrip(" /")
        context = prompt.split("Context:\n")[1].split("\n\nCurrent")[0]
        return "Context: " + context


store = SQLiteEntityStore(session_id="lobby", db_file="guests.db")
llm = Porter()
memory = ConversationEntityMemory(llm=llm, entity_store=store)
chain = ConversationChain(
    llm=llm, memory=memory, prompt=ENTITY_MEMORY_CONVERSATION_TEMPLATE
)

for line in sys.argv[1:]:
    print(">", line)
    chain.predict(input=line)

for name in NAMES:
    print(f"{name}: {store.get(name, 'unknown')}")
print("exists:", [store.exists(name) for name in NAMES + ["Nobody"]])
print("cache:", memory.entity_cache)
