"""The entity store of Upstash cannot be constructed (langchain#18891)."""

from helping import verdict
from langchain_classic.memory import UpstashRedisEntityStore

try:
    store = UpstashRedisEntityStore("s1", "https://example.invalid", "token", ttl=60)
except Exception as error:
    verdict(fault=True, detail=repr(error))
else:
    verdict(store.ttl != 60, store.full_key_prefix)
