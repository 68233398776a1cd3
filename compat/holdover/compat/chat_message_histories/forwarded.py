"""Classic histories and memories of services that Holdover has no class for.

The installed class is given as it is; where there is none, the error says what became
of it, and how to take its messages along.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holdover.compat.errors import MissingDependency
from holdover.compat.real_modules import import_real

__all__ = ["FORWARDED", "forwarded"]

_COMMUNITY = "langchain_community.chat_message_histories"
_TAKE_ALONG = (
    "To take its messages along, read them with that class and give them to "
    "StoreChatMessageHistory(session_id, store=...).add_messages(...)."
)


@dataclass(frozen=True, slots=True)
class Forward:
    """Where a class is found.

    Attributes:
        modules: Where to look, in this order.
        packages: The package it is in, and what that needs for it.
        fate: What became of the class or its service, if anything did.
        mark: An attribute the true class has: a placeholder has not.
        alive: Whether what it speaks to is still there, with messages to take along.
    """

    modules: tuple[str, ...]
    packages: tuple[str, ...]
    fate: str = ""
    mark: str = "add_message"
    alive: bool = True


def _history(
    module: str, *packages: str, fate: str = "", alive: bool = True
) -> Forward:
    return Forward(
        (f"{_COMMUNITY}.{module}",),
        ("langchain-community", *packages),
        fate,
        alive=alive,
    )


def _moved(module: str, package: str, company: str) -> Forward:
    return Forward(
        (f"{_COMMUNITY}.{module}", package.replace("-", "_")),
        (package,),
        f"langchain-community left it to {company}'s own package in 0.4.",
    )


_ZEP = (
    "It spoke to Zep's open-source server, which its makers no longer support, by "
    "zep-python 1; what they offer now is Zep Cloud."
)
FORWARDED: dict[str, Forward] = {
    "AstraDBChatMessageHistory": _moved("astradb", "langchain-astradb", "DataStax"),
    "CassandraChatMessageHistory": _history("cassandra", "cassio"),
    "CosmosDBChatMessageHistory": _history("cosmos_db", "azure-cosmos"),
    "DynamoDBChatMessageHistory": _history("dynamodb", "boto3"),
    "ElasticsearchChatMessageHistory": _history("elasticsearch", "elasticsearch"),
    "FirestoreChatMessageHistory": _history("firestore", "firebase-admin"),
    "KafkaChatMessageHistory": _history("kafka", "confluent-kafka"),
    "MomentoChatMessageHistory": _history("momento", "momento"),
    "MongoDBChatMessageHistory": _moved("mongodb", "langchain-mongodb", "MongoDB"),
    "Neo4jChatMessageHistory": _moved("neo4j", "langchain-neo4j", "Neo4j"),
    "RocksetChatMessageHistory": _history(
        "rocksetdb",
        "rockset",
        fate="Its service ended in 2024, when OpenAI had bought Rockset.",
        alive=False,
    ),
    "SingleStoreDBChatMessageHistory": _history("singlestoredb", "singlestoredb"),
    "StreamlitChatMessageHistory": _history(
        "streamlit",
        "streamlit",
        fate="It keeps messages in the state of a browser session only.",
    ),
    "TiDBChatMessageHistory": _history("tidb", "sqlalchemy", "pymysql"),
    "XataChatMessageHistory": _history("xata", "xata"),
    "ZepChatMessageHistory": _history("zep", "'zep-python<2'", fate=_ZEP),
    "ZepCloudChatMessageHistory": _history("zep_cloud", "zep-cloud"),
    "MotorheadMemory": Forward(
        ("langchain_community.memory.motorhead_memory",),
        ("langchain-community", "langchain-classic", "requests"),
        "It spoke to the server Motorhead, which its makers marked as deprecated and "
        "no longer support.",
        mark="load_memory_variables",
    ),
    "ZepMemory": Forward(
        ("langchain_community.memory.zep_memory",),
        ("langchain-community", "langchain-classic", "'zep-python<2'"),
        _ZEP,
        mark="load_memory_variables",
    ),
}


def forwarded(name: str) -> Any:
    """The installed class of that name.

    Raises:
        MissingDependency: None is installed; an `ImportError`.
        KeyError: It is no name of this table.
    """
    forward = FORWARDED[name]
    for module in forward.modules:
        try:
            found = getattr(import_real(module), name, None)
        except ImportError:
            continue
        # Where their own imports fail, some modules define an empty class.
        if found is not None and hasattr(found, forward.mark):
            return found
    missing = (
        f"{name} is a class of {forward.packages[0]}, which is not installed here, or "
        "without what it needs."
    )
    hint = f"Run: pip install {' '.join(forward.packages)}. {_TAKE_ALONG}"
    if not forward.alive:
        hint = "Use StoreChatMessageHistory."
    raise MissingDependency(f"{missing} {forward.fate}".rstrip(), hint=hint)
