"""What one migration was asked to do, and its fingerprint."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import Literal

import orjson

from holdover.migrate.conflicts import OnConflict
from holdover.migrate.mapping import DEFAULT_TEMPLATE, Mapper, SessionMap
from holdover.migrate.sources.base import ReadOptions

DEFAULT_BATCH = 10_000


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

    def prepared(self) -> Prepared:
        """Read the files it names, and check that its parts fit together.

        Raises:
            UsageError: They do not.
        """
        loaded = SessionMap.load(self.session_map) if self.session_map else None
        mapper = Mapper(self.template, loaded, self.read.session_pattern)
        read = self.read
        if loaded:
            read = replace(read, sessions=read.sessions | loaded.sessions)
        return Prepared(replace(self, read=read), mapper, loaded)


@dataclass(frozen=True)
class Prepared:
    """Options with what they name loaded."""

    options: Options
    mapper: Mapper
    session_map: SessionMap | None

    def fingerprint(self) -> str:
        """The same for everything that writes the same.

        Where the source is read and how fast does not belong to it.
        """
        read = self.options.read
        written = [
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
        ]
        raw = orjson.dumps(written, option=orjson.OPT_PASSTHROUGH_SUBCLASS)
        return hashlib.sha256(raw).hexdigest()[:16]
