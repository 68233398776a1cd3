"""What one migration was asked to do, and its fingerprint."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import orjson

from holdover.migrate.conflicts import OnConflict
from holdover.migrate.errors import UsageError
from holdover.migrate.fitting import check_fit
from holdover.migrate.mapping import DEFAULT_TEMPLATE, Mapper, SessionMap
from holdover.migrate.sources.base import ReadOptions

DEFAULT_BATCH = 10_000
DEFAULT_THREAD_ID = "{session}"
Into = Literal["items", "threads"]
Vectors = Literal["auto", "keep", "embed"]
Layout = Literal["native", "langmem", "deepagents", "classic"]


@dataclass(frozen=True)
class Options:
    """The choices of a migration; the defaults are those of the command line.

    Attributes:
        read: How names of the source are read.
        template: Where sessions go; see `holdover.migrate.mapping.Mapper`.
        session_map: The path of a CSV or JSON file.
        on_conflict: What happens where the target holds another value.
        ttl: Whether lifetimes left are kept.
        batch: Records in one transaction.
        rate: At most so many records a second; `None` is no limit.
        max_rejects: Stop (exit 4) after so many rejects; `None` is no limit.
        index: `provider:model`, to embed what the kind indexes.
        dims: The model's dimensions.
        run: Go on with this run, whatever address the source has now.
        rejects_file: Where rejects are listed.
        show_content: Put the contents that differ into the report.
        into: What sessions become: store items, LangGraph threads, or both.
        layout: The shape of what is written; `native` is the one of our records.
        vectors: What becomes of vectors that have the dimensions of `index`: kept
            where a few of them are what the model makes, kept, or made anew.
        thread_id: What names a session's thread, as `template` names its place.
        workers: How many processes copy.
        scheduler: The address of a Dask scheduler whose workers copy.
    """

    read: ReadOptions = field(default_factory=ReadOptions)
    template: str = DEFAULT_TEMPLATE
    session_map: str | None = None
    on_conflict: OnConflict = "fail"
    ttl: Literal["keep", "drop"] = "keep"
    batch: int = DEFAULT_BATCH
    rate: float | None = None
    max_rejects: int | None = None
    index: str | None = None
    dims: int | None = None
    run: str | None = None
    rejects_file: str | None = None
    show_content: bool = False
    into: frozenset[Into] = frozenset({"items"})
    layout: Layout = "native"
    thread_id: str = DEFAULT_THREAD_ID
    vectors: Vectors = "auto"
    workers: int = 1
    scheduler: str | None = None

    def prepared(self) -> Prepared:
        """Read the files it names, and check that its parts fit together.

        Raises:
            UsageError: They do not.
        """
        check_fit(self)
        loaded = SessionMap.load(self.session_map) if self.session_map else None
        mapper = Mapper(self.template, loaded, self.read.session_pattern)
        read = self.read
        if loaded:
            read = replace(read, sessions=read.sessions | loaded.sessions)
        if self.into == frozenset({"threads"}):
            # Threads hold conversations, and nothing else is read for them.
            if not read.kinds & {"messages"}:
                raise UsageError(
                    "--into threads moves messages, and --kind names none.",
                    hint="Leave --kind out.",
                )
            read = replace(read, kinds=frozenset({"messages"}))
        prepared = Prepared(replace(self, read=read), mapper, loaded)
        if "threads" in self.into:
            _ = prepared.threads  # so that a wrong template is found at once
        return prepared


@dataclass(frozen=True)
class Prepared:
    """Options with what they name loaded."""

    options: Options
    mapper: Mapper
    session_map: SessionMap | None

    @cached_property
    def threads(self) -> Mapper:
        """Turns a session into its thread's id."""
        pattern = self.options.read.session_pattern
        return Mapper(self.options.thread_id, self.session_map, pattern)

    def fingerprint(self) -> str:
        """The same for everything that writes the same.

        Where the source is read and how fast does not belong to it.
        """
        read = self.options.read
        written: list[Any] = [
            sorted(read.roots),
            sorted(read.sessions),
            read.session_pattern,
            sorted(read.kinds),
            read.ambiguous,
            sorted(read.skip),
            read.only_named,
            read.sample,
            self.options.template,
            self.session_map.canonical() if self.session_map else None,
            self.options.ttl,
            read.roles,
            sorted(read.fields),
            sorted(self.options.into),
            self.options.layout,
        ]
        if self.options.thread_id != DEFAULT_THREAD_ID:
            written.append(["thread", self.options.thread_id])
        raw = orjson.dumps(written, option=orjson.OPT_PASSTHROUGH_SUBCLASS)
        return hashlib.sha256(raw).hexdigest()[:16]
