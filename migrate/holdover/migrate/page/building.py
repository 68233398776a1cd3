"""Puts the page together: every text from data is escaped, and no script is made of it.

The page's own script is named by its hash in the page's policy, so that a browser runs
nothing else, whatever a name holds.
"""

from __future__ import annotations

import base64
import hashlib
import html
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from holdover.compat.scope import decode_label, is_cut
from holdover.migrate.conflicts import CONFLICTS
from holdover.migrate.ledger import SHOWN
from holdover.migrate.page import charts
from holdover.migrate.report import VERDICTS, migrate_lines, printable
from holdover.migrate.run import MigrateReport
from holdover.migrate.tallies import CLASSES, SessionCounts, Tally
from holdover.migrate.timings import Phase

#: As many sessions and rejects are listed; the counts are complete.
MOST_SESSIONS = 10_000
MOST_REJECTS = 1_000
_LONGEST = 300
_WORDS = {
    "equal": "equal",
    "changed": "changed since by the application",
    "expired": "expired",
    "missing": "missing",
    "different": "different",
}


@dataclass
class PageData:
    """What the page is about.

    Attributes:
        report: What `migrate` did.
        source: The source as the command named it, without a password.
        target: The target, likewise.
        tally: Counts by session, where something was verified.
        phases: How long it took.
    """

    report: MigrateReport
    source: str
    target: str
    tally: Tally | None = None
    phases: Sequence[Phase] = field(default_factory=tuple)


def render(data: PageData) -> str:
    """The page, as HTML."""
    script, style = _asset("page.js"), _asset("page.css")
    parts = [
        _verdict(data),
        _facts(data),
        _moved(data),
        _sessions(data),
        _conflicts(data),
        _rejects(data),
        _left_out(data),
        _verified(data),
        _timings(data),
        _undo(data),
        _printed(data),
    ]
    title = _text(f"Migration of {data.source} to {data.target}")
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src '{_digest(style)}'; script-src '{_digest(script)}'"
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{title}</title>\n<style>{style}</style></head>\n<body>\n<main>\n"
        f"<h1>{title}</h1>\n" + "\n".join(filter(None, parts)) + "\n</main>\n"
        f"<script>{script}</script>\n</body></html>\n"
    )


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")


def _digest(text: str) -> str:
    raw = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(raw).decode()}"


def _text(value: object) -> str:
    """Any text, safe in a page and short enough for it."""
    text = printable(str(value))
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}…"
    return html.escape(text)


def _verdict(data: PageData) -> str:
    name, verdict = VERDICTS[data.report.exit_code]
    if data.report.copy is None and not data.report.plan.blockers:
        verdict = "A plan; nothing was written."
    blockers = "".join(
        f"<li>{_text(one.message)} <code>{_text(one.fix)}</code></li>"
        for one in data.report.plan.blockers
    )
    more = f"<h2>Blockers</h2><ul>{blockers}</ul>" if blockers else ""
    return f'<p class="verdict {name}">{verdict}</p>{more}'


def _facts(data: PageData) -> str:
    report = data.report
    groups = report.plan.inventory.groups
    facts = [
        ("sessions", f"{sum(group.sessions for group in groups):,}"),
        ("records", f"{sum(group.items for group in groups):,}"),
    ]
    if report.copy:
        facts.append(("written", f"{report.copy.written:,}"))
        facts.append(("rejected", f"{sum(report.copy.rejects.values()):,}"))
    else:
        facts.append(("to write", f"{report.plan.to_write:,}"))
    if report.verify:
        facts.append(("equal", f"{report.verify.equal:,}"))
    if data.phases:
        seconds = sum(phase.seconds for phase in data.phases)
        facts.append(("seconds", f"{seconds:,.1f}"))
    items = "".join(f"<li><strong>{value}</strong>{name}</li>" for name, value in facts)
    return f'<ul class="facts">{items}</ul>'


def _moved(data: PageData) -> str:
    rows: list[Sequence[object]] = [
        (group.root, group.kind, group.sessions, group.items, group.bytes)
        for group in data.report.plan.inventory.groups
    ]
    if not rows:
        return "<h2>What was found</h2><p>Nothing.</p>"
    head = ("root", "kind", "sessions", "records", "bytes")
    return "<h2>What was found</h2>" + _table(head, rows, numbers=2)


