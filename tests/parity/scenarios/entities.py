"""The entity memory."""

from langchain_core.prompts import PromptTemplate
from parity.comparing import scenario
from parity.library import ModelFailed, words
from pydantic import Field

ENTITY = "ConversationEntityMemory"


def turn(lib, memory, said="Maya maps comets", answered="nice"):
    """A turn as a chain has it: load, then save."""
    loaded = lib.load(memory, said)
    lib.save(memory, said, answered)
    return loaded


def stored(memory):
    return dict(memory.entity_store.store)


@scenario(ENTITY)
def an_entity_is_learnt(lib):
    memory = lib.make(ENTITY, llm=lib.entity_llm())
    before = turn(lib, memory)
    return before, memory.entity_cache, stored(memory), lib.load(memory, "Maya?")


@scenario(ENTITY)
def several_entities(lib):
    llm = lib.entity_llm("Maya, Orbit Labs", lambda p: f"Summary {len(p) > 0}")
    memory = lib.make(ENTITY, llm=llm)
    turn(lib, memory)
    return stored(memory), memory.entity_cache


@scenario(ENTITY)
def what_the_model_is_shown(lib):
    memory = lib.make(ENTITY, llm=lib.entity_llm(), human_prefix="H", ai_prefix="A")
    turn(lib, memory)
    turn(lib, memory, "Maya again", "yes")
    shown = [words(prompt) for prompt in memory.llm.prompts]
    extract = [p.split("END OF EXAMPLE")[-1] for p in shown if "to summarize" not in p]
    summarise = [p.split("Full conversation")[-1] for p in shown if "to summarize" in p]
    return extract[-1], summarise[-1]


@scenario(ENTITY)
def calls_of_the_model(lib):
    memory = lib.make(ENTITY, llm=lib.entity_llm("Maya, Leo"))
    turn(lib, memory)
    return len(memory.llm.prompts)


@scenario(ENTITY)
def no_entity(lib):
    memory = lib.make(ENTITY, llm=lib.entity_llm("NONE"))
    loaded = turn(lib, memory)
    return loaded, memory.entity_cache, stored(memory)


@scenario(ENTITY)
def no_entity_said_otherwise(lib):
    found = {}
    for answer in ("none", "NONE.", "", "None\n", "Output: NONE"):
        memory = lib.make(ENTITY, llm=lib.entity_llm(answer))
        found[answer] = lib.load(memory, "hello")["entities"]
    return found


@scenario(ENTITY)
def answers_that_are_lists(lib):
    found = {}
    for answer in ("Maya,", "- Maya\n- Leo", "1. Maya\n2. Leo", "Maya, Maya"):
        memory = lib.make(ENTITY, llm=lib.entity_llm(answer))
        lib.load(memory, "hello")
        found[answer] = memory.entity_cache
    return found


@scenario(ENTITY)
def a_summary_that_says_nothing(lib):
    answers = iter(["Maya maps comets.", "No new information provided."])
    memory = lib.make(ENTITY, llm=lib.entity_llm("Maya", lambda p: next(answers)))
    turn(lib, memory)
    turn(lib, memory, "Maya says hi", "ok")
    return stored(memory)


@scenario(ENTITY)
def an_empty_summary(lib):
    answers = iter(["Maya maps comets.", "  "])
    memory = lib.make(ENTITY, llm=lib.entity_llm("Maya", lambda p: next(answers)))
    turn(lib, memory)
    turn(lib, memory, "Maya says hi", "ok")
    return stored(memory)


@scenario(ENTITY)
def white_space_around_a_summary(lib):
    memory = lib.make(ENTITY, llm=lib.entity_llm(summary="\n  Maya. \n"))
    turn(lib, memory)
    return stored(memory)


@scenario(ENTITY)
def a_name_in_other_letters(lib):
    names = iter(["LangGraph", "langgraph"])
    memory = lib.make(ENTITY, llm=lib.entity_llm(lambda p: next(names), "a library"))
    turn(lib, memory, "LangGraph rocks")
    return lib.load(memory, "langgraph?")["entities"]


