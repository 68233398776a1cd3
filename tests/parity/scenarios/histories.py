"""The chat histories."""

import asyncio
import json
from pathlib import Path

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from parity.comparing import scenario

MEMORY = "ChatMessageHistory"
FILE = "FileChatMessageHistory"
REDIS = "RedisChatMessageHistory"
SQL = "SQLChatMessageHistory"
POSTGRES = "PostgresChatMessageHistory"
UPSTASH = "UpstashRedisChatMessageHistory"


def sql_url(lib):
    return f"sqlite:///{lib.path('h.db')}"


MAKE = {
    MEMORY: lambda lib, session: lib.ChatMessageHistory(),
    FILE: lambda lib, session: lib.FileChatMessageHistory(lib.path(f"{session}.json")),
    REDIS: lambda lib, session: lib.RedisChatMessageHistory(session, lib.redis_url),
    SQL: lambda lib, session: lib.SQLChatMessageHistory(
        session, connection=sql_url(lib)
    ),
    POSTGRES: lambda lib, session: lib.PostgresChatMessageHistory(
        session, lib.postgres_url, f"table_{lib.name}"
    ),
    UPSTASH: lambda lib, session: lib.UpstashRedisChatMessageHistory(
        session, *lib.upstash
    ),
}
KEPT = tuple(name for name in MAKE if name != MEMORY)
#: Of which classic's async methods are those of the base: in an executor.
SYNC = tuple(name for name in MAKE if name != SQL)


def made(lib, name, session="s"):
    return MAKE[name](lib, session)


@scenario(*MAKE, ways=("sync",))
def messages_of_text(lib, name):
    history = made(lib, name)
    history.add_user_message("hello")
    history.add_ai_message("hi")
    return history.messages


@scenario(*MAKE, ways=("sync",))
def messages_as_they_are(lib, name):
    history = made(lib, name)
    history.add_user_message(HumanMessage("hello"))
    call = {"name": "w", "args": {"a": 1}, "id": "c"}
    history.add_ai_message(AIMessage("", tool_calls=[call]))
    history.add_message(SystemMessage("größe 日本"))
    return history.messages


@scenario(*SYNC)
def several_messages_at_once(lib, name):
    history = made(lib, name)
    said = [HumanMessage("hello"), AIMessage("hi")]
    returned = lib.call(history, "add_messages", said)
    return returned, lib.messages(history)


@scenario(SQL, ways=("sync",))
def several_messages_at_once_sync(lib):
    history = made(lib, SQL)
    history.add_messages([HumanMessage("hello"), AIMessage("hi")])
    return history.messages, history.get_messages()


@scenario(*SYNC)
def no_messages_at_once(lib, name):
    history = made(lib, name)
    lib.call(history, "add_messages", [])
    return lib.messages(history)


@scenario(*SYNC)
def cleared(lib, name):
    history = made(lib, name)
    history.add_user_message("hello")
    returned = lib.call(history, "clear")
    history.add_user_message("again")
    return returned, lib.messages(history)


@scenario(SQL, ways=("sync",))
def cleared_sync(lib):
    history = made(lib, SQL)
    history.add_user_message("hello")
    history.clear()
    return history.messages


@scenario(*MAKE, ways=("sync",))
def empty_at_first(lib, name):
    return made(lib, name).messages


@scenario(*MAKE, ways=("sync",))
def as_text(lib, name):
    history = made(lib, name)
    history.add_user_message("hello")
    history.add_ai_message("hi")
    return str(history)


@scenario(*MAKE, ways=("sync",))
def many_messages_in_order(lib, name):
    history = made(lib, name)
    history.add_messages([HumanMessage(str(n)) for n in range(20)])
    return [message.content for message in history.messages]


@scenario(*KEPT, ways=("sync",))
def kept_for_another_object(lib, name):
    made(lib, name).add_user_message("hello")
    return made(lib, name).messages


@scenario(*KEPT, ways=("sync",))
def sessions_apart(lib, name):
    first, second = made(lib, name, "one"), made(lib, name, "two")
    first.add_user_message("hello")
    second.add_user_message("other")
    first.clear()
    return first.messages, second.messages


@scenario(*MAKE, ways=("sync",))
def text_that_is_no_message(lib, name):
    made(lib, name).add_message("hello")


