"""What an expression is, as far as it shows."""

from __future__ import annotations

import libcst as cst

from holdover.migrate.codemod.scopes import unquoted


def is_empty(value: cst.BaseExpression) -> bool:
    """Whether it is written as an empty text, list, mapping or tuple."""
    if isinstance(value, cst.SimpleString):
        text = unquoted(value)
        return text is not None and not text[1]
    if isinstance(value, cst.List | cst.Dict | cst.Tuple):
        return not value.elements
    if isinstance(value, cst.Call) and isinstance(value.func, cst.Name):
        return value.func.value in {"dict", "list", "str"} and not value.args
    return False
