"""Which files the report of `holdover exec` tells to rewrite."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from holdover.migrate.codemod.naming import short
from holdover.migrate.errors import UsageError

_INSTALLED = frozenset({"site-packages", "dist-packages"})


def files_of(report: str, within: Sequence[str] = ()) -> list[str]:
    """The source files of a report that exist, are ours to change, and lie within.

    Args:
        report: The JSON that `holdover exec --report` wrote, or the text beside it.
        within: Files and folders; none for everywhere.

    Raises:
        UsageError: It is no such report.
    """
    limits = [os.path.realpath(path) for path in within]
    real = {os.path.realpath(file) for file in _named(report)}
    return [
        _shown(path)
        for path in sorted(real)
        # What ran is Python, whatever it is called.
        if os.path.isfile(path)  # noqa: PTH113 - a path object refuses long names
        and os.access(path, os.W_OK)
        and not _INSTALLED.intersection(Path(path).parts)
        and (not limits or any(_lies_in(path, limit) for limit in limits))
    ]


def _named(report: str) -> Iterator[str]:
    document = _read(report)
    uses = document.get("uses")
    if not isinstance(uses, list):
        raise UsageError(
            f"{short(report)}: not a report of holdover exec: it has no uses."
        )
    for use in uses:
        file = use.get("file") if isinstance(use, Mapping) else None
        if isinstance(file, str) and file and _can_be_named(file):
            yield file


def _can_be_named(file: str) -> bool:
    try:
        return b"\0" not in os.fsencode(file)
    except UnicodeEncodeError:
        return False


def _read(report: str) -> Mapping[str, Any]:
    if os.path.isdir(report):  # noqa: PTH112 - a path object refuses long names
        raise UsageError(f"{short(report)}: a folder, not a report of holdover exec.")
    beside = str(Path(report).with_suffix(".json"))
    for name in dict.fromkeys((report, beside)):
        try:
            document = json.loads(Path(name).read_text("utf-8"))
        except OSError as error:
            if not os.path.exists(name):  # noqa: PTH110 - likewise
                continue
            message = f"{short(name)}: cannot be read: {error.strerror}."
            raise UsageError(message) from None
        except (ValueError, RecursionError):
            continue
        if isinstance(document, Mapping):
            return document
    if not os.path.exists(report):  # noqa: PTH110 - likewise
        raise UsageError(f"{short(report)}: no such file.")
    raise UsageError(
        f"{short(report)}: not the JSON that holdover exec --report FILE writes beside "
        "FILE."
    )


def _lies_in(path: str, limit: str) -> bool:
    return path == limit or path.startswith(limit.rstrip(os.sep) + os.sep)


def _shown(path: str) -> str:
    """Below the working folder as one would type it."""
    here = os.getcwd() + os.sep  # noqa: PTH109 - to compare text
    return path.removeprefix(os.path.realpath(here) + os.sep)
