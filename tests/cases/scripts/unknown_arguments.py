"""Arguments of its siblings vanish without a word in the vector memory."""

from helping import vectors, verdict, warned
from langchain_classic.memory import VectorStoreRetrieverMemory

made = []
told = warned(
    lambda: made.append(
        VectorStoreRetrieverMemory(
            retriever=vectors().as_retriever(), return_messages=True, k=1
        )
    )
)
shown = made[0].load_memory_variables({"input": "x"})["history"]
verdict(isinstance(shown, str) and not told, f"{type(shown).__name__}, told: {told}")
