"""The store matrix: run the conformance suite on every store, and write the page.

    python docs/measure/store_matrix.py              run all, write reports and page
    python docs/measure/store_matrix.py memory mysql  run these
    python docs/measure/store_matrix.py --page        only write the page

The stores are those of `tests/conformance/stores.py` and `third_party.py`; one whose
package or server is not here keeps its last report. The reports are JSON, in
`docs/measure/reports/`; the page is `docs/stores.md`, between its markers.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import json
import logging
import sys
import tempfile
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REPORTS = ROOT / "docs/measure/reports"
PAGE = ROOT / "docs/stores.md"
BEGIN, END = "<!-- matrix: begin -->", "<!-- matrix: end -->"
LACKING = ("differs as declared", "fail", "error", "difference vanished")
ORDER = (
    "memory",
    "memory-vectors",
    "sqlite",
    "sqlite-vectors",
    "postgres",
    "postgres-vectors",
    "plain-redis",
    "stock-sqlite",
    "stock-sqlite-vectors",
    "async-sqlite",
    "stock-postgres",
    "async-postgres",
    "redis-store",
    "mysql",
    "aws-dynamodb",
    "store-dynamodb",
    "store-core",
)


def run(names: list[str]) -> None:
    """Check the stores that are here, and write their reports."""
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/conformance")]
    import expectations  # noqa: PLC0415 - the tests' folder is on the path only now
    import servers  # noqa: PLC0415
    import stores  # noqa: PLC0415
    import third_party  # noqa: PLC0415

    kinds = {**stores.OWN, **third_party.THIRD_PARTY}
    with contextlib.ExitStack() as exits:
        folder = Path(exits.enter_context(tempfile.TemporaryDirectory()))
        given = stores.Servers(folder, exits)
        for name in names or kinds:
            try:
                report = kinds[name].run(given, expectations.EXPECTED[name])
            except (
                servers.Unavailable,
                importlib.metadata.PackageNotFoundError,
            ) as why:
                print(f"{name}: not here ({why})")
                continue
            print(f"{name}: {report.seconds:.1f} s, {report.counts}")
            for failed in report.failed:
                print(f"  {failed}: {report[failed].detail}")
            document = {"title": kinds[name].title, **report.as_dict()}
            text = json.dumps(compact(document), indent=1, ensure_ascii=False)
            (REPORTS / f"{name}.json").write_text(f"{text}\n", "utf-8")


def compact(document: dict) -> dict:
    """Leave out what every report says alike: the sentence of what passed."""
    for one in document["properties"]:
        if one["outcome"] not in LACKING:
            del one["meaning"]
    return document


def load() -> dict[str, dict]:
    """Read the reports that there are, in the order of the page."""
    return {
        name: json.loads(path.read_text("utf-8"))
        for name in ORDER
        if (path := REPORTS / f"{name}.json").exists()
    }


def render(reports: dict[str, dict]) -> str:
    """Make the tables of the page."""
    groups = sorted(
        {
            one["name"].partition(".")[0]
            for report in reports.values()
            for one in report["properties"]
        }
    )
    lines = [*_summary(reports), *_by_group(reports, groups), *_severe(reports)]
    for report in reports.values():
        lines += _details(report)
    return "\n".join(lines)


def _of(report: dict, *outcomes: str) -> list[dict]:
    return [one for one in report["properties"] if one["outcome"] in outcomes]


def _summary(reports: dict[str, dict]) -> list[str]:
    lines = [
        "| store | versions | has | lacks | data loss | leak | not applicable |",
        "|---|---|---|---|---|---|---|",
    ]
    for report in reports.values():
        lacking = _of(report, *LACKING)
        severe = [
            sum(one["severity"] == severity for one in lacking)
            for severity in ("data loss", "leak")
        ]
        about = ", ".join(f"{name} {value}" for name, value in report["about"].items())
        cells = [
            report["title"],
            about,
            len(_of(report, "pass")),
            len(lacking),
            *severe,
            len(_of(report, "not applicable")),
        ]
        lines.append(f"| {' | '.join(str(cell) for cell in cells)} |")
    newest = max(report["started"] for report in reports.values())
    return [*lines, "", f"Run until {newest[:10]}.", ""]


def _by_group(reports: dict[str, dict], groups: list[str]) -> list[str]:
    lines = [
        "## By group",
        "",
        "How many properties of a group a store lacks. An empty cell is none; `–`",
        "says that the group is not applicable.",
        "",
        f"| store | {' | '.join(groups)} |",
        f"|---|{'---|' * len(groups)}",
    ]
    for report in reports.values():
        cells = []
        for group in groups:
            mine = [
                one
                for one in report["properties"]
                if one["name"].startswith(f"{group}.")
            ]
            lacking = sum(one["outcome"] in LACKING for one in mine)
            nothing = all(one["outcome"] == "not applicable" for one in mine)
            cells.append("–" if nothing else str(lacking or ""))
        lines.append(f"| {report['title']} | {' | '.join(cells)} |")
    return [*lines, ""]


def _severe(reports: dict[str, dict]) -> list[str]:
    """Which stores lack the properties whose lack loses data or leaks it."""
    lines = ["## Who loses or leaks what", "", "| property | lacking |", "|---|---|"]
    found: dict[str, tuple[str, list[str]]] = {}
    for report in reports.values():
        for one in _of(report, *LACKING):
            if one["severity"] != "semantics":
                entry = found.setdefault(one["name"], (one["meaning"], []))
                entry[1].append(report["title"])
    for name, (meaning, titles) in sorted(found.items()):
        lines.append(f"| `{name}` {_cell(meaning)} | {'; '.join(titles)} |")
    return [*lines, ""]


def _details(report: dict) -> list[str]:
    lacking = _of(report, *LACKING)
    lines = [f"## {report['title']}", ""]
    if not lacking:
        return [*lines, "It has every property.", ""]
    lines += ["| property | severity | found | why |", "|---|---|---|---|"]
    lines += [
        f"| `{one['name']}` | {one['severity']} | {_cell(one.get('detail', ''))} "
        f"| {_cell(one.get('reason', ''))} |"
        for one in lacking
    ]
    return [*lines, ""]


def _cell(text: str) -> str:
    """Text as a cell holds it: code as it is, and no Markdown in what is not code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a lone one
        parts = [text.replace("`", "'")]
    for number in range(0, len(parts), 2):
        for special in "\\*_[]<>$":
            parts[number] = parts[number].replace(special, f"\\{special}")
    return "`".join(parts).replace("|", "\\|")


def page(text: str, reports: dict[str, dict]) -> str:
    """Put the tables between the markers of the page."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{render(reports)}\n{END}{after}"


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stores", nargs="*")
    parser.add_argument("--page", action="store_true", help="run nothing")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    if not chosen.page:
        run(chosen.stores)
    PAGE.write_text(page(PAGE.read_text("utf-8"), load()), "utf-8")


if __name__ == "__main__":
    main()
