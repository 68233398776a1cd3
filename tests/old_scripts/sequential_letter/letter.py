"""Two prompts in a row write a letter; time and place come from a fixed memory."""
from langchain.chains import LLMChain, SequentialChain
from langchain.llms.fake import FakeListLLM
from langchain.memory import SimpleMemory
from langchain.prompts import PromptTemplate

llm = FakeListLLM(
    responses=[
        "A play about a lighthouse keeper who collects letters.",
        "Come and see it, you will not forget the last letter.",
    ]
)

synopsis_prompt = PromptTemplate(
    input_variables=["title", "era"],
    template="Write a synopsis of {title}, a play of the {era}.\nSynopsis:",
)
synopsis = LLMChain(llm=llm, prompt=synopsis_prompt, output_key="synopsis")

letter_prompt = PromptTemplate(
    input_variables=["synopsis", "time", "location"],
    template="Invite to {location} at {time}:\n{synopsis}\nLetter:",
)
letter = LLMChain(llm=llm, prompt=letter_prompt, output_key="letter")

whole = SequentialChain(
    memory=SimpleMemory(memories={"time": "December 25th, 8pm", "location": "the park"}),
    chains=[synopsis, letter],
    input_variables=["era", "title"],
    output_variables=["letter"],
)

result = whole({"title": "Tragedy at sunset", "era": "Victorian England"})
for key in sorted(result):
    print(f"{key}: {result[key]}")
print(letter_prompt.format(synopsis="...", **whole.memory.memories))
