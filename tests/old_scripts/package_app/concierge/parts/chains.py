from langchain.chains import ConversationChain
from langchain.prompts import PromptTemplate

from ..memories import build_memory

PROMPT = PromptTemplate(
    input_variables=["history", "input"],
    template="{history}\nGuest: {input}\nConcierge:",
)


def build_chain(llm, memory=None):
    return ConversationChain(
        llm=llm, memory=memory or build_memory(llm), prompt=PROMPT
    )
