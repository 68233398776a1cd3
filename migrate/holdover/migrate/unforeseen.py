"""An error that nobody foresaw: where it came from, without what was in it.

What it says is not shown, and neither is the line of code that raised it: a driver
quotes the row that it could not write, and a factory its password.
"""

from __future__ import annotations

import traceback


def traced(error: BaseException) -> str:
    """The places that an error went through, and what raised it, outermost first."""
    lines: list[str] = []
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        frames = traceback.extract_tb(one.__traceback__)
        told = ["Traceback (most recent call last):"]
        told += [f'  File "{f.filename}", line {f.lineno}, in {f.name}' for f in frames]
        told.append(f"{type(one).__module__}.{type(one).__qualname__}")
        # What was raised in a process of ours brings the places along.
        told += filter(None, [getattr(one, "trace", "")])
        lines = [*told, *(["", "Then:", ""] if lines else []), *lines]
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)
    return "\n".join(lines) + "\n"
