"""What a way back prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdover.migrate.report import count, line, more

if TYPE_CHECKING:
    from holdover.migrate.classic.way_back import WayBackReport


def way_back_lines(report: WayBackReport) -> list[str]:
    """What there is, what was written, and how it compares."""
    lines = [line("source", report.source)]
    for label, number in report.items.items():
        lines.append(
            line(
                "found",
                f"{number:,} {label} in {count(report.sessions[label], 'session')}",
            )
        )
    if not any(report.items.values()):
        lines.append(line("found", f"nothing that a {report.target_label} can hold"))
    for label, number in report.skipped.items():
        lines.append(line("skipped", f"{number:,} {label}: no classic form there"))
    for reason, number in report.left.items():
        lines.append(line("skipped", f"{number:,} namespaces: {reason}"))
    lines.append(line("target", f"{report.target} ({report.target_label})"))
    for blocker in report.blockers:
        text = f"{blocker.message.rstrip('.')}; fix: {blocker.fix}"
        lines.append(line("blocked", text))
    if report.blockers or report.dry_run:
        return lines
    before = ", the rest before" if report.resumed else ""
    lines.append(line("written", f"{report.written:,}{before}"))
    if report.rejects:
        reasons = ", ".join(f"{n:,} {reason}" for reason, n in report.rejects.items())
        lines.append(line("rejects", reasons))
    if report.rejects_file:
        lines.append(line("rejects", f"listed in {report.rejects_file}"))
    wanted = report.equal + report.different + report.missing
    text = f"{report.equal:,} of {wanted:,} equal"
    for name in ("expired", "missing", "different", "extra"):
        if number := getattr(report, name):
            text += f", {number:,} {name}"
    lines.append(line("verified", text))
    return lines + more(report.examples, len(report.examples))
