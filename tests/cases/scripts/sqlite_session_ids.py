"""The SQLite store refuses ids that people have (langchain#12766)."""

from helping import place, verdict
from langchain_classic.memory import SQLiteEntityStore

refused = []
for session in ("7c1f2d3e-0000-4000-8000-000000000001", "ana@example.org", "user 1"):
    try:
        store = SQLiteEntityStore(session_id=session, db_file=place("e.db"))
        store.set("Maya", "an astronomer")
        if store.get("Maya") != "an astronomer":
            refused.append(session)
    except ValueError:
        refused.append(session)
verdict(refused, refused)