@scenario(ENTITY)
def saved_without_loading(lib):
    memory = lib.make(ENTITY, llm=lib.entity_llm())
    lib.save(memory, "Maya maps comets", "nice")
    return stored(memory), memory.entity_cache


@scenario(ENTITY)
def default_values_of_an_entity_memory(lib):
    memory = lib.make(ENTITY)
    return {
        "k": memory.k,
        "chat_history_key": memory.chat_history_key,
        "entity_cache": memory.entity_cache,
        "entity_store": type(memory.entity_store),
        "store": memory.entity_store.store,
        "buffer": memory.buffer,
        "extraction": sorted(memory.entity_extraction_prompt.input_variables),
        "summarization": sorted(memory.entity_summarization_prompt.input_variables),
        "prefixes": (memory.human_prefix, memory.ai_prefix),
    }


@scenario(ENTITY)
def as_messages(lib):
    memory = lib.make(ENTITY, llm=lib.entity_llm(), return_messages=True)
    turn(lib, memory)
    return lib.load(memory, "Maya?")


@scenario(ENTITY)
def as_text_with_prefixes(lib):
    memory = lib.make(ENTITY, llm=lib.entity_llm(), human_prefix="H", ai_prefix="A")
    turn(lib, memory)
    return lib.load(memory, "Maya?")["history"]


@scenario(ENTITY)
def a_history_key_of_its_own(lib):
    memory = lib.make(ENTITY, llm=lib.entity_llm(), chat_history_key="talk")
    return memory.memory_variables, turn(lib, memory)


@scenario(ENTITY)
def memory_key_instead_of_chat_history_key(lib):
    return lib.make(ENTITY, memory_key="talk").memory_variables


@scenario(ENTITY)
def a_window_of_one(lib):
    memory = lib.make(ENTITY, llm=lib.entity_llm("NONE"), k=1)
    for n in range(3):
        lib.save(memory, f"question {n}", f"answer {n}")
    return lib.load(memory, "x")["history"]


@scenario(ENTITY)
def a_window_of_zero(lib):
    memory = lib.make(ENTITY, llm=lib.entity_llm("NONE"), k=0)
    for n in range(2):
        lib.save(memory, f"question {n}", f"answer {n}")
    return lib.load(memory, "x")["history"]


@scenario(ENTITY)
def a_negative_window(lib):
    memory = lib.make(ENTITY, llm=lib.entity_llm("NONE"), k=-1)
    for n in range(2):
        lib.save(memory, f"question {n}", f"answer {n}")
    return lib.load(memory, "x")["history"]


@scenario(ENTITY)
def prompts_of_its_own(lib):
    memory = lib.make(
        ENTITY,
        llm=lib.llm("Maya", "New."),
        entity_extraction_prompt=PromptTemplate.from_template("X {history} {input}"),
        entity_summarization_prompt=PromptTemplate.from_template(
            "Y {entity} {summary} {history} {input}"
        ),
    )
    turn(lib, memory)
    return memory.llm.prompts, stored(memory)


@scenario(ENTITY)
def an_entity_store_that_is_given(lib):
    store = lib.InMemoryEntityStore()
    store.set("Maya", "Known before.")
    memory = lib.make(ENTITY, llm=lib.entity_llm(), entity_store=store)
    loaded = turn(lib, memory)
    return memory.entity_store is store, loaded["entities"], stored(memory)


@scenario(ENTITY)
def an_entity_store_of_a_user(lib):
    class Mine(lib.BaseEntityStore):
        kept: dict = Field(default_factory=dict)

        def get(self, key, default=None):
            return self.kept.get(key, default)

        def set(self, key, value):
            self.kept[key] = value

        def delete(self, key):
            del self.kept[key]

        def exists(self, key):
            return key in self.kept

        def clear(self):
            self.kept.clear()

    memory = lib.make(ENTITY, llm=lib.entity_llm(), entity_store=Mine())
    turn(lib, memory)
    after = dict(memory.entity_store.kept)
    lib.clear(memory)
    return after, memory.entity_store.kept


@scenario(ENTITY)
def an_entity_store_that_is_none(lib):
    return lib.make(ENTITY, entity_store=None)


