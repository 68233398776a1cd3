import sys

from . import build_memory
from .parts.chains import build_chain
from .parts.models import Concierge


def main(lines):
    llm = Concierge()
    memory = build_memory(llm, limit=12)
    chain = build_chain(llm, memory)
    for line in lines:
        print(chain.invoke({"input": line})["response"])
    print(describe(memory))
    return 0 if lines else 2


def describe(memory):
    from langchain.schema import get_buffer_string

    kept = memory.load_memory_variables({})["history"]
    return f"{type(memory).__name__}: {get_buffer_string(kept)!r}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
