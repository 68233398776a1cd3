"""Counting tokens needs a download or a known name (langchain#14124, #18650)."""

import warnings

from helping import verdict
from langchain_classic.memory import ConversationTokenBufferMemory
from langchain_core.language_models.fake import FakeListLLM

memory = ConversationTokenBufferMemory(llm=FakeListLLM(responses=["ok"]))
warnings.simplefilter("ignore")
try:
    memory.save_context({"input": "hello"}, {"output": "hi"})
except Exception as error:
    verdict(fault=True, detail=repr(error))
else:
    text = memory.load_memory_variables({})["history"]
    verdict(text != "Human: hello\nAI: hi", text)
