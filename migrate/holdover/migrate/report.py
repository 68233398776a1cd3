"""Reports as text, JSON and HTML; none holds content unless it was asked for."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import orjson

from holdover.compat.stores.probing import ProbeReport
from holdover.migrate.care import ForgetReport, SweepReport
from holdover.migrate.conflicts import Decision
from holdover.migrate.ledger import SHOWN
from holdover.migrate.plan import Plan
from holdover.migrate.rollback import RollbackReport
from holdover.migrate.run import CopyReport, MigrateReport
from holdover.migrate.sources.base import Inventory, Other
from holdover.migrate.status import RunStatus
from holdover.migrate.verify import VerifyReport

if TYPE_CHECKING:
    from holdover.migrate.threads.moving import (
        ThreadsCopied,
        ThreadsPlan,
        ThreadsVerified,
    )

#: Grows when a field changes its meaning or goes away.
SCHEMA = 1
_LABEL = 10
_EXAMPLES = 5
_UNITS = ("bytes", "kB", "MB", "GB", "TB")
_KILO = 1000
_PLURALS = {"entity": "entities", "summary": "summaries"}


@dataclasses.dataclass
class FullProbe:
    """What `probe --full` prints as JSON: the suite's report, which has a schema."""

    conformance: dict[str, Any]


def as_json(command: str, report: Any, exit_code: int) -> str:
    """One JSON object: `schema`, `command`, `exit_code`, and the report's fields."""
    document = {
        "schema": SCHEMA,
        "command": command,
        "exit_code": exit_code,
        **_fields(report),
    }
    try:
        text = orjson.dumps(document, option=orjson.OPT_INDENT_2, default=_plain)
    except orjson.JSONEncodeError:
        # A path that is not UTF-8: the other encoder escapes what it holds.
        return json.dumps(document, indent=2, default=_any)
    return text.decode()


def _any(value: Any) -> Any:
    return vars(value) if dataclasses.is_dataclass(value) else _plain(value)


def _fields(report: Any) -> dict[str, Any]:
    if isinstance(report, list):
        return {"runs": report}
    return {f.name: getattr(report, f.name) for f in dataclasses.fields(report)}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return value._asdict()
    if isinstance(value, Mapping):
        return dict(value)
    return list(value)


