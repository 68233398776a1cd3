"""Write the page of differences from the rows that the parity tests assert.

python docs/measure/differences.py
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from parity.comparing import Difference, Section

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "differences.md"
#: Longer outcomes are told in words, by the row.
LONGEST = 100
#: How words are written that the name of a function cannot write.
NAMES = {
    "ai": "AI",
    "json": "JSON",
    "kg": "KG",
    "networkx": "NetworkX",
    "postgres": "PostgreSQL",
    "redis": "Redis",
    "sql": "SQL",
    "sqlite": "SQLite",
    "upstash": "Upstash",
}

HEAD = """\
# Differences from the classic classes

<!-- Made by docs/measure/differences.py from the rows that tests/parity asserts. -->

For the decision whether to switch. {scenarios} things are done with the classic
classes and with Holdover's, by sync and async methods, and the results and exceptions
compared: every public method, property and constructor argument of the {classes}
classes is among them. They give the same, but for the rows below; each row is
asserted on both sides, so none of them is out of date.

**What never differs:** names, positions and defaults of arguments; the attributes;
what a memory gives for the same replies of the model, as long as the reply says
something; which keys are refused when nothing tells which is meant (`ValueError`) or
when the one that was named is missing (`KeyError`); that a turn is kept when the model
fails, and that its exception is raised. Our classes are instances of the classic base
classes where those are installed, and either library's memories work inside the
other's `CombinedMemory` and `ReadOnlySharedMemory`.

**What is added:** `store=`, `session_id=` and `scope=` say where to keep things
(without them a memory keeps them in the object, as in classic), `to_dict` and
`from_dict` save all of it as JSON, and `base_store` and `repository` give what is
behind. An argument that no class knows is named in a warning, once.

Where a row names an issue, that is the public report of what classic does. "Awaited"
means the async methods; the sync ones are the same in both there.
"""


def _outcome(value: Any) -> str:
    from parity.comparing import Raises  # noqa: PLC0415 - found by `page`

    if isinstance(value, Raises):
        return f"raises `{value.name}`"
    if value is None:
        return "nothing"
    if value == []:
        return "nothing"
    if value == ["UserWarning"]:
        return "a warning"
    return f"`{value!r}`"


def _cell(text: str) -> str:
    return text.replace("\n", "⏎").replace("|", "\\|")


def _line(row: Difference) -> str:
    said = " ".join(NAMES.get(word, word) for word in row.scenario.split())
    what = said[0].upper() + said[1:]
    notes = []
    if row.way == "async":
        notes.append("awaited")
    if row.lane:
        release = {"current": "langchain-classic 1.0", "legacy": "langchain 0.3"}
        notes.append(f"{release[row.lane]} only")
    if notes:
        what += f" ({', '.join(notes)})"
    shown = row.shown or (_outcome(row.classic), _outcome(row.ours))
    return f"| {' | '.join(map(_cell, (what, *shown, row.why)))} |"


def _section(section: Section) -> list[str]:
    lines = ["", f"## {section.title}", "", f"The same: {section.same}", ""]
    lines += ["| what | classic | Holdover | why |", "|---|---|---|---|"]
    visible = [row for row in section.rows if row.like is None]
    return [*lines, *dict.fromkeys(map(_line, visible))]


def page() -> str:
    """The text of the page."""
    sys.path.insert(0, str(ROOT / "tests"))
    # Found only now, below `tests`.
    import parity.scenarios  # noqa: F401, PLC0415 - registers them
    from parity.comparing import SCENARIOS  # noqa: PLC0415
    from parity.differences import SECTIONS  # noqa: PLC0415
    from parity.library import CLASSES  # noqa: PLC0415

    head = HEAD.format(scenarios=_rounded(SCENARIOS), classes=len(CLASSES))
    lines = [head.rstrip("\n")]
    for section in SECTIONS:
        lines += _section(section)
    return "\n".join(lines) + "\n"


def _rounded(scenarios: Iterable[Any]) -> str:
    """How many there are, in fifties: the page need not change for each."""
    return f"More than {len(list(scenarios)) // 50 * 50}"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
