"""A small assistant as people wrote it for LangChain 0.2: this made `entities.db`.

`ConversationEntityMemory` asks the model which entities a message names, and after
the reply asks it once more per entity for a new summary, which it stores under the
entity's name. The model here is a list of ready answers, so no key is needed.

    python examples/old_app/chain.py FILE [SESSION]

It runs on LangChain 0.3 as it stands, and on 1.x with langchain-classic.
"""

from __future__ import annotations

import sys
import warnings

from langchain_core.language_models.fake import FakeListLLM

try:
    from langchain.chains import ConversationChain
    from langchain.memory import ConversationEntityMemory
    from langchain.memory.entity import SQLiteEntityStore
    from langchain.memory.prompt import ENTITY_MEMORY_CONVERSATION_TEMPLATE
except ImportError:  # LangChain 1.x has none of these modules
    from langchain_classic.chains import ConversationChain
    from langchain_classic.memory import ConversationEntityMemory
    from langchain_classic.memory.entity import SQLiteEntityStore
    from langchain_classic.memory.prompt import ENTITY_MEMORY_CONVERSATION_TEMPLATE

#: What the user says, and what the model answers, call by call.
TURNS = [
    (
        "I am Ana. My sister just moved to New York.",
        [
            "Ana, New York",  # which entities are named
            "How exciting! Does she like it there?",  # the reply
            "Ana has a sister who moved to New York.",  # Ana, summarised
            "New York is where Ana's sister lives.",  # New York, summarised
        ],
    ),
    (
        "She does. What do you know about Ana?",
        [
            "Ana",
            "That you have a sister, and that she moved to New York.",
            "Ana has a sister who moved to New York and likes it there.",
        ],
    ),
]


def main(db_file: str, session: str) -> None:
    """Talk for two turns and show what is in the store afterwards."""
    answers = [answer for _, answers in TURNS for answer in answers]
    llm = FakeListLLM(responses=answers)
    store = SQLiteEntityStore(session_id=session, db_file=db_file)
    memory = ConversationEntityMemory(llm=llm, entity_store=store)
    chain = ConversationChain(
        llm=llm, prompt=ENTITY_MEMORY_CONVERSATION_TEMPLATE, memory=memory
    )
    for message, _ in TURNS:
        print(f"user: {message}")
        print(f"assistant: {chain.predict(input=message)}")
    for name in ("Ana", "New York"):
        print(f"{name}: {store.get(name)}")
    store.conn.close()


if __name__ == "__main__":
    if len(sys.argv) not in {2, 3}:
        sys.exit((__doc__ or "").split("\n\n")[2].strip())
    warnings.simplefilter("ignore", DeprecationWarning)
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "ana_example")  # noqa: PLR2004
