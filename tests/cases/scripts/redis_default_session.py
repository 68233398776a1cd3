"""Two users without an id share entities, and nobody tells (langchain#6872, #12706)."""

from helping import redis_url, verdict, warned
from langchain_classic.memory import RedisEntityStore

try:
    told = warned(lambda: RedisEntityStore(url=redis_url()))
except Exception as error:
    verdict(fault=True, detail=repr(error))
else:
    verdict(not told, "a warning" if told else "not a word")
