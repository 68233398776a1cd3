"""The codemod over a tree of files: time and memory, against reading and parsing them.

The naive way parses each file with libcst, whether or not it has anything to rewrite.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

FILES, FEWER = 2_000, 500
LIMIT_SECONDS = 60
#: Of the files of an application, about as many have to do with LangChain.
SHARE = 5
Row = tuple[str, str, str, str, str]

_IMPORTS = """\
from langchain.chains import ConversationChain, LLMChain
from langchain.memory import ConversationBufferMemory, ConversationEntityMemory
from langchain.prompts import PromptTemplate
from langchain.schema import AIMessage, HumanMessage
"""
_USES = """

class Assistant{number}:
    \"\"\"Answers with what it remembers.\"\"\"

    def __init__(self, llm, *, k: int = {number}) -> None:
        self.memory = ConversationBufferMemory(return_messages=True)
        self.chain = ConversationChain(llm=llm, memory=self.memory)
        self.prompt = PromptTemplate.from_template("{{history}} {{input}}")

    def ask(self, text: str) -> str:
        # What was asked is kept by the chain.
        self.memory.chat_memory.add_message(HumanMessage(content=text))
        answer = self.chain.predict(input=text)
        return AIMessage(content=answer).content
"""
_PLAIN = """

def total_{number}(rows: list[dict[str, int]], *, rate: float = 0.2) -> float:
    \"\"\"Add up what the rows hold, with tax.\"\"\"
    result = 0.0
    for row in rows:
        if row.get("kind") == "refund":
            result -= row["amount"] * (1 + rate)  # not taxed twice
        else:
            result += row["amount"] * (1 + rate)
    return round(result, 2)
"""
_COMMAND = """
import re, resource, sys
from holdover.migrate import cli
sys.argv = ["holdover", "codemod", sys.argv[1], "--check"]
try:
    cli.main()
except SystemExit as end:
    assert end.code == 1, end.code
own = re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]
largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(int(own) // 1024, largest // 1024)
"""
_EACH = (
    "import pathlib, sys, libcst\nfor path in pathlib.Path(sys.argv[1]).rglob('*.py'):"
)


def make_tree(folder: Path, files: int, share: int) -> Path:
    """Files of 30 to 300 lines, in packages; one in `share` uses old LangChain."""
    chance = random.Random(7)
    for number in range(files):
        package = folder / f"package{number // 50:02}"
        if number % 50 == 0:
            package.mkdir(parents=True)
            (package / "__init__.py").touch()
        parts = ['"""A module of an application."""\n\nimport json\nimport os\n']
        uses = number % share == 0
        parts += [_IMPORTS] * uses
        for at in range(chance.randint(2, 20)):
            parts.append((_USES if uses and at % 2 else _PLAIN).format(number=at))
        (package / f"module{number}.py").write_text("".join(parts), "utf-8")
    return folder


def codemod(items: int, folder: Path) -> Iterator[Row]:
    """2,000 files: some of LangChain as in an application, and all of it."""
    usual = make_tree(folder / "usual", FILES, SHARE)
    yield from times(f"codemod, {FILES:,} files, one in {SHARE} of LangChain", usual)
    every = make_tree(folder / "every", FILES, 1)
    yield from times(f"codemod, {FILES:,} files, all of LangChain", every)
    few = make_tree(folder / "few", FEWER, 1)
    (_, small), (own, large) = peaks(few), peaks(every)
    yield (
        f"codemod, peak memory, {FILES:,} files",
        f"{own} MB, and {large} MB in the largest of its processes",
        f"{large / small:.2f}× that of {FEWER} files ({small} MB)",
        "flat",
        "met" if large / small < 1.1 else "MISSED",
    )


def times(what: str, tree: Path) -> Iterator[Row]:
    """How long a whole command takes, and what it would take otherwise."""
    read = timed(f"{_EACH} path.read_bytes()", tree)
    parsed = timed(f"{_EACH} libcst.parse_module(path.read_bytes())", tree)
    ours = timed(_COMMAND, tree)
    against = f"parsing each with libcst, and no more, {parsed / ours:.1f}× ours"
    yield (
        what,
        f"{ours:.1f} s, {FILES / ours:,.0f} files/s",
        f"reading them takes {read:.1f} s; {against}",
        f"≤ {LIMIT_SECONDS} s",
        "met" if ours <= LIMIT_SECONDS else "MISSED",
    )


def timed(code: str, tree: Path) -> float:
    """Seconds of a Python process."""
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", code, str(tree)], check=True, stdout=subprocess.DEVNULL
    )
    return time.perf_counter() - began


def peaks(tree: Path) -> tuple[int, int]:
    """Megabytes at most, of the command's own process and of the largest other."""
    command = [sys.executable, "-c", _COMMAND, str(tree)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    own, largest = done.stdout.split("\n")[-2].split()
    return int(own), int(largest)
