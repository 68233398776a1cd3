"""A diff of two texts that a reader, and `patch`, can follow."""

from __future__ import annotations

import difflib

_NO_NEWLINE = "\\ No newline at end of file\n"


def of_texts(path: str, old: str, new: str) -> str:
    """A unified diff. Lines end where the file's newlines are, and nowhere else."""
    lines = difflib.unified_diff(_lines(old), _lines(new), path, path)
    return "".join(
        line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}" for line in lines
    )


def _lines(text: str) -> list[str]:
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]
