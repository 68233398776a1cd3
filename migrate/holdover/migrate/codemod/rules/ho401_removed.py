"""Names that are nowhere left."""

from __future__ import annotations

from holdover.migrate.codemod.advice import Rule

RULE = Rule(
    code="HO401",
    what="names that are gone are marked for a person to decide",
    why="Nothing of that name is left in any package; the comment says what to use "
    "instead. The line stays as it is.",
    before="from langchain import verbose\n",
    after=(
        "# TODO(holdover HO401): langchain.verbose is gone. It is a setting, not an "
        "object: use set_verbose and get_verbose of langchain_core.globals.\n"
        "from langchain import verbose\n"
    ),
    safe=False,
)
