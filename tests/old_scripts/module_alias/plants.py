"""Written with modules, not names: `m.X`, `langchain.chains.Y`."""
import langchain
import langchain.chains
import langchain.llms.fake as fakes
import langchain.memory as m
import langchain.memory.chat_message_histories.in_memory as in_memory
from langchain import prompts, schema

history = in_memory.ChatMessageHistory()
history.add_user_message("Which plant wants little light?")
history.add_message(schema.AIMessage(content="The aspidistra."))

memory: "m.ConversationBufferMemory" = m.ConversationBufferMemory(
    chat_memory=history, memory_key="talk"
)
llm = fakes.FakeListLLM(responses=["Once a week.", "In spring."])
chain = langchain.chains.LLMChain(
    llm=llm,
    memory=memory,
    prompt=prompts.PromptTemplate.from_template("{talk}\nHuman: {input}\nAI:"),
)
print(chain.predict(input="How often do I water it?"))
print(chain.predict(input="When do I move it?"))
print(memory.buffer_as_str)
print(schema.get_buffer_string(history.messages[:2], human_prefix="Gardener"))

kinds = {
    "buffer": m.ConversationBufferMemory,
    "window": m.ConversationBufferWindowMemory,
    "simple": m.SimpleMemory,
}
for name, kind in kinds.items():
    print(name, kind.__name__, issubclass(kind, schema.BaseMemory))
window = kinds["window"](k=1, chat_memory=history)
print(window.load_memory_variables({}))
print(langchain.chains.ConversationChain(llm=llm).memory.memory_key)
