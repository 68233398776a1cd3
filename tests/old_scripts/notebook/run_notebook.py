"""Runs the code cells of a notebook in one namespace, as a kernel would."""

import ast
import json
import sys

PATH = sys.argv[1]

with open(PATH, encoding="utf-8") as stream:
    notebook = json.load(stream)

namespace = {"__name__": "__main__"}
for number, cell in enumerate(notebook["cells"]):
    if cell["cell_type"] != "code":
        continue
    lines = ["\n" if line.startswith(("%", "!")) else line for line in cell["source"]]
    tree = ast.parse("".join(lines))
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = ast.Expression(tree.body.pop().value)
    where = f"{PATH}:cell {number}"
    exec(compile(tree, where, "exec"), namespace)
    if last is not None:  # a kernel shows the value of a last expression
        value = eval(compile(last, where, "eval"), namespace)
        if value is not None:
            print(repr(value))
