"""`try: … except ImportError: …` around imports."""

from __future__ import annotations

import pytest

FROM_MEMORY = "from langchain.memory import CombinedMemory"
FROM_CLASSIC = "from langchain_classic.memory import CombinedMemory"
NOW = "from holdover.compat import CombinedMemory"


def attempt(first, second, caught="ImportError", step="    ", more=""):
    return f"try:\n{step}{first}\nexcept {caught}:\n{step}{second}\n{more}"


COLLAPSED = {
    "old, then new": (attempt(FROM_MEMORY, FROM_CLASSIC), f"{NOW}\n"),
    "new, then old": (attempt(FROM_CLASSIC, FROM_MEMORY), f"{NOW}\n"),
    "no such module": (
        attempt(FROM_MEMORY, FROM_CLASSIC, "ModuleNotFoundError"),
        f"{NOW}\n",
    ),
    "any of both errors": (
        attempt(FROM_MEMORY, FROM_CLASSIC, "(ImportError, ModuleNotFoundError)"),
        f"{NOW}\n",
    ),
    "with what follows": (
        attempt(FROM_MEMORY, FROM_CLASSIC, more="x = 1  # here\n"),
        f"{NOW}\nx = 1  # here\n",
    ),
    "one of them is right already": (
        attempt(
            "from langchain_core.prompts import PromptTemplate",
            "from langchain.prompts import PromptTemplate",
        ),
        "from langchain_core.prompts import PromptTemplate\n",
    ),
    "an alias": (
        attempt(f"{FROM_MEMORY} as M", f"{FROM_CLASSIC} as M"),
        f"{NOW} as M\n",
    ),
    "modules": (
        attempt(
            "import langchain.memory as m",
            "import langchain_classic.memory as m",
            more="m.CombinedMemory\n",
        ),
        "import holdover.compat as m\nm.CombinedMemory\n",
    ),
    "in a function, with tabs": (
        "def f():\n\ttry:\n\t\t" + FROM_MEMORY + "\n\texcept ImportError:\n\t\t"
        "" + FROM_CLASSIC + "\n\treturn CombinedMemory\n",
        f"def f():\n\t{NOW}\n\treturn CombinedMemory\n",
    ),
    "several lines": (
        attempt(
            f"{FROM_MEMORY}, MongoDBChatMessageHistory",
            "from langchain_classic.memory import CombinedMemory\n"
            "    from langchain_mongodb import MongoDBChatMessageHistory",
        ),
        f"{NOW}\nfrom langchain_mongodb import MongoDBChatMessageHistory\n",
    ),
    "CRLF": (
        attempt(FROM_MEMORY, FROM_CLASSIC).replace("\n", "\r\n"),
        f"{NOW}\r\n",
    ),
}

KEPT = {
    "nothing instead": attempt(FROM_MEMORY, "CombinedMemory = None"),
    "pass": attempt(FROM_MEMORY, "pass"),
    "another name": attempt(FROM_MEMORY, "from mine import CombinedMemory"),
    "another error": attempt(FROM_MEMORY, FROM_CLASSIC, "ValueError"),
    "some error": attempt(FROM_MEMORY, FROM_CLASSIC, "(ImportError, ValueError)"),
    "a named error": attempt(FROM_MEMORY, FROM_CLASSIC, "ImportError as error"),
    "any error": f"try:\n    {FROM_MEMORY}\nexcept:\n    {FROM_CLASSIC}\n",
    "an else": attempt(FROM_MEMORY, FROM_CLASSIC, more="else:\n    HAS = True\n"),
    "a finally": attempt(FROM_MEMORY, FROM_CLASSIC, more="finally:\n    done()\n"),
    "more tried": attempt(f"{FROM_MEMORY}\n    HAS = True", FROM_CLASSIC),
    "more done": attempt(FROM_MEMORY, f"{FROM_CLASSIC}\n    HAS = False"),
    "a comment": attempt(f"{FROM_MEMORY}  # old", FROM_CLASSIC),
    "other aliases": attempt(f"{FROM_MEMORY} as A", f"{FROM_CLASSIC} as B"),
    "two handlers": attempt(
        FROM_MEMORY, FROM_CLASSIC, more="except ValueError:\n    pass\n"
    ),
}


@pytest.mark.parametrize("name", COLLAPSED)
def test_two_that_became_one_are_one(name, rewritten):
    before, after = COLLAPSED[name]

    assert rewritten(before).text == after


@pytest.mark.parametrize("name", KEPT)
def test_what_does_more_than_import_stays(name, rewritten):
    before = KEPT[name]
    after = before.replace(FROM_MEMORY, NOW).replace(FROM_CLASSIC, NOW)

    assert rewritten(before).text == after


@pytest.mark.parametrize(
    "source",
    [
        attempt(NOW, NOW),
        attempt("import a", "import a"),
        attempt("from langchain_core.a import b", "from langchain_core.a import b"),
        attempt(NOW, "from langchain_classic.chains import LLMChain"),
    ],
)
def test_nothing_is_collapsed_that_nobody_rewrote(source, rewritten):
    assert rewritten(source).text == source


def test_with_a_comment_to_make_it_stays(rewritten):
    done = rewritten(
        attempt(
            "from langchain.memory import Nonsense",
            "from langchain.memory.buffer import Nonsense",
        )
    )

    assert done.text.count("TODO(holdover HO402)") == 2
    assert done.text.startswith("try:\n")


def test_what_was_rewritten_stays_with_its_comments(rewritten):
    both = "from langchain.memory import CombinedMemory, Nonsense"

    done = rewritten(attempt(both, both))

    first, second = done.text.split("except ImportError:\n")
    assert first.removeprefix("try:\n") == second
    assert "TODO(holdover HO402)" in first
    assert NOW in first
