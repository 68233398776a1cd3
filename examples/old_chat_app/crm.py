"""Notes about customers as people wrote it for LangChain 0.2.

Whatever an agent of the company says about people and places is kept by name, in
Redis for a day (three after it was read) or in a file.

    python crm.py REDIS_URL_OR_FILE AGENT MESSAGE...
"""

from __future__ import annotations

import sys

from langchain.chains import ConversationChain
from langchain.memory import ConversationEntityMemory
from langchain.memory.entity import RedisEntityStore, SQLiteEntityStore
from langchain.memory.prompt import ENTITY_MEMORY_CONVERSATION_TEMPLATE
from rehearsed import RehearsedModel


def make_chain(place: str, agent: str) -> ConversationChain:
    """Make the chain of one agent, over Redis or a file."""
    if "://" in place:
        entities = RedisEntityStore(session_id=agent, url=place)
    else:
        entities = SQLiteEntityStore(session_id=agent, db_file=place)
    llm = RehearsedModel()
    memory = ConversationEntityMemory(llm=llm, entity_store=entities)
    return ConversationChain(
        llm=llm, prompt=ENTITY_MEMORY_CONVERSATION_TEMPLATE, memory=memory
    )


def talk(place: str, agent: str, *messages: str) -> list[str]:
    """Say something, and give the replies."""
    chain = make_chain(place, agent)
    return [chain.predict(input=message) for message in messages]


if __name__ == "__main__":
    if len(sys.argv) < 4:  # noqa: PLR2004
        sys.exit("usage: python crm.py REDIS_URL_OR_FILE AGENT MESSAGE...")
    print("\n".join(talk(*sys.argv[1:])))