def _sessions(data: PageData) -> str:
    if data.tally is None or not data.tally.count():
        return ""
    sums = [
        (one.scope[0], one.kind, one.items, *one.counts.values())
        for one in map(_decoded, data.tally.by_root())
    ]
    head = ("root", "kind", "records", *CLASSES)
    number = data.tally.count()
    rows = [
        (
            printable(" / ".join(one.scope)),
            one.kind,
            one.items,
            *one.counts.values(),
        )
        for one in map(_decoded, data.tally.worst(MOST_SESSIONS))
    ]
    more = ""
    if number > len(rows):
        more = (
            f'<p class="soft">The {len(rows):,} with something missing or different, '
            f"or the largest, of {number:,}.</p>"
        )
    kinds = "".join(
        f'<option value="{_text(kind)}">{_text(kind)}</option>'
        for kind in sorted({str(row[1]) for row in rows})
    )
    columns = "".join(
        f'<th scope="col" data-column="{at}"{" class=n" if at > 1 else ""}>'
        f'<button type="button">{name}</button></th>'
        for at, name in enumerate(("session", *head[1:]))
    )
    # In a page, `<` could end the script element.
    raw = orjson.dumps(rows).decode()
    for sign in "<>&\u2028\u2029":
        raw = raw.replace(sign, f"\\u{ord(sign):04x}")
    return (
        "<h2>By root and kind</h2>"
        + _table(head, sums, numbers=2)
        + f'<h2 id="sessions">By session</h2>{more}'
        '<div class="controls" id="controls" hidden>'
        '<label>Session <input type="search" id="search"></label>'
        f'<label>Kind <select id="kind"><option value="">all</option>{kinds}'
        "</select></label>"
        '<label><input type="checkbox" id="trouble"> missing or different only'
        '</label><button type="button" id="before">Previous</button>'
        '<button type="button" id="after">Next</button>'
        '<span id="sessions-said" aria-live="polite"></span></div>'
        '<div class="scroll" tabindex="0" role="region" aria-labelledby="sessions">'
        f"<table><thead><tr>{columns}</tr></thead>"
        '<tbody id="sessions-body"></tbody></table></div>'
        "<noscript><p>Sessions are listed by a script of this page.</p></noscript>"
        f'<script type="application/json" id="sessions-data">{raw}</script>'
    )


def _decoded(one: SessionCounts) -> SessionCounts:
    scope = tuple(
        label if is_cut(label) else decode_label(label) for label in one.scope
    )
    return one._replace(scope=scope)


def _conflicts(data: PageData) -> str:
    plan, copy = data.report.plan, data.report.copy
    decisions = copy.decisions if copy else plan.decisions
    rows: list[Sequence[object]] = [
        (str(decision), decisions[str(decision)])
        for decision in sorted(CONFLICTS)
        if decisions.get(str(decision))
    ]
    if copy and copy.rejects.get("conflict"):
        rows.append(("conflict, rejected", copy.rejects["conflict"]))
    if not rows:
        return "<h2>Conflicts</h2><p>None: no place held another value.</p>"
    examples = _list(plan.examples.get("conflict", ()))
    return "<h2>Conflicts</h2>" + _table(("what became", "records"), rows) + examples


def _rejects(data: PageData) -> str:
    copy = data.report.copy
    counts = copy.rejects if copy else data.report.plan.rejects
    if not counts:
        return "<h2>Rejects</h2><p>None: everything that was read could be moved.</p>"
    shown = "<h2>Rejects</h2>" + _table(("reason", "records"), counts.items())
    listed = _read_rejects(copy.rejects_file) if copy else []
    if listed:
        rows = [(one["reason"], one["locator"], one["detail"]) for one in listed]
        total = sum(counts.values())
        of = f"{len(rows):,} of {total:,}" if total > len(rows) else f"{total:,}"
        shown += (
            f"<details><summary>List ({of})</summary>"
            + _table(("reason", "where", "why"), rows, numbers=3)
            + "</details>"
        )
    return shown


def _read_rejects(path: str | None) -> list[dict[str, Any]]:
    if path is None:
        return []
    try:
        with Path(path).open("rb") as lines:
            return [orjson.loads(line) for line in islice(lines, MOST_REJECTS)]
    except (OSError, ValueError):
        return []


