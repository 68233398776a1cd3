"""Reads a SQLite file by the classic classes, with nothing of ours.

    python read_classic.py FILE SESSION NAME...

prints the messages of a session, and what the entity store has under the names.
"""

from __future__ import annotations

import json
import sys
import warnings

warnings.simplefilter("ignore")


def classic(name, *modules):
    """The class of that name in the first of these modules that has it."""
    for module in modules:
        try:
            return getattr(__import__(module, fromlist=[name]), name)
        except (ImportError, AttributeError):
            continue
    sys.exit(f"no {name} in this environment")


def main():
    """Read, and print one JSON object."""
    path, session, *names = sys.argv[1:]
    histories = "langchain.memory.chat_message_histories"
    kind = classic(
        "SQLChatMessageHistory",
        "langchain_community.chat_message_histories",
        histories,
    )
    address = f"sqlite:///{path}"
    try:
        history = kind(session_id=session, connection=address)
    except TypeError:
        history = kind(session_id=session, connection_string=address)
    memory = classic(
        "ConversationBufferMemory", "langchain.memory", "langchain_classic.memory"
    )(chat_memory=history, return_messages=True)
    messages = memory.load_memory_variables({})["history"]
    store = classic(
        "SQLiteEntityStore",
        "langchain.memory.entity",
        "langchain_classic.memory.entity",
    )(session_id=session, db_file=path)
    found = {
        "messages": [[one.type, one.content] for one in messages],
        "entities": {name: store.get(name) for name in names},
        "classes": [type(memory).__module__, type(history).__module__],
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
