"""Reports as text, JSON and HTML; none holds content unless it was asked for."""

from __future__ import annotations

import dataclasses
import html
import json
from collections.abc import Iterable, Mapping
from typing import Any

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

#: Grows when a field changes its meaning or goes away.
SCHEMA = 1
_LABEL = 10
_EXAMPLES = 5
_UNITS = ("bytes", "kB", "MB", "GB", "TB")
_KILO = 1000


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


def _line(label: str, text: str) -> str:
    return f"{label:<{_LABEL}}{printable(text)}"


def _count(number: int, noun: str, plural: str | None = None) -> str:
    word = noun if number == 1 else plural or f"{noun}s"
    return f"{number:,} {word}"


def _size(number: float) -> str:
    for unit in _UNITS:
        if number < _KILO or unit == _UNITS[-1]:
            return (
                f"{number:,.0f} {unit}" if unit == "bytes" else f"{number:,.1f} {unit}"
            )
        number /= _KILO
    raise AssertionError


def _more(shown: Iterable[str], total: int) -> list[str]:
    kept = list(shown)[:_EXAMPLES]
    lines = [" " * _LABEL + "  " + printable(text) for text in kept]
    if total > len(kept):
        lines.append(" " * _LABEL + f"  and {total - len(kept):,} more")
    return lines


def inventory_lines(inventory: Inventory) -> list[str]:
    """What a source holds."""
    lines = [_line("source", inventory.source)]
    for group in inventory.groups:
        lines.append(
            _line(
                "found",
                f"{_count(group.items, 'entity', 'entities')} in "
                f"{_count(group.sessions, 'session')} under {group.root!r}"
                f" ({_size(group.bytes)})",
            )
        )
        if group.lifetimes:
            parts = [f"{name} {number:,}" for name, number in group.lifetimes.items()]
            lines.append(_line("lifetimes", " · ".join(parts)))
    if not any(group.items for group in inventory.groups):
        lines.append(_line("found", "nothing"))
    lines += _skipped_lines(inventory)
    lines += _other_lines(inventory)
    if inventory.ambiguous_count:
        lines.append(
            _line(
                "ambiguous",
                f"{_count(inventory.ambiguous_count, 'key')} can be read in two ways",
            )
        )
        readings = (
            f"{key.locator}: session {key.first[0]!r} entity {key.first[1]!r}, or "
            f"session {key.last[0]!r} entity {key.last[1]!r}"
            for key in inventory.ambiguous
        )
        lines += _more(readings, inventory.ambiguous_count)
    lines += _reject_lines(inventory.rejects)
    lines += [_line("note", note) for note in inventory.notes]
    lines += [_line("note", fact) for fact in inventory.never_stored]
    return lines


def _skipped_lines(inventory: Inventory) -> list[str]:
    if not inventory.skipped_count:
        return []
    lines = [_line("skipped", _count(inventory.skipped_count, "object"))]
    reasons = (f"{name}: {why}" for name, why in inventory.skipped)
    return lines + _more(reasons, inventory.skipped_count)


def _other_lines(inventory: Inventory) -> list[str]:
    """What else there is, and that it stays where it is."""
    if not inventory.others:
        return []
    lines = [_line("also here", "not moved by this version:")]
    lines += [" " * _LABEL + "  " + _other(other) for other in inventory.others]
    return lines


def _other(other: Other) -> str:
    about = "about " if other.estimated else ""
    return printable(f"{other.name}: {about}{other.count:,}")


def _reject_lines(rejects: Mapping[str, int]) -> list[str]:
    if not rejects:
        return []
    parts = ", ".join(f"{number:,} {reason}" for reason, number in rejects.items())
    return [_line("rejects", parts)]


def _blocker_lines(blockers: Iterable[Any]) -> list[str]:
    return [
        _line("blocked", f"{b.message.rstrip('.')}; fix: {b.fix}") for b in blockers
    ]


def scan_lines(inventory: Inventory) -> list[str]:
    """What `scan` prints."""
    return inventory_lines(inventory) + _blocker_lines(inventory.blockers)


def plan_lines(plan: Plan) -> list[str]:
    """The plan in full, as `--dry-run` prints it and where it is blocked."""
    lines = inventory_lines(plan.inventory)
    lines.append(_line("target", f"{plan.target} ({plan.target_label})"))
    for decision, number in plan.decisions.items():
        if number or decision == Decision.COPY:
            name = "to copy" if decision == Decision.COPY else decision
            lines.append(_line("plan", f"{number:,} {name}"))
    for what, locators in plan.examples.items():
        if locators:
            lines.append(_line(what, "for example"))
            lines += _more(locators, len(locators))
    if plan.embedded_texts:
        lines.append(
            _line(
                "embed",
                f"{plan.embedded_texts:,} texts, about {plan.embedded_tokens:,} tokens",
            )
        )
    if plan.to_write:
        lines.append(_line("time", f"about {max(1, round(plan.seconds)):,} s"))
    lines += [_line("note", fact) for fact in plan.facts]
    return lines + _blocker_lines(plan.blockers)