def _left_out(data: PageData) -> str:
    inventory, copy = data.report.plan.inventory, data.report.copy
    rows: list[Sequence[object]] = [
        (reason, number) for reason, number in (copy.skipped if copy else {}).items()
    ]
    told = ""
    if rows:
        told += _table(("left out", "records"), rows)
    if inventory.skipped_count:
        told += f"<p>{inventory.skipped_count:,} objects are no old memory:</p>"
        told += _list(f"{name}: {why}" for name, why in inventory.skipped)
    notes = [*inventory.notes, *inventory.never_stored, *data.report.plan.facts]
    if notes:
        told += _list(notes)
    return f"<h2>Left out, and notes</h2>{told}" if told else ""


def _verified(data: PageData) -> str:
    verify = data.report.verify
    if verify is None:
        return ""
    counts = {name: int(getattr(verify, name)) for name in CLASSES}
    rows: list[Sequence[object]] = [
        (f"\0{name}", _WORDS[name], number) for name, number in counts.items()
    ]
    rows.append(("", "of this run, no longer in the source", verify.extra))
    shown = "<h2>Verification</h2>" + charts.stacked(counts, "Verified")
    body = "".join(
        f"<tr><th scope=row>{_key(str(name))}{_text(words)}</th>"
        f'<td class="n">{number:,}</td></tr>'
        for name, words, number in rows
    )
    shown += f"<table><tbody>{body}</tbody></table>"
    for name, locators in verify.examples.items():
        shown += f"<h3>{_text(name)}, for example</h3>" + _list(locators)
    if verify.contents:
        shown += "<h3>Contents that differ</h3>" + "".join(
            f"<details><summary>{_text(one['locator'])}</summary><pre>"
            f"{_content('source', one)}\n{_content('target', one)}</pre></details>"
            for one in verify.contents
        )
    return shown


def _key(name: str) -> str:
    if not name.startswith("\0"):
        return ""
    return (
        f'<svg class="key" viewBox="0 0 1 1" aria-hidden="true">'
        f'<rect class="c-{name[1:]}" width="1" height="1"/></svg>'
    )


def _content(end: str, one: Mapping[str, Any]) -> str:
    raw = orjson.dumps(one[end], default=str).decode()
    return f"{end}: {html.escape(printable(raw))}"


def _timings(data: PageData) -> str:
    phases = [phase for phase in data.phases if phase.seconds or phase.records]
    if not phases:
        return ""
    rows = [
        (
            phase.name,
            f"{phase.seconds:,.2f}",
            f"{phase.records:,}",
            f"{phase.records / phase.seconds:,.0f}" if phase.seconds else "",
        )
        for phase in phases
    ]
    head = ("phase", "seconds", "records", "a second")
    drawn = "".join(
        f"<figure><figcaption>{_text(phase.name)}</figcaption>{chart}</figure>"
        for phase in phases
        if (chart := charts.rate(phase.samples, phase.name))
    )
    return "<h2>Timings</h2>" + _table(head, rows) + drawn


def _undo(data: PageData) -> str:
    copy = data.report.copy
    if copy is None or copy.run is None:
        return ""
    target, source = map(shlex.quote, map(printable, (data.target, data.source)))
    commands = [
        f"holdover rollback {target} {copy.run[:SHOWN]}",
        f"holdover verify {source} {target}",
    ]
    listed = html.escape("\n".join(commands))
    return (
        "<h2>How to undo it, and how to look again</h2>"
        f"<pre>{listed}</pre>"
        "<p>Undoing removes what this run wrote and puts back what it replaced; what "
        "was changed since stays, and is listed.</p>"
    )


def _printed(data: PageData) -> str:
    text = "\n".join(migrate_lines(data.report, data.target))
    return (
        "<details><summary>As the command printed it</summary>"
        f"<pre>{html.escape(text)}</pre></details>"
    )


def _table(
    head: Sequence[str], rows: Iterable[Sequence[object]], *, numbers: int = 1
) -> str:
    """A table; columns from `numbers` on are aligned as such."""
    columns = "".join(
        f'<th scope="col"{" class=n" if at >= numbers else ""}>{name}</th>'
        for at, name in enumerate(head)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f"<td{' class=n' if at >= numbers else ''}>{_cell(value)}</td>"
            for at, value in enumerate(row)
        )
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll"><table><thead><tr>{columns}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else _text(value)


def _list(texts: Iterable[object]) -> str:
    items = "".join(f"<li>{_text(text)}</li>" for text in texts)
    return f"<ul>{items}</ul>" if items else ""
