"""Learns who is who as a graph of facts, and tells the model what it knows."""
from typing import List, Optional

from langchain.chains import ConversationChain
from langchain.graphs.networkx_graph import KnowledgeTriple, parse_triples
from langchain.llms.base import LLM
from langchain.memory import ConversationKGMemory
from langchain.memory.prompt import KNOWLEDGE_TRIPLE_EXTRACTION_PROMPT
from langchain.prompts.prompt import PromptTemplate

FACTS = {
    "Sam is my brother": "(Sam, is, a brother)<|>(Sam, lives in, Split)",
    "Ana paints": "(Ana, paints, boats)",
}


class Genealogist(LLM):
    @property
    def _llm_type(self) -> str:
        return "genealogist"

    def _call(self, prompt: str, stop: Optional[List[str]] = None, run_manager=None, **kwargs) -> str:
        last = prompt.rsplit("Human: ", 1)[-1].splitlines()[0]
        if "knowledge triple" in prompt.lower():
            for said, triples in FACTS.items():
                if said in prompt.rsplit("Last line of conversation", 1)[-1]:
                    return triples
            return "NONE"
        if prompt.endswith("Output:"):
            asked = prompt.rsplit("Last line of conversation", 1)[-1]
            return ", ".join(name for name in ["Sam", "Ana"] if name in asked) or "NONE"
        facts = prompt.split("Facts:\n", 1)[1].split("\n\nConversation")[0].strip()
        return f"I heard {last!r} and know: {facts or 'nothing'}"


llm = Genealogist()
memory = ConversationKGMemory(llm=llm, k=1)
prompt = PromptTemplate(
    input_variables=["history", "input"],
    template="Tell only what you know.\n\nFacts:\n{history}\n\nConversation:\nHuman: {input}\nAI:",
)
chain = ConversationChain(llm=llm, prompt=prompt, memory=memory)
for line in ["Sam is my brother", "Ana paints", "What about Sam?", "Sam and Ana met"]:
    print(chain.predict(input=line))

print("triples:", sorted(memory.kg.get_triples()))
print(memory.get_current_entities("Where is Ana?"))
print(memory.get_knowledge_triplets("Ana paints"))
memory.kg.add_triple(KnowledgeTriple("Ana", "knows", "Leo"))
print(sorted(parse_triples("(a, is, b)<|>(c, has, d)"), key=str)[0])
print(memory.load_memory_variables({"input": "Ana?"}))
print(sorted(KNOWLEDGE_TRIPLE_EXTRACTION_PROMPT.input_variables))