@scenario(*MAKE, ways=("sync",))
def is_a_history_of_langchain_core(lib, name):
    from langchain_core.chat_history import BaseChatMessageHistory

    return isinstance(made(lib, name), BaseChatMessageHistory)


@scenario(*MAKE, ways=("sync",))
def under_a_buffer_memory(lib, name):
    history = made(lib, name)
    memory = lib.make("ConversationBufferMemory", chat_memory=history)
    lib.save(memory, "hello", "hi")
    return lib.load(memory)


# In memory


@scenario(MEMORY, ways=("sync",))
def messages_given_and_assigned(lib):
    history = lib.ChatMessageHistory(messages=[HumanMessage("hello")])
    first = list(history.messages)
    history.messages = [AIMessage("hi")]
    return first, history.messages


@scenario(MEMORY, ways=("sync",))
def the_list_itself(lib):
    history = lib.ChatMessageHistory()
    history.messages.append(HumanMessage("hello"))
    return history.messages


@scenario(MEMORY, ways=("sync",))
def compared_copied_and_dumped(lib):
    history = lib.ChatMessageHistory(messages=[HumanMessage("hello")])
    twin = history.model_copy(deep=True)
    twin.add_user_message("again")
    return len(history.messages), history == twin, list(history.model_dump())


# A file


@scenario(FILE, ways=("sync",))
def attributes_of_a_file(lib):
    history = lib.FileChatMessageHistory(
        file_path=lib.path("h.json"), encoding="utf-8", ensure_ascii=False
    )
    return Path(history.file_path).name, history.encoding, history.ensure_ascii


@scenario(FILE, ways=("sync",))
def an_old_file(lib):
    old = [
        {"type": "human", "data": {"content": "hello", "type": "human"}},
        {"type": "ai", "data": {"content": "hi", "type": "ai"}},
    ]
    Path(lib.path("h.json")).write_text(json.dumps(old))
    history = lib.FileChatMessageHistory(lib.path("h.json"))
    history.add_user_message("again")
    return history.messages


@scenario(FILE, ways=("sync",))
def a_folder_that_is_not_there(lib):
    history = lib.FileChatMessageHistory(lib.path("sub/h.json"))
    history.add_user_message("hello")
    return history.messages


@scenario(FILE, ways=("sync",))
def a_broken_file(lib):
    Path(lib.path("h.json")).write_text('[{"type": "human", "da')
    return lib.FileChatMessageHistory(lib.path("h.json")).messages


@scenario(FILE, ways=("sync",))
def the_file_of_a_new_message(lib):
    lib.FileChatMessageHistory(lib.path("h.json")).add_user_message("hello")
    path = Path(lib.path("h.json"))
    try:
        return [one["data"]["content"] for one in json.loads(path.read_text())]
    except (OSError, ValueError) as error:
        return error


# Redis


@scenario(REDIS, ways=("sync",))
def attributes_of_redis(lib):
    history = lib.RedisChatMessageHistory("s", url=lib.redis_url)
    return history.session_id, history.key_prefix, history.ttl, history.key


@scenario(REDIS, ways=("sync",))
def arguments_of_redis(lib):
    history = lib.RedisChatMessageHistory(
        session_id="s", url=lib.redis_url, key_prefix="p:", ttl=60
    )
    history.add_user_message("hello")
    return history.key, history.ttl, history.messages


@scenario(REDIS, ways=("sync",))
def an_old_list(lib):
    import redis

    old = [
        {"type": "human", "data": {"content": "hello", "type": "human"}},
        {"type": "ai", "data": {"content": "hi", "type": "ai"}},
    ]
    with redis.Redis.from_url(lib.redis_url) as client:
        for one in old:
            client.lpush("message_store:s", json.dumps(one))
    history = lib.RedisChatMessageHistory("s", lib.redis_url)
    history.add_user_message("again")
    return history.messages


@scenario(REDIS, ways=("sync",))
def messages_assigned_in_redis(lib):
    lib.RedisChatMessageHistory("s", lib.redis_url).messages = []


@scenario(REDIS, ways=("sync",))
def a_redis_that_is_not_there(lib):
    history = lib.RedisChatMessageHistory("s", "redis://127.0.0.1:1/0")
    return history.messages