@scenario(ENTITY)
def over_a_file_of_sqlite(lib):
    store = lib.SQLiteEntityStore("ana", lib.path("e.db"))
    memory = lib.make(ENTITY, llm=lib.entity_llm(), entity_store=store)
    turn(lib, memory)
    again = lib.SQLiteEntityStore("ana", lib.path("e.db"))
    return again.get("Maya")


@scenario(ENTITY)
def entities_of_another_life(lib):
    memory = lib.make(ENTITY, store={"Maya": "Known."}, buffer=["Human: hi"])
    return memory.entity_store.get("Maya"), lib.messages(memory.chat_memory)


@scenario(ENTITY)
def the_old_attribute_store(lib):
    memory = lib.make(ENTITY, llm=lib.entity_llm())
    turn(lib, memory)
    return dict(memory.store)


@scenario(ENTITY)
def a_cache_assigned(lib):
    memory = lib.make(ENTITY, llm=lib.entity_llm())
    memory.entity_cache = ["Leo"]
    lib.save(memory, "Leo sails", "ok")
    return stored(memory)


@scenario(ENTITY)
def a_cleared_entity_memory(lib):
    memory = lib.make(ENTITY, llm=lib.entity_llm())
    turn(lib, memory)
    lib.clear(memory)
    return memory.entity_cache, stored(memory), memory.buffer


@scenario(ENTITY)
def the_extraction_raises(lib):
    memory = lib.make(ENTITY, llm=lib.failing_llm())
    lib.load(memory, "Maya")


@scenario(ENTITY)
def the_summary_raises(lib):
    def fail(prompt):
        raise ModelFailed

    memory = lib.make(ENTITY, llm=lib.entity_llm("Maya", fail))
    lib.load(memory, "Maya maps comets")
    raised = None
    try:
        lib.save(memory, "Maya maps comets", "nice")
    except ModelFailed as error:
        raised = error
    return raised, lib.messages(memory.chat_memory), stored(memory)


@scenario(ENTITY)
def two_inputs_to_load(lib):
    return lib.load(lib.make(ENTITY), {"foo": "a", "bar": "b"})


@scenario(ENTITY)
def two_inputs_one_of_them_input_to_load(lib):
    memory = lib.make(ENTITY, llm=lib.entity_llm("NONE"))
    return lib.load(memory, {"input": "hi", "language": "en"})


@scenario(ENTITY)
def no_input_to_load(lib):
    return lib.load(lib.make(ENTITY), {})


@scenario(ENTITY)
def an_input_key_that_is_not_there_to_load(lib):
    return lib.load(lib.make(ENTITY, input_key="q"), "hi")


@scenario(ENTITY)
def a_chat_model_extracts(lib):
    model = lib.chat_model(lib.entity_llm().answer)
    memory = lib.make(ENTITY, llm=model)
    turn(lib, memory)
    return stored(memory)


@scenario(ENTITY)
def a_prompt_without_a_variable(lib):
    memory = lib.make(
        ENTITY,
        llm=lib.llm("Maya", "New."),
        entity_extraction_prompt=PromptTemplate.from_template("X {unknown}"),
    )
    return lib.load(memory, "hi")


# The stores of entities


@scenario("InMemoryEntityStore", ways=("sync",))
def five_methods_in_memory(lib):
    return five_methods(lib.InMemoryEntityStore())


@scenario("SQLiteEntityStore", ways=("sync",))
def five_methods_in_sqlite(lib):
    return five_methods(lib.SQLiteEntityStore("s", lib.path("e.db")))


@scenario("RedisEntityStore", ways=("sync",))
def five_methods_in_redis(lib):
    return five_methods(lib.redis_store())


@scenario("UpstashRedisEntityStore", ways=("sync",))
def five_methods_in_upstash(lib):
    return five_methods(lib.UpstashRedisEntityStore("s", *lib.upstash))


def five_methods(store):
    store.set("Maya", "maps comets")
    store.set("Leo", "sails")
    steps = [
        store.get("Maya"),
        store.get("Nobody", "default"),
        store.exists("Maya"),
        store.exists("Nobody"),
    ]
    store.set("Maya", "maps moons")
    steps.append(store.get("Maya"))
    store.delete("Maya")
    steps += [store.exists("Maya"), store.get("Maya", "gone")]
    steps.append(store.clear())
    return [*steps, store.exists("Leo")]


