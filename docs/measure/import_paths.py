"""Write the page of old import paths from the data that shim and codemod use.

python docs/measure/import_paths.py
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from holdover.compat.shim import entries
from holdover.compat.shim.entries import Answer, Kind

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "import-paths.md"
RECORD = ROOT / "tests" / "corpus" / "import_paths.json"

HEAD = """\
# Old import paths

<!-- Made by docs/measure/import_paths.py from the data of the shim. -->

What became of each path, as the [shim](shim.md) serves it and the
[codemod](codemod.md) writes it:

- **moved**: a class of memory, which is Holdover's now;
- **forwarded**: what LangChain has in another package now. Where that is not
  installed, importing it raises an `ImportError` that names the package;
- **removed**: what no package has any more. Importing it raises an `ImportError` with
  the reason below.

## Paths around memory

{count} paths around memory existed in some release from 0.0.100 to 1.5, and {stay} of
them stay as they are.
"""
OTHERS = """\
## Everything else below `langchain`

{names} names of {modules} modules, by where they are now. `langchain_classic` has most
chains and agents under the path they had, with `langchain_classic` for `langchain`.

| below | names | now in |
|---|---|---|
"""
REMOVED = """\
## Removed

| path | why, and what to use |
|---|---|
"""


def page() -> str:
    """The whole page."""
    record = json.loads(RECORD.read_text("utf-8"))["symbols"]
    by_module = defaultdict(list)
    stay = 0
    for path in record:
        module, name = _split(path)
        found = entries.answer(module, name)
        if found is None:
            stay += 1
        else:
            by_module[module].append((name, found))
    lines = [HEAD.format(count=len(record), stay=stay)]
    for module, held in sorted(by_module.items()):
        lines += [f"### `{module}`", "", "| name | answer | now |", "|---|---|---|"]
        lines += [
            f"| `{name}` | {found.kind} | {_now(found)} |" for name, found in held
        ]
        lines.append("")
    lines += _others()
    lines += ["", REMOVED + "\n".join(_removed())]
    return "\n".join(lines) + "\n"


def _split(path: str) -> tuple[str, str]:
    head, bracket, rest = path.partition("[")
    module, _, name = head.rpartition(".")
    return module, name + bracket + rest


def _now(found: Answer) -> str:
    return f"`{found.path}`" if found.path else "see [Removed](#removed)"


def _others() -> list[str]:
    below: dict[str, Counter[str]] = defaultdict(Counter)
    modules = entries.all_modules()
    for module in modules:
        top = ".".join(module.split(".")[:2])
        for name in entries.names_of(module):
            found = entries.answer(module, name)
            if found is not None:
                below[top][found.module.partition(".")[0] or "removed"] += 1
    total = sum(sum(where.values()) for where in below.values())
    lines = [OTHERS.format(names=f"{total:,}", modules=f"{len(modules):,}").rstrip()]
    for top, where in sorted(below.items()):
        now = ", ".join(
            f"{_package(root)} {count}" for root, count in where.most_common()
        )
        lines.append(f"| `{top}` | {sum(where.values())} | {now} |")
    return lines


def _package(root: str) -> str:
    return root if root == "removed" else f"`{root}`"


def _removed() -> Iterator[str]:
    for module in entries.all_modules():
        reasons: dict[str, list[str]] = defaultdict(list)
        for name in entries.names_of(module):
            found = entries.answer(module, name)
            if found is not None and found.kind is Kind.REMOVED:
                reasons[found.why].append(name)
        for why, names in reasons.items():
            listed = ", ".join(f"`{name}`" for name in sorted(names))
            yield f"| `{module}`: {listed} | {why} |"


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), "utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
