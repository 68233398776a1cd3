"""What tests of threads share: old histories, real checkpointers, a telling agent."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import ClassVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, message_to_dict
from langchain_core.outputs import ChatGeneration, ChatResult
from moving import is_postgres, path_of

#: As `SQLChatMessageHistory` of 0.3.27 leaves it in `sqlite_master`.
DDL = (
    "CREATE TABLE {} (\n\tid INTEGER NOT NULL, \n\tsession_id TEXT, \n"
    "\tmessage TEXT, \n\tPRIMARY KEY (id)\n)"
)


@dataclass
class Bomb:
    """What a foreign checkpoint may hold, and what reading it must not make."""

    made: ClassVar[list] = []
    name: str = "bomb"

    def __post_init__(self):
        self.made.append(self.name)


def write_history(path, sessions, table="message_store"):
    """Make or extend a classic history: `{session: [message or JSON]}`, in turns."""
    with closing(sqlite3.connect(path)) as db, db:
        known = db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,))
        if not known.fetchone():
            db.execute(DDL.format(table))
        longest = max(map(len, sessions.values()), default=0)
        for at in range(longest):  # sessions of one table are interleaved
            for session, messages in sessions.items():
                if at < len(messages):
                    one = messages[at]
                    text = json.dumps(
                        one if isinstance(one, dict) else message_to_dict(one)
                    )
                    db.execute(
                        f"INSERT INTO {table} (session_id, message) VALUES (?, ?)",
                        (session, text),
                    )
    return str(path)


class Telling(BaseChatModel):
    """Answers with what it was given: types and texts, in order."""

    seen: list

    @property
    def _llm_type(self):
        return "telling"

    def bind_tools(self, tools, **_):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **_):
        self.seen.append(list(messages))
        told = [(m.type, m.content) for m in messages]
        reply = AIMessage(json.dumps(told))
        return ChatResult(generations=[ChatGeneration(message=reply)])


@contextmanager
def checkpointer(target):
    """LangGraph's own saver, nothing of ours."""
    if is_postgres(target):
        from langgraph.checkpoint.postgres import PostgresSaver

        with PostgresSaver.from_conn_string(target) as saver:
            saver.setup()
            yield saver
    else:
        from langgraph.checkpoint.sqlite import SqliteSaver

        with SqliteSaver.from_conn_string(path_of(target)) as saver:
            yield saver


@contextmanager
def agent(target, **options):
    """What a user of LangChain 1.x has: an agent with a checkpointer."""
    from langchain.agents import create_agent

    with checkpointer(target) as saver:
        yield create_agent(Telling(seen=[]), checkpointer=saver, **options)


def config(thread):
    return {"configurable": {"thread_id": thread}}


def ask(agent_, thread, text):
    """One turn; what the model was given, as pairs."""
    done = agent_.invoke(
        {"messages": [{"role": "user", "content": text}]}, config(thread)
    )
    return [tuple(pair) for pair in json.loads(done["messages"][-1].content)]


def threads_of(target):
    """`{thread: [(type, content)]}` of every thread's newest state."""
    with checkpointer(target) as saver:
        newest = {}
        for one in saver.list(None):
            newest.setdefault(one.config["configurable"]["thread_id"], one)
        return {
            thread: [(m.type, m.content) for m in _messages(one)]
            for thread, one in newest.items()
        }


def _messages(found):
    return found.checkpoint["channel_values"].get("messages", [])


def checkpoints_of(target, thread):
    with checkpointer(target) as saver:
        return list(saver.list(config(thread)))
