"""What a program cannot decide."""

from __future__ import annotations

from holdover.migrate.codemod.advice import Rule

RULE = Rule(
    code="HO402",
    what="what cannot be rewritten by rule is marked for a person to decide",
    why="A star import whose names cannot be told, a module that is passed around, or "
    "a name that no release of LangChain is known to have had. The line stays as it "
    "is.",
    before="import langchain.memory as m\n\nprint(dir(m))\n",
    after=(
        "# TODO(holdover HO402): import by name what is needed of langchain.memory: "
        "the module itself is used here, not only its names.\n"
        "import langchain.memory as m\n"
        "\n"
        "print(dir(m))\n"
    ),
    safe=False,
)
