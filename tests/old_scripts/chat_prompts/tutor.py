"""A tutor as a chat model, with a system message and a placeholder for the history."""
from langchain.chains import LLMChain
from langchain.chat_models.fake import FakeListChatModel
from langchain.memory import ConversationBufferMemory, ConversationTokenBufferMemory
from langchain.prompts import (
    ChatPromptTemplate,
    HumanMessagePromptTemplate,
    MessagesPlaceholder,
    SystemMessagePromptTemplate,
)
from langchain.schema import AIMessage, HumanMessage, SystemMessage
from langchain.schema.output_parser import StrOutputParser
from langchain.schema.runnable import RunnableLambda, RunnablePassthrough


class WordCounting(FakeListChatModel):
    """Words are tokens, so that no tokenizer is loaded."""

    def get_num_tokens(self, text: str) -> int:
        return len(text.split())


prompt = ChatPromptTemplate(
    messages=[
        SystemMessagePromptTemplate.from_template("You teach {subject}."),
        MessagesPlaceholder(variable_name="chat_history"),
        HumanMessagePromptTemplate.from_template("{question}"),
    ]
)
llm = WordCounting(responses=["Seven.", "Because 7 x 8 is 56.", "Well done!"])
memory = ConversationBufferMemory(
    memory_key="chat_history", input_key="question", return_messages=True
)
tutor = LLMChain(llm=llm, prompt=prompt, memory=memory)
for question in ["56 / 8?", "Why?"]:
    print(tutor({"question": question, "subject": "sums"})["text"])

for message in prompt.format_messages(
    subject="sums", question="...", **memory.load_memory_variables({})
):
    print(f"{message.type}: {message.content}")

# The same as a runnable, which became the way to write it in that year.
chain = (
    RunnablePassthrough.assign(
        chat_history=RunnableLambda(memory.load_memory_variables)
        | (lambda loaded: loaded["chat_history"])
    )
    | prompt
    | llm
    | StrOutputParser()
)
answer = chain.invoke({"question": "I see, 56 = 7 x 8", "subject": "sums"})
memory.save_context({"question": "I see, 56 = 7 x 8"}, {"output": answer})
print(answer, len(memory.chat_memory.messages))
print(isinstance(memory.buffer[0], HumanMessage), isinstance(memory.buffer[-1], AIMessage))

tokens = ConversationTokenBufferMemory(llm=llm, max_token_limit=14, return_messages=True)
tokens.chat_memory.add_message(SystemMessage(content="a rule of five words"))
tokens.save_context({"input": "first question here"}, {"output": "first answer"})
tokens.save_context({"input": "second question here"}, {"output": "second answer"})
print([message.content for message in tokens.buffer])