STORES = {
    "InMemoryEntityStore": lambda lib: lib.InMemoryEntityStore(),
    "SQLiteEntityStore": lambda lib: lib.SQLiteEntityStore("s", lib.path("e.db")),
    "RedisEntityStore": lambda lib: lib.redis_store(),
    "UpstashRedisEntityStore": lambda lib: lib.UpstashRedisEntityStore(
        "s", *lib.upstash
    ),
}


@scenario(*STORES, ways=("sync",))
def an_unknown_name_without_a_default(lib, name):
    return STORES[name](lib).get("Nobody")


@scenario(*STORES, ways=("sync",))
def an_unknown_name_deleted(lib, name):
    return STORES[name](lib).delete("Nobody")


@scenario(*STORES, ways=("sync",))
def an_empty_summary_set(lib, name):
    store = STORES[name](lib)
    store.set("Maya", "maps comets")
    store.set("Maya", "")
    return store.exists("Maya"), store.get("Maya", "gone")


@scenario(*STORES, ways=("sync",))
def none_set(lib, name):
    store = STORES[name](lib)
    store.set("Maya", "maps comets")
    store.set("Maya", None)
    return store.exists("Maya"), store.get("Maya", "gone")


@scenario(*STORES, ways=("sync",))
def odd_names(lib, name):
    store = STORES[name](lib)
    for key in ("", " ", "New York", "a:b", "größe 日本", "x" * 300, "100%_*"):
        store.set(key, f"about {key}")
    return [store.get(key) == f"about {key}" for key in ("", " ", "a:b", "100%_*")]


@scenario(*STORES, ways=("sync",))
def an_unknown_argument(lib, name):
    made = {
        "InMemoryEntityStore": lambda: lib.InMemoryEntityStore(size=3),
        "SQLiteEntityStore": lambda: lib.SQLiteEntityStore(
            "s", lib.path("e.db"), size=3
        ),
        "RedisEntityStore": lambda: lib.redis_store(size=3),
        "UpstashRedisEntityStore": lambda: lib.UpstashRedisEntityStore(
            "s", *lib.upstash, size=3
        ),
    }
    return lib.warned(made[name])


@scenario(*STORES, ways=("sync",))
def is_a_base_entity_store_of_classic(lib, name):
    classic = lib if lib.name == "classic" else lib.other
    return isinstance(STORES[name](lib), classic.BaseEntityStore)


@scenario("InMemoryEntityStore", ways=("sync",))
def the_dictionary_of_an_in_memory_store(lib):
    store = lib.InMemoryEntityStore(store={"Maya": "maps comets"})
    store.store["Leo"] = "sails"
    return store.get("Maya"), store.get("Leo"), store.store


@scenario("InMemoryEntityStore", ways=("sync",))
def the_dictionary_assigned(lib):
    store = lib.InMemoryEntityStore()
    store.store = {"Maya": "maps comets"}
    return store.get("Maya")


@scenario("InMemoryEntityStore", ways=("sync",))
def two_in_memory_stores_share_nothing(lib):
    first, second = lib.InMemoryEntityStore(), lib.InMemoryEntityStore()
    first.set("Maya", "maps comets")
    return second.exists("Maya")


@scenario("InMemoryEntityStore", ways=("sync",))
def dumped_and_validated(lib):
    store = lib.InMemoryEntityStore(store={"Maya": "maps comets"})
    dumped = store.model_dump()
    return dumped, lib.InMemoryEntityStore.model_validate(dumped).get("Maya")


@scenario("SQLiteEntityStore", ways=("sync",))
def default_values_of_a_sqlite_store(lib):
    store = lib.SQLiteEntityStore(db_file=lib.path("e.db"))
    return store.session_id, store.table_name, store.full_table_name


@scenario("SQLiteEntityStore", ways=("sync",))
def by_position_and_by_name(lib):
    store = lib.SQLiteEntityStore("s", lib.path("e.db"), "facts")
    store.set("Maya", "maps comets")
    again = lib.SQLiteEntityStore(
        session_id="s", db_file=lib.path("e.db"), table_name="facts"
    )
    return again.full_table_name, again.get("Maya")


