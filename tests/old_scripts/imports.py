"""Which imports a file of Python or a notebook makes, by line."""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass
from pathlib import Path

ROOTS = ("langchain", "langchain_core", "langchain_community", "langchain_classic")


@dataclass(frozen=True)
class Imported:
    """One name that is imported; `name` is empty for `import module`.

    `runs` is false where only a type checker reads the line, or where it is a fallback.
    """

    file: str
    line: int
    module: str
    name: str
    runs: bool


def imports_of(folder: Path, path: Path, *, holdover: bool = False) -> list[Imported]:
    """The imports of LangChain, or of Holdover too, in a file below a folder."""
    roots = (*ROOTS, "holdover") if holdover else ROOTS
    return [
        Imported(file, node.lineno, module, name, runs)
        for file, tree in _trees(folder, path)
        for node, runs in _walk(tree, runs=True)
        for module, name in _names(node)
        if module.partition(".")[0] in roots
    ]


def _trees(folder: Path, path: Path):
    text = (folder / path).read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield str(path), ast.parse(text)
    elif path.suffix == ".ipynb":
        for number, cell in enumerate(json.loads(text)["cells"]):
            if cell["cell_type"] == "code":
                lines = ["\n" if x[:1] in ("%", "!") else x for x in cell["source"]]
                yield f"{path}:cell {number}", ast.parse("".join(lines))


def _walk(node, *, runs: bool):
    for child in ast.iter_child_nodes(node):
        only_typed = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(
            child.test
        )
        runs_too = runs and not only_typed and not isinstance(child, ast.ExceptHandler)
        yield child, runs_too
        yield from _walk(child, runs=runs_too)


def _names(node):
    if isinstance(node, ast.Import):
        return [(alias.name, "") for alias in node.names]
    if isinstance(node, ast.ImportFrom) and not node.level:
        return [(node.module, alias.name) for alias in node.names]
    return []
