"""What `sync` prints: passes on stderr while they run, then what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdover.migrate.report import (
    count,
    line,
    more,
    note_lines,
    plan_lines,
    verify_lines,
)

if TYPE_CHECKING:
    from holdover.migrate.sync import PassReport, SyncReport


def pass_line(done: PassReport) -> str:
    """One pass, as it ended."""
    parts = [f"{done.new:,} new", f"{done.changed:,} changed"]
    if done.extended:
        parts.append(f"{done.extended:,} live longer")
    left = "less than a second" if done.settled else f"about {done.left:,.0f} s"
    return line(
        f"pass {done.number}",
        f"{', '.join(parts)} of {done.read:,} in {done.seconds:,.1f} s; as much again "
        f"takes {left}",
    )


def sync_lines(report: SyncReport) -> list[str]:
    """The outcome, and the steps to the switch."""
    if report.plan is not None and report.plan.blockers:
        return plan_lines(report.plan)
    lines = []
    if report.first is not None and report.first.run:
        lines.append(line("copied", f"{report.first.written:,} in a first whole pass"))
    if report.plan is not None:
        lines += note_lines(report.plan.inventory)
    changes = sum(one.changes for one in report.passes)
    passes = count(len(report.passes), "pass", "passes")
    lines.append(line("synced", f"{count(changes, 'change')} in {passes}"))
    lines += _deletion_lines(report)
    if report.rejects:
        reasons = ", ".join(f"{n:,} {reason}" for reason, n in report.rejects.items())
        lines.append(line("rejects", reasons))
    if report.rejects_file:
        lines.append(line("rejects", f"listed in {report.rejects_file}"))
    if report.verify is not None:
        lines += verify_lines(report.verify)
    return lines + (_final_lines(report) if report.final else _next_lines(report))


def _deletion_lines(report: SyncReport) -> list[str]:
    found = report.deletions
    lines = []
    if found.expired:
        lines.append(
            line("expired", f"{found.expired:,} whose lifetime ended in the source")
        )
    if found.unknown:
        text = f"{found.unknown:,} kept: what held them cannot be read now"
        lines.append(line("unknown", text))
    if found.deleted:
        if found.removed or found.changed:
            text = f"{found.deleted:,} in the source: {found.removed:,} deleted here"
            if found.changed:
                text += f", {found.changed:,} changed here and kept"
        else:
            text = (
                f"{found.deleted:,} in the source and kept here; "
                "--on-source-delete delete follows"
            )
        lines.append(line("deleted", text))
        lines += more(found.examples, found.deleted)
    return lines


def _next_lines(report: SyncReport) -> list[str]:
    if not report.settled:
        return [
            line(
                "behind",
                "the source changes faster than it is copied. Sync again at a quieter "
                "hour, slow the writer down, or go on with the four steps and a "
                f"longer stop, about {report.passes[-1].left:,.0f} s",
            )
        ]
    return [
        line("ready", "what is left takes less than a second. To switch:"),
        line("", f"1. stop the writer: all that still writes to {report.source}"),
        line("", f"2. one last pass: {report.commands.get('final', '')}"),
        line("", "3. verify: the last pass ends with it; go on if it says clean"),
        line("", f"4. switch: let the application use {report.target}, and start it"),
    ]


def _final_lines(report: SyncReport) -> list[str]:
    if report.exit_code == 0:
        return [line("clean", "everything is there: switch now")]
    if report.verify is not None and report.verify.clean:
        return [
            line("clean", "but for the rejects: look at them, then switch"),
        ]
    return [
        line(
            "NOT clean",
            "something is missing or different. Does something still write? Stop it, "
            "then repeat this command",
        )
    ]
