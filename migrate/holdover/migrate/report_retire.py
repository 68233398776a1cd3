"""What `retire` says on stderr, beside the commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdover.migrate.report import line, more

if TYPE_CHECKING:
    from holdover.migrate.retire import RetireReport

_HOW = {
    "sql": "by sqlite3, psql or mysql",
    "redis": "by redis-cli, from its standard input",
    "sh": "by sh",
    "": "by the tools of that place",
}


def retire_lines(report: RetireReport, output: str | None) -> list[str]:
    """How the comparison went, what may be deleted and how, and what stays."""
    counts = ", ".join(f"{n:,} {name}" for name, n in sorted(report.classes.items()))
    lines = [line("verified", counts or "nothing to compare")]
    if report.refused:
        text = "something is missing or different: no command was written"
        return [*lines, line("refused", text)]
    for language in report.languages:
        where = f"in {output}" if output else "on standard output"
        lines.append(
            line("commands", f"{report.commands:,} {where}; run {_HOW[language]}")
        )
    if report.commands:
        lines.append(
            line(
                "first",
                "stop all that still writes to the old place, and back it up; if "
                "anything wrote since, run retire again",
            )
        )
    else:
        lines.append(line("commands", "none: nothing can be deleted"))
    if report.kept:
        lines.append(line("stays", f"{report.kept:,}, listed in {report.kept_file}"))
        examples = (f"{kept.locator}: {kept.why}" for kept in report.examples)
        lines += more(examples, report.kept)
    return lines
