"""What deleting a stranger and setting nothing do depends on the entity store."""

from helping import place, verdict
from langchain_classic.memory import InMemoryEntityStore, SQLiteEntityStore


def behaviour(store):
    try:
        store.delete("ghost")
        quiet = True
    except KeyError:
        quiet = False
    store.set("Maya", "an astronomer")
    store.set("Maya", "")
    return quiet, store.exists("Maya")


seen = [
    behaviour(InMemoryEntityStore()),
    behaviour(SQLiteEntityStore(session_id="s", db_file=place("e.db"))),
]
verdict(seen[0] != seen[1], seen)
