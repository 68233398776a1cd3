"""LangChain's classic memory classes, on LangGraph stores.

Names are loaded when they are first used: importing this package imports neither
LangChain's classic packages nor a database driver.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdover.compat.agent_token_buffer_memory import (
        AgentTokenBufferMemory,
    )
    from holdover.compat.base import (
        BaseChatMessageHistory,
        BaseEntityStore,
        BaseMemory,
    )
    from holdover.compat.buffer import (
        ConversationBufferMemory,
    )
    from holdover.compat.buffer_window import (
        ConversationBufferWindowMemory,
    )
    from holdover.compat.chat_memory import (
        BaseChatMemory,
    )
    from holdover.compat.chat_message_histories.file import FileChatMessageHistory
    from holdover.compat.chat_message_histories.in_memory import ChatMessageHistory
    from holdover.compat.chat_message_histories.postgres import (
        PostgresChatMessageHistory,
    )
    from holdover.compat.chat_message_histories.redis import RedisChatMessageHistory
    from holdover.compat.chat_message_histories.sql import SQLChatMessageHistory
    from holdover.compat.chat_message_histories.store import StoreChatMessageHistory
    from holdover.compat.chat_message_histories.upstash_redis import (
        UpstashRedisChatMessageHistory,
    )
    from holdover.compat.combined import (
        CombinedMemory,
    )
    from holdover.compat.configuration import (
        configure,
        configured,
    )
    from holdover.compat.entity import (
        ConversationEntityMemory,
    )
    from holdover.compat.entity_stores import (
        InMemoryEntityStore,
        SQLiteEntityStore,
    )
    from holdover.compat.errors import (
        HoldoverError,
    )
    from holdover.compat.io_keys import (
        get_prompt_input_key,
    )
    from holdover.compat.kg import (
        ConversationKGMemory,
    )
    from holdover.compat.readonly import (
        ReadOnlySharedMemory,
    )
    from holdover.compat.redis_entity_stores import (
        RedisEntityStore,
        UpstashRedisEntityStore,
    )
    from holdover.compat.repository import (
        Repository,
    )
    from holdover.compat.scope import (
        Scope,
    )
    from holdover.compat.simple import (
        SimpleMemory,
    )
    from holdover.compat.stores.opening import (
        close_stores,
        open_store,
    )
    from holdover.compat.stores.probing import (
        probe,
    )
    from holdover.compat.stores.redis import (
        PlainRedisStore,
    )
    from holdover.compat.string_buffer import (
        ConversationStringBufferMemory,
    )
    from holdover.compat.summary import (
        ConversationSummaryMemory,
    )
    from holdover.compat.summary_buffer import (
        ConversationSummaryBufferMemory,
    )
    from holdover.compat.token_buffer import (
        ConversationTokenBufferMemory,
    )
    from holdover.compat.vectorstore import (
        VectorStoreRetrieverMemory,
    )
    from holdover.compat.vectorstore_token_buffer_memory import (
        ConversationVectorStoreTokenBufferMemory,
    )

_MODULES = {
    "AgentTokenBufferMemory": "agent_token_buffer_memory",
    "BaseChatMemory": "chat_memory",
    "BaseChatMessageHistory": "base",
    "BaseEntityStore": "base",
    "BaseMemory": "base",
    "ChatMessageHistory": "chat_message_histories.in_memory",
    "CombinedMemory": "combined",
    "ConversationBufferMemory": "buffer",
    "ConversationBufferWindowMemory": "buffer_window",
    "ConversationEntityMemory": "entity",
    "ConversationKGMemory": "kg",
    "ConversationStringBufferMemory": "string_buffer",
    "ConversationSummaryBufferMemory": "summary_buffer",
    "ConversationSummaryMemory": "summary",
    "ConversationTokenBufferMemory": "token_buffer",
    "ConversationVectorStoreTokenBufferMemory": "vectorstore_token_buffer_memory",
    "FileChatMessageHistory": "chat_message_histories.file",
    "HoldoverError": "errors",
    "InMemoryEntityStore": "entity_stores",
    "PlainRedisStore": "stores.redis",
    "PostgresChatMessageHistory": "chat_message_histories.postgres",
    "ReadOnlySharedMemory": "readonly",
    "RedisChatMessageHistory": "chat_message_histories.redis",
    "RedisEntityStore": "redis_entity_stores",
    "Repository": "repository",
    "SQLChatMessageHistory": "chat_message_histories.sql",
    "SQLiteEntityStore": "entity_stores",
    "Scope": "scope",
    "SimpleMemory": "simple",
    "StoreChatMessageHistory": "chat_message_histories.store",
    "UpstashRedisChatMessageHistory": "chat_message_histories.upstash_redis",
    "UpstashRedisEntityStore": "redis_entity_stores",
    "VectorStoreRetrieverMemory": "vectorstore",
    "close_stores": "stores.opening",
    "configure": "configuration",
    "configured": "configuration",
    "get_prompt_input_key": "io_keys",
    "open_store": "stores.opening",
    "probe": "stores.probing",
}
#: Classic names that other packages serve, where they are installed.
_FORWARDED = (
    "AstraDBChatMessageHistory",
    "CassandraChatMessageHistory",
    "CosmosDBChatMessageHistory",
    "DynamoDBChatMessageHistory",
    "ElasticsearchChatMessageHistory",
    "MomentoChatMessageHistory",
    "MongoDBChatMessageHistory",
    "MotorheadMemory",
    "SingleStoreDBChatMessageHistory",
    "StreamlitChatMessageHistory",
    "XataChatMessageHistory",
    "ZepChatMessageHistory",
    "ZepMemory",
)

__all__ = [
    "AgentTokenBufferMemory",
    "BaseChatMemory",
    "BaseChatMessageHistory",
    "BaseEntityStore",
    "BaseMemory",
    "ChatMessageHistory",
    "CombinedMemory",
    "ConversationBufferMemory",
    "ConversationBufferWindowMemory",
    "ConversationEntityMemory",
    "ConversationKGMemory",
    "ConversationStringBufferMemory",
    "ConversationSummaryBufferMemory",
    "ConversationSummaryMemory",
    "ConversationTokenBufferMemory",
    "ConversationVectorStoreTokenBufferMemory",
    "FileChatMessageHistory",
    "HoldoverError",
    "InMemoryEntityStore",
    "PlainRedisStore",
    "PostgresChatMessageHistory",
    "ReadOnlySharedMemory",
    "RedisChatMessageHistory",
    "RedisEntityStore",
    "Repository",
    "SQLChatMessageHistory",
    "SQLiteEntityStore",
    "Scope",
    "SimpleMemory",
    "StoreChatMessageHistory",
    "UpstashRedisChatMessageHistory",
    "UpstashRedisEntityStore",
    "VectorStoreRetrieverMemory",
    "close_stores",
    "configure",
    "configured",
    "get_prompt_input_key",
    "open_store",
    "probe",
]


def __getattr__(name: str) -> Any:
    if name in _FORWARDED:
        from holdover.compat.chat_message_histories.forwarded import (  # noqa: PLC0415
            forwarded,
        )

        value = forwarded(name)
    elif name in _MODULES:
        module = importlib.import_module(f"{__name__}.{_MODULES[name]}")
        value = getattr(module, name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