def printable(text: str) -> str:
    """Text that cannot move the cursor or break a line of a ticket."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def line(label: str, text: str) -> str:
    """One line of a report."""
    return f"{label:<{_LABEL - 1}} {printable(text)}"


def count(number: int, noun: str, plural: str | None = None) -> str:
    """A number and its noun, in the form that goes with it."""
    word = noun if number == 1 else plural or f"{noun}s"
    return f"{number:,} {word}"


def _of_kind(number: int, kind: str) -> str:
    return count(number, kind, _PLURALS.get(kind))


def _size(number: float) -> str:
    for unit in _UNITS:
        if number < _KILO or unit == _UNITS[-1]:
            return (
                f"{number:,.0f} {unit}" if unit == "bytes" else f"{number:,.1f} {unit}"
            )
        number /= _KILO
    raise AssertionError


def more(shown: Iterable[str], total: int) -> list[str]:
    """Examples, and how many more there are."""
    kept = list(shown)[:_EXAMPLES]
    lines = [" " * _LABEL + "  " + printable(text) for text in kept]
    if total > len(kept):
        lines.append(" " * _LABEL + f"  and {total - len(kept):,} more")
    return lines


def inventory_lines(inventory: Inventory) -> list[str]:
    """What a source holds."""
    lines = [line("source", inventory.source)]
    for group in inventory.groups:
        lines.append(
            line(
                "found",
                f"{_of_kind(group.items, group.kind)} in "
                f"{count(group.sessions, 'session')} under {group.root!r}"
                f" ({_size(group.bytes)})",
            )
        )
        if group.lifetimes:
            lasting = group.lifetimes.items()
            parts = [f"{name} {number:,}" for name, number in lasting if number]
            lines.append(line("lifetimes", " · ".join(parts)))
    if not any(group.items for group in inventory.groups):
        lines.append(line("found", "nothing"))
    lines += _skipped_lines(inventory)
    lines += _other_lines(inventory)
    if inventory.ambiguous_count:
        lines.append(
            line(
                "ambiguous",
                f"{count(inventory.ambiguous_count, 'key')} can be read in two ways",
            )
        )
        readings = (
            f"{key.locator}: session {key.first[0]!r} entity {key.first[1]!r}, or "
            f"session {key.last[0]!r} entity {key.last[1]!r}"
            for key in inventory.ambiguous
        )
        lines += more(readings, inventory.ambiguous_count)
    lines += _reject_lines(inventory.rejects)
    return lines + note_lines(inventory)


def note_lines(inventory: Inventory) -> list[str]:
    """What has to be known of any result, and what the old form had lost."""
    return [line("note", one) for one in [*inventory.notes, *inventory.never_stored]]


def _skipped_lines(inventory: Inventory) -> list[str]:
    if not inventory.skipped_count:
        return []
    lines = [line("skipped", count(inventory.skipped_count, "object"))]
    reasons = (f"{name}: {why}" for name, why in inventory.skipped)
    return lines + more(reasons, inventory.skipped_count)


def _other_lines(inventory: Inventory) -> list[str]:
    """What else there is, and that it stays where it is."""
    if not inventory.others:
        return []
    lines = [line("also here", "not moved by this command:")]
    lines += [" " * _LABEL + "  " + _other(other) for other in inventory.others]
    return lines


def _other(other: Other) -> str:
    about = "about " if other.estimated else ""
    return printable(f"{other.name}: {about}{other.count:,}")


def _reject_lines(rejects: Mapping[str, int]) -> list[str]:
    if not rejects:
        return []
    parts = ", ".join(f"{number:,} {reason}" for reason, number in rejects.items())
    return [line("rejects", parts)]


def _blocker_lines(blockers: Iterable[Any]) -> list[str]:
    return [line("blocked", f"{b.message.rstrip('.')}; fix: {b.fix}") for b in blockers]


def scan_lines(inventory: Inventory) -> list[str]:
    """What `scan` prints."""
    return inventory_lines(inventory) + _blocker_lines(inventory.blockers)


def plan_lines(plan: Plan) -> list[str]:
    """The plan in full, as `--dry-run` prints it and where it is blocked."""
    lines = inventory_lines(plan.inventory)
    lines.append(line("target", f"{plan.target} ({plan.target_label})"))
    for decision, number in plan.decisions.items():
        if number or decision == Decision.COPY:
            name = "to copy" if decision == Decision.COPY else decision
            lines.append(line("plan", f"{number:,} {name}"))
    for what, locators in plan.examples.items():
        if locators:
            lines.append(line(what, "for example"))
            lines += more(locators, len(locators))
    if plan.threads:
        lines += _thread_plan_lines(plan.threads)
    if plan.embedded_texts:
        lines.append(
            line(
                "embed",
                f"{plan.embedded_texts:,} texts, about {plan.embedded_tokens:,} tokens",
            )
        )
    if plan.vectors_kept:
        lines.append(line("vectors", f"{plan.vectors_kept:,} kept as they are"))
    if plan.to_write:
        lines.append(line("time", f"about {max(1, round(plan.seconds)):,} s"))
    lines += [line("note", fact) for fact in [*plan.facts, *plan.vector_facts]]
    return lines + _blocker_lines(plan.blockers)


def migrate_lines(
    report: MigrateReport, target: str, *, planned: bool = False
) -> list[str]:
    """What `migrate` prints: the plan in short, the copy, the check, the way back.

    Where the plan was shown in full (`planned`), what it said is not said again.
    """
    plan, copy = report.plan, report.copy
    if copy is None:
        return plan_lines(plan)
    lines = []
    if not planned:
        lines.append(line("plan", _plan_in_short(plan)))
        lines += _skipped_lines(plan.inventory)
        lines += note_lines(plan.inventory)
        lines += [line("note", fact) for fact in plan.vector_facts]
    if copy.decisions or not copy.threads:
        lines.append(line("copied", _copied(copy)))
    elif copy.rejects:
        lines += _reject_lines(copy.rejects)
    if copy.threads:
        lines += _threads_copied_lines(copy.threads)
    if copy.rejects_file:
        lines.append(line("rejects", f"listed in {copy.rejects_file}"))
    if report.verify:
        lines += verify_lines(report.verify)
    if copy.run:
        lines.append(line("undo", f"holdover rollback {target} {copy.run[:SHOWN]}"))
    return lines


def _plan_in_short(plan: Plan) -> str:
    items: Counter[str] = Counter()
    sessions: Counter[str] = Counter()
    for group in plan.inventory.groups:
        items[group.kind] += group.items
        sessions[group.kind] += group.sessions
    kinds = [(kind, number) for kind, number in items.items() if number]
    if not kinds:
        return "nothing found"
    if len(kinds) == 1:
        ((kind, number),) = kinds
        text = f"{count(sessions[kind], 'session')}, {_of_kind(number, kind)}"
    else:
        # A session may have records of each kind.
        text = ", ".join(
            f"{_of_kind(number, kind)} in {count(sessions[kind], 'session')}"
            for kind, number in kinds
        )
    for decision, number in plan.decisions.items():
        if number and decision != Decision.COPY:
            text += f"; {number:,} {decision}"
    return text


def _copied(copy: CopyReport) -> str:
    text = f"{copy.written:,}"
    for decision, number in copy.decisions.items():
        if decision != Decision.COPY:
            text += f"   {decision} {number:,}"
    if copy.expired:
        text += f"   expired meanwhile {copy.expired:,}"
    if copy.skipped:
        reasons = ", ".join(f"{n:,} {reason}" for reason, n in copy.skipped.items())
        text += f"   left out {sum(copy.skipped.values()):,} ({reasons})"
    rejected = sum(copy.rejects.values())
    reasons = ", ".join(f"{n:,} {reason}" for reason, n in copy.rejects.items())
    return text + f"   rejected {rejected:,}" + (f" ({reasons})" if reasons else "")


def verify_lines(report: VerifyReport) -> list[str]:
    """What `verify` prints."""
    text = f"{report.equal:,} of {report.compared:,} equal"
    for name in ("changed", "expired", "missing", "different", "extra"):
        number = getattr(report, name)
        if number:
            text += f", {number:,} {_VERIFY_WORDS[name]}"
    lines = [line("verified", text)] if report.compared or not report.threads else []
    if report.threads:
        lines += _threads_verified_lines(report.threads)
    for name, locators in report.examples.items():
        lines.append(line(name, "for example"))
        lines += more(locators, getattr(report, name))
    for one in report.contents:
        lines.append(line("content", one["locator"]))
        for end in ("source", "target"):
            text = orjson.dumps(one[end], default=str).decode()
            lines.append(" " * _LABEL + f"  {end}: {printable(text)}")
    if report.rejected:
        lines += _reject_lines(report.rejected)
    return lines


def _thread_plan_lines(plan: ThreadsPlan) -> list[str]:
    return [
        line(
            "threads",
            f"{number:,} {'to write' if decision == Decision.COPY else decision}",
        )
        for decision, number in plan.decisions.items()
        if number or decision == Decision.COPY
    ]


def _threads_copied_lines(copied: ThreadsCopied) -> list[str]:
    text = f"{copied.written:,} written, {count(copied.messages, 'message')}"
    for decision, number in copied.decisions.items():
        if decision != Decision.COPY:
            text += f"   {decision} {number:,}"
    lines = [line("threads", text)]
    if copied.changes:
        parts = ", ".join(f"{name} {n:,}" for name, n in copied.changes.items())
        lines.append(line("repaired", parts))
    return lines


def _threads_verified_lines(report: ThreadsVerified) -> list[str]:
    total = report.equal + report.changed + report.missing + report.different
    text = f"{report.equal:,} of {count(total, 'thread')} equal"
    for name in ("changed", "missing", "different", "extra"):
        if number := getattr(report, name):
            text += f", {number:,} {_VERIFY_WORDS[name]}"
    lines = [line("verified", text)]
    for name, locators in report.examples.items():
        lines.append(line(name, "for example"))
        lines += more(locators, getattr(report, name))
    return lines + _reject_lines(report.rejected)


_VERIFY_WORDS = {
    "changed": "changed since by the application",
    "expired": "expired",
    "missing": "missing",
    "different": "different",
    "extra": "of this run no longer in the source",
}


def status_lines(runs: list[RunStatus], target: str) -> list[str]:
    """What `status` prints."""
    if not runs:
        return [line("runs", f"none recorded in {target}")]
    lines = []
    for run in runs:
        lines += [
            line("run", f"{run.shown}  {run.state}"),
            line("source", run.source),
            line("done", f"{run.done:,} of {run.planned:,}   rejected {run.rejects:,}"),
            line("progress", run.last_progress or "none yet"),
        ]
        if run.resume:
            lines.append(line("resume", run.resume))
        lines.append("")
    return lines[:-1]


def rollback_lines(report: RollbackReport) -> list[str]:
    """What `rollback` prints."""
    lines = [
        line(
            "undone",
            f"{report.removed:,} removed, {report.restored:,} restored, "
            f"{report.left:,} changed since and left",
        )
    ]
    lines += more(report.examples, report.left)
    if (threads := report.threads) and any(
        (threads.removed, threads.restored, threads.left)
    ):
        text = (
            f"{count(threads.removed, 'thread')} removed, {threads.restored:,} "
            f"restored, {threads.left:,} continued since and left"
        )
        lines.append(line("undone", text))
        lines += more(threads.examples, threads.left)
    return lines


def probe_lines(report: ProbeReport) -> list[str]:
    """What `probe` prints."""
    lines = [
        line("ok" if one.holds else "FAILED", f"{one.name}  {one.detail}".rstrip())
        for one in report.properties
    ]
    verdict = "loses or mixes data" if report.failed else "keeps items exact and apart"
    return [*lines, line("store", f"{report.store} {verdict}")]


def sweep_lines(report: SweepReport) -> list[str]:
    """What `sweep` prints."""
    lines = [line("swept", f"{count(report.removed, 'expired item')} removed")]
    if report.mended:
        lines.append(
            line("repaired", f"{report.mended:,} list entries that did not agree")
        )
    return lines


def forget_lines(report: ForgetReport) -> list[str]:
    """What `forget` prints."""
    return [
        line(
            "forgotten",
            f"{count(report.items, 'item')}, {count(report.revisions, 'revision')}",
        ),
        *(line("not here", place) for place in report.not_reached),
    ]


#: By exit code: whether it is good, and a sentence.
VERDICTS = {
    0: ("good", "Done and verified."),
    1: ("bad", "Done, with something rejected or different."),
    3: ("bad", "The plan has blockers; nothing was written."),
}