@scenario("SQLiteEntityStore", ways=("sync",))
def sessions_in_one_file(lib):
    first, second = (lib.SQLiteEntityStore(s, lib.path("e.db")) for s in ("a", "b"))
    first.set("Maya", "maps comets")
    second.set("Leo", "sails")
    first.clear()
    return first.exists("Maya"), second.get("Leo"), second.exists("Maya")


@scenario("SQLiteEntityStore", ways=("sync",))
def a_session_id_that_is_no_identifier(lib):
    store = lib.SQLiteEntityStore("ana@example.org", lib.path("e.db"))
    store.set("Maya", "maps comets")
    return store.get("Maya")


@scenario("SQLiteEntityStore", ways=("sync",))
def a_file_in_memory(lib):
    store = lib.SQLiteEntityStore("s", ":memory:")
    store.set("Maya", "maps comets")
    return store.get("Maya")


@scenario("SQLiteEntityStore", ways=("sync",))
def in_another_thread(lib):
    from concurrent.futures import ThreadPoolExecutor

    store = lib.SQLiteEntityStore("s", lib.path("e.db"))
    store.set("Maya", "maps comets")
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(store.get, "Maya").result()


@scenario("SQLiteEntityStore", ways=("sync",))
def the_table_of_a_new_entity(lib):
    import sqlite3
    from contextlib import closing

    lib.SQLiteEntityStore("s", lib.path("e.db")).set("Maya", "maps comets")
    with closing(sqlite3.connect(lib.path("e.db"))) as conn:
        rows = conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        return "memory_store_s" in [name for (name,) in rows]


@scenario("SQLiteEntityStore", ways=("sync",))
def the_attribute_conn(lib):
    return type(lib.SQLiteEntityStore("s", lib.path("e.db")).conn)


@scenario("RedisEntityStore", ways=("sync",))
def default_values_of_a_redis_store(lib):
    fields = {"redis_client": None} if lib.name == "classic" else {}
    store = lib.RedisEntityStore(url=lib.redis_url, **fields)
    lifetimes = store.ttl, store.recall_ttl
    return store.session_id, store.key_prefix, store.full_key_prefix, lifetimes


@scenario("RedisEntityStore", ways=("sync",))
def constructed_as_documented(lib):
    return type(lib.RedisEntityStore("s", lib.redis_url))


@scenario("RedisEntityStore", ways=("sync",))
def no_recall_ttl_is_ttl(lib):
    store = lib.redis_store(ttl=60, recall_ttl=None)
    return store.ttl, store.recall_ttl


@scenario("RedisEntityStore", ways=("sync",))
def a_session_that_begins_as_another(lib):
    first, second = lib.redis_store("user"), lib.redis_store("user:42")
    first.set("Maya", "maps comets")
    second.set("Leo", "sails")
    first.clear()
    return first.exists("Maya"), second.exists("Leo")


@scenario("RedisEntityStore", ways=("sync",))
def the_lifetimes_in_redis(lib):
    import redis

    store = lib.redis_store(ttl=120, recall_ttl=600)
    url = lib.redis_url
    store.set("Maya", "maps comets")
    with redis.Redis.from_url(url, decode_responses=True) as client:

        def longest():
            return max(map(client.ttl, client.scan_iter()))

        first = longest()
        store.get("Maya")
        return 100 < first <= 120, 550 < longest() <= 600


@scenario("RedisEntityStore", ways=("sync",))
def a_redis_that_is_not_there(lib):
    fields = {"redis_client": None} if lib.name == "classic" else {}
    store = lib.RedisEntityStore("s", "redis://127.0.0.1:1/0", **fields)
    return store.get("Maya")


@scenario("UpstashRedisEntityStore", ways=("sync",))
def an_upstash_store_constructed(lib):
    url, token = lib.upstash
    store = lib.UpstashRedisEntityStore(
        session_id="s", url=url, token=token, key_prefix="p", ttl=60, recall_ttl=90
    )
    return store.full_key_prefix, store.ttl, store.recall_ttl
