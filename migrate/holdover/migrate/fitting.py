"""Which choices go together: one that would do nothing is refused, not ignored."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from holdover.migrate.errors import UsageError
from holdover.migrate.sources.base import FIELDS, ReadOptions

if TYPE_CHECKING:
    from holdover.migrate.options import Options

# What the way back goes by; everything is written in a way of its own.
_OF_THE_WAY_BACK = frozenset({
    "template", "session_map", "ttl", "rejects_file", "layout",
    "roots", "sessions", "session_pattern", "kinds", "only_named", "sample",
})  # fmt: skip
# Where an option is not called as its choice is.
_NAMES = {
    "roots": "root", "sessions": "session", "kinds": "kind", "fields": "field",
    "rejects_file": "rejects",
}  # fmt: skip
# Of what is written as items only.
_OF_ITEMS = ("workers", "scheduler", "index", "dims", "vectors")


def check_fit(options: Options) -> None:
    """Refuse what does not fit together.

    Raises:
        UsageError: A choice would do nothing beside the others, or is unknown.
    """
    for name, _ in options.read.fields:
        if name not in FIELDS:
            raise UsageError(f"--field {name}: there are only {', '.join(FIELDS)}.")
    given = _given(options)
    if options.layout == "classic" and (none := given - _OF_THE_WAY_BACK):
        raise UsageError(f"--layout classic goes without {_option(min(none))}.")
    if "thread_id" in given and "threads" not in options.into:
        raise UsageError("--thread-id needs --into threads.")
    if options.into == {"threads"}:
        for name in _OF_ITEMS:
            if name in given:
                raise UsageError(
                    f"{_option(name)} is for items, and --into threads writes none.",
                    hint="Leave it out, or add --into items.",
                )
    if options.index is None:
        for name in ("dims", "vectors"):
            if name in given:
                raise UsageError(f"{_option(name)} needs --index.")
    if options.scheduler and "workers" in given:
        raise UsageError(
            "--workers and --scheduler are two ways to copy.", hint="Give one of them."
        )


def _given(options: Options) -> set[str]:
    """The choices that are not the default ones."""
    given = set()
    for chosen, default in ((options, type(options)()), (options.read, ReadOptions())):
        for one in fields(chosen):
            if getattr(chosen, one.name) != getattr(default, one.name):
                given.add(one.name)
    return given - {"read"}


def _option(name: str) -> str:
    return f"--{_NAMES.get(name, name).replace('_', '-')}"