def migrate_lines(report: MigrateReport, target: str) -> list[str]:
    """What `migrate` prints: the plan in short, the copy, the check, the way back."""
    plan, copy = report.plan, report.copy
    if copy is None:
        return plan_lines(plan)
    lines = [_line("plan", _plan_in_short(plan))]
    lines += _skipped_lines(plan.inventory)
    lines += [_line("note", note) for note in plan.inventory.notes]
    lines.append(_line("copied", _copied(copy)))
    if copy.rejects_file:
        lines.append(_line("rejects", f"listed in {copy.rejects_file}"))
    if report.verify:
        lines += verify_lines(report.verify)
    if copy.run:
        lines.append(_line("undo", f"holdover rollback {target} {copy.run[:SHOWN]}"))
    return lines


def _plan_in_short(plan: Plan) -> str:
    groups = plan.inventory.groups
    sessions = sum(group.sessions for group in groups)
    items = sum(group.items for group in groups)
    if not items:
        return "nothing found"
    text = f"{_count(sessions, 'session')}, {_count(items, 'entity', 'entities')}"
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
    lines = [_line("verified", text)]
    for name, locators in report.examples.items():
        lines.append(_line(name, "for example"))
        lines += _more(locators, getattr(report, name))
    for one in report.contents:
        lines.append(_line("content", one["locator"]))
        for end in ("source", "target"):
            text = orjson.dumps(one[end], default=str).decode()
            lines.append(" " * _LABEL + f"  {end}: {printable(text)}")
    if report.rejected:
        lines += _reject_lines(report.rejected)
    return lines


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
        return [_line("runs", f"none recorded in {target}")]
    lines = []
    for run in runs:
        lines += [
            _line("run", f"{run.shown}  {run.state}"),
            _line("source", run.source),
            _line(
                "done", f"{run.done:,} of {run.planned:,}   rejected {run.rejects:,}"
            ),
            _line("progress", run.last_progress or "none yet"),
        ]
        if run.resume:
            lines.append(_line("resume", run.resume))
        lines.append("")
    return lines[:-1]


def rollback_lines(report: RollbackReport) -> list[str]:
    """What `rollback` prints."""
    lines = [
        _line(
            "undone",
            f"{report.removed:,} removed, {report.restored:,} restored, "
            f"{report.left:,} changed since and left",
        )
    ]
    return lines + _more(report.examples, report.left)


def probe_lines(report: ProbeReport) -> list[str]:
    """What `probe` prints."""
    lines = [
        _line("ok" if one.holds else "FAILED", f"{one.name}  {one.detail}".rstrip())
        for one in report.properties
    ]
    verdict = "loses or mixes data" if report.failed else "keeps items exact and apart"
    return [*lines, _line("store", f"{report.store} {verdict}")]


def sweep_lines(report: SweepReport) -> list[str]:
    """What `sweep` prints."""
    lines = [_line("swept", f"{_count(report.removed, 'expired item')} removed")]
    if report.mended:
        lines.append(
            _line("repaired", f"{report.mended:,} list entries that did not agree")
        )
    return lines


def forget_lines(report: ForgetReport) -> list[str]:
    """What `forget` prints."""
    return [
        _line(
            "forgotten",
            f"{_count(report.items, 'item')}, {_count(report.revisions, 'revision')}",
        ),
        *(_line("not here", place) for place in report.not_reached),
    ]


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto;
  padding: 0 1rem; color: #1b1f24; background: #fff; }}
h1 {{ font-size: 1.3rem; }} h2 {{ font-size: 1.05rem; margin-top: 1.6rem; }}
table {{ border-collapse: collapse; }}
td, th {{ text-align: left; padding: .2rem 1.2rem .2rem 0; vertical-align: top; }}
td.n {{ text-align: right; font-variant-numeric: tabular-nums; }}
.good {{ color: #116329; }} .bad {{ color: #a40e26; }}
pre {{ background: #f6f8fa; padding: .8rem; overflow-x: auto; }}
</style></head><body>
<h1>{title}</h1>
<p class="{verdict_class}">{verdict}</p>
{tables}
<h2>As printed</h2>
<pre>{text}</pre>
</body></html>
"""
_VERDICTS = {
    0: ("good", "Done and verified."),
    1: ("bad", "Done, with something rejected or different."),
    3: ("bad", "The plan has blockers; nothing was written."),
}


def as_html(report: MigrateReport, target: str) -> str:
    """A page about one migration that needs nothing but itself."""
    verdict_class, verdict = _VERDICTS[report.exit_code]
    plan = report.plan
    if report.copy is None and not plan.blockers:
        verdict = "A plan; nothing was written."
    tables = [_table("Plan", {**plan.decisions, **plan.rejects})]
    if report.copy:
        tables.append(
            _table("Copied", {**report.copy.decisions, **report.copy.rejects})
        )
    if report.verify:
        counts = {
            word: getattr(report.verify, name) for name, word in _VERIFY_WORDS.items()
        }
        tables.append(_table("Verified", {"equal": report.verify.equal, **counts}))
    return _PAGE.format(
        title=html.escape(printable(f"Migration of {plan.source} to {plan.target}")),
        verdict_class=verdict_class,
        verdict=verdict,
        tables="\n".join(tables),
        text=html.escape("\n".join(migrate_lines(report, target))),
    )


def _table(title: str, rows: Mapping[str, int]) -> str:
    cells = "".join(
        f"<tr><th>{html.escape(name)}</th><td class=n>{number:,}</td></tr>"
        for name, number in rows.items()
    )
    return f"<h2>{title}</h2><table>{cells}</table>"
