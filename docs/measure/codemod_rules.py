"""Write the page of the codemod's rules from the rules themselves.

python docs/measure/codemod_rules.py
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdover.migrate.codemod.rule import Rule

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "codemod-rules.md"

HEAD = """\
# The codemod's rules

<!-- Made by docs/measure/codemod_rules.py from the rule modules. -->

What [`holdover codemod`](codemod.md) rewrites. The codes are those of the warnings of
the shim and of the reports of `holdover exec`. `holdover codemod --explain CODE` says
the same on a terminal. A rule is *safe* if the program means the same afterwards; what
*needs review* is named on stderr with its line.
"""


def _section(rule: Rule) -> list[str]:
    return [
        "",
        f"## {rule.code}",
        "",
        f"**{_sentence(rule.what)}** {'Safe.' if rule.safe else 'Needs review.'}",
        "",
        rule.why.strip(),
        "",
        "```python",
        *rule.before.rstrip("\n").split("\n"),
        "```",
        "",
        "becomes",
        "",
        "```python",
        *rule.after.rstrip("\n").split("\n"),
        "```",
    ]


def _sentence(phrase: str) -> str:
    return f"{phrase[0].upper()}{phrase[1:].rstrip('.')}."


def page() -> str:
    """The text of the page."""
    # Found only now, so that the page's place is known without libcst.
    from holdover.migrate.codemod.rule import ALL  # noqa: PLC0415

    rules = [ALL[code] for code in sorted(ALL)]
    lines = [HEAD, "| code | | what |", "|---|---|---|"]
    lines += [
        f"| [{rule.code}](#{rule.code.lower()}) "
        f"| {'safe' if rule.safe else 'needs review'} | {rule.what} |"
        for rule in rules
    ]
    for rule in rules:
        lines += _section(rule)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