# SQL


@scenario(SQL, ways=("sync",))
def an_engine(lib):
    from sqlalchemy import create_engine

    engine = create_engine(sql_url(lib))
    history = lib.SQLChatMessageHistory("s", connection=engine)
    history.add_user_message("hello")
    engine.dispose()
    return history.session_id, history.session_id_field_name, history.messages


@scenario(SQL, ways=("sync",))
def a_table_of_its_own(lib):
    url = sql_url(lib)
    history = lib.SQLChatMessageHistory("s", "talks", connection=url)
    history.add_user_message("hello")
    again = lib.SQLChatMessageHistory("s", table_name="talks", connection=url)
    return again.messages, lib.SQLChatMessageHistory("s", connection=url).messages


@scenario(SQL, ways=("sync",))
def no_connection(lib):
    return lib.SQLChatMessageHistory("s")


@scenario(SQL, ways=("sync",))
def the_old_argument_connection_string(lib):
    url = sql_url(lib)
    history = lib.SQLChatMessageHistory(session_id="s", connection_string=url)
    history.add_user_message("hello")
    return history.messages


@scenario(SQL, ways=("async",))
def an_async_engine(lib):
    from sqlalchemy.ext.asyncio import create_async_engine

    async def go():
        engine = create_async_engine(f"sqlite+aiosqlite:///{lib.path('h.db')}")
        history = lib.SQLChatMessageHistory("s", connection=engine)
        said = [HumanMessage("hello"), AIMessage("hi")]
        await history.aadd_messages(said)
        await history.aadd_message(HumanMessage("more"))
        kept = await history.aget_messages()
        await history.aclear()
        left = await history.aget_messages()
        await engine.dispose()
        return kept, left

    return asyncio.run(go())


@scenario(SQL, ways=("async",))
def the_async_methods_of_a_sync_connection(lib):
    async def go():
        history = made(lib, SQL)
        await history.aadd_messages([HumanMessage("hello")])
        return await history.aget_messages()

    return asyncio.run(go())


@scenario(SQL, ways=("sync",))
def the_sync_methods_of_an_async_connection(lib):
    url = f"sqlite+aiosqlite:///{lib.path('h.db')}"
    history = lib.SQLChatMessageHistory("s", connection=url, async_mode=True)
    return history.messages


@scenario(SQL, ways=("sync",))
def a_converter_of_its_own(lib):
    import importlib

    module = importlib.import_module(type(made(lib, SQL, "x")).__module__)

    class Mine(module.DefaultMessageConverter):
        def from_sql_model(self, sql_message):
            message = super().from_sql_model(sql_message)
            return HumanMessage(f"<{message.content}>")

    history = lib.SQLChatMessageHistory(
        "s",
        connection=sql_url(lib),
        custom_message_converter=Mine("talks"),
        engine_args={"echo": False},
    )
    history.add_user_message("hello")
    return history.messages


@scenario(SQL, ways=("sync",))
def a_model_without_the_session_column(lib):
    return lib.SQLChatMessageHistory(
        "s", session_id_field_name="who", connection=sql_url(lib)
    )


# PostgreSQL


@scenario(POSTGRES, ways=("sync",))
def arguments_of_postgres(lib):
    history = lib.PostgresChatMessageHistory(
        session_id="s",
        connection_string=lib.postgres_url,
        table_name=f"talks_{lib.name}",
    )
    history.add_user_message("hello")
    return history.session_id, history.table_name[:5], history.messages


@scenario(POSTGRES, ways=("sync",))
def a_postgres_that_is_not_there(lib):
    url = "postgresql://u:p@127.0.0.1:1/x"
    return lib.PostgresChatMessageHistory("s", connection_string=url).messages


# Upstash


@scenario(UPSTASH, ways=("sync",))
def arguments_of_upstash(lib):
    url, token = lib.upstash
    history = lib.UpstashRedisChatMessageHistory(
        session_id="s", url=url, token=token, key_prefix="p:", ttl=60
    )
    history.add_user_message("hello")
    return history.key, history.session_id, history.ttl, history.messages


@scenario(UPSTASH, ways=("sync",))
def no_address_of_upstash(lib):
    return lib.UpstashRedisChatMessageHistory("s")
