"""Runnables with a history per cook, and a memory beside them that reads it."""
import asyncio
from operator import itemgetter

from langchain.memory import ChatMessageHistory, ConversationBufferWindowMemory
from langchain.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_community.chat_models.fake import FakeListChatModel
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.output_parsers import StrOutputParser
from langchain_core.runnables import RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory

STORE = {}


def get_session_history(session_id: str) -> BaseChatMessageHistory:
    if session_id not in STORE:
        STORE[session_id] = ChatMessageHistory()
    return STORE[session_id]


prompt = ChatPromptTemplate.from_messages(
    [
        ("system", "You are a cook."),
        MessagesPlaceholder(variable_name="history"),
        ("human", "{input}"),
    ]
)
llm = FakeListChatModel(responses=["Add salt.", "Stir.", "Serve.", "Wait."])
chain = {
    "history": itemgetter("history"),
    "input": itemgetter("input"),
} | RunnableLambda(lambda x: prompt.invoke(x)) | llm | StrOutputParser()
with_history = RunnableWithMessageHistory(
    chain,
    get_session_history,
    input_messages_key="input",
    history_messages_key="history",
)


async def main():
    ana = {"configurable": {"session_id": "ana"}}
    ben = {"configurable": {"session_id": "ben"}}
    print(with_history.invoke({"input": "Soup?"}, config=ana))
    print(with_history.invoke({"input": "Then?"}, config=ana))
    print(await with_history.ainvoke({"input": "Rice?"}, config=ben))

    memory = ConversationBufferWindowMemory(
        k=1, chat_memory=get_session_history("ana"), return_messages=True
    )
    for message in (await memory.aload_memory_variables({}))["history"]:
        print(f"{message.type}: {message.content}")
    await memory.asave_context({"input": "Done?"}, {"output": "Done."})
    print(memory.buffer_as_str)
    await memory.aclear()


asyncio.run(main())
for name in sorted(STORE):
    print(name, len(STORE[name].messages))
