"""The entity store of Redis cannot be constructed."""

from helping import redis_url, verdict
from langchain_classic.memory import RedisEntityStore

try:
    store = RedisEntityStore(session_id="s", url=redis_url())
    store.set("Maya", "an astronomer")
except Exception as error:
    verdict(fault=True, detail=repr(error))
else:
    verdict(store.get("Maya") != "an astronomer", store.get("Maya"))
