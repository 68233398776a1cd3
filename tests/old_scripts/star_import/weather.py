"""Star imports, as in a first try: everything of `langchain.memory` at once."""
from langchain.memory import *
from langchain.prompts import *
from langchain.chains import LLMChain
from langchain.llms.fake import FakeListLLM

history = ChatMessageHistory()
history.add_user_message("Will it rain?")
history.add_ai_message("Until noon.")

memory = ConversationBufferWindowMemory(k=2, chat_memory=history, memory_key="talk")
chain = LLMChain(
    llm=FakeListLLM(responses=["Take an umbrella.", "At noon."]),
    prompt=PromptTemplate.from_template("{talk}\nHuman: {human_input}\nAI:"),
    memory=ReadOnlySharedMemory(memory=memory),
)
print(chain.invoke({"human_input": "Should I take an umbrella?"})["text"])

memory.save_context({"human_input": "And then?"}, {"text": "Sun."})
memory.save_context({"human_input": "And at night?"}, {"text": "Stars."})
print(memory.load_memory_variables({})["talk"])

both = CombinedMemory(
    memories=[memory, ConversationBufferMemory(memory_key="all", chat_memory=history)]
)
print(both.load_memory_variables({})["all"].count("\n"), sorted(both.memory_variables))

entities = InMemoryEntityStore()
entities.set("Zagreb", "Zagreb is sunny.")
print(entities.get("Zagreb"), entities.get("Rijeka", "?"), entities.exists("Rijeka"))

kinds = [SimpleMemory, ConversationEntityMemory, ConversationSummaryBufferMemory]
print([kind.__name__ for kind in kinds])
print(ChatPromptTemplate.__name__, MessagesPlaceholder(variable_name="x").variable_name)
