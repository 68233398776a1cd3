"""What another process has to know to copy partitions of a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import NamedTuple

from holdover.compat.errors import AddressError, HoldoverError
from holdover.compat.stores.address import resolve_env
from holdover.migrate.collecting import rare_collections
from holdover.migrate.ends import (
    begin_reading,
    opened_source,
    opened_target,
    source_identity,
)
from holdover.migrate.errors import RunNotFound, UsageError
from holdover.migrate.ledger import Ledger, Run
from holdover.migrate.mapping import Mapper, SessionMap
from holdover.migrate.options import Options, Prepared
from holdover.migrate.run import index_of
from holdover.migrate.sources.base import Source
from holdover.migrate.targets import Target

VERSION = version("holdover")


@dataclass(frozen=True)
class Errand:
    """One run, for processes that carry out a part of it.

    Attributes:
        source: The address as it was given.
        target: The address as it was given.
        options: What was asked for; the files it names have been read.
        session_map: What `--session-map` says.
        run: The run, which the target's ledger knows.
        identity: What the source is where the command runs.
        version: What the command itself is.
    """

    source: str
    target: str
    options: Options
    session_map: SessionMap | None
    run: Run
    identity: str
    version: str = VERSION

    @classmethod
    def of(cls, source: str, target: str, prepared: Prepared, run: Run) -> Errand:
        """Gather it where the command runs."""
        identity = source_identity(source)
        return cls(
            source, target, prepared.options, prepared.session_map, run, identity
        )

    def prepared(self) -> Prepared:
        """The options, without a look at the files they name."""
        options = self.options
        mapper = Mapper(
            options.template, self.session_map, options.read.session_pattern
        )
        return Prepared(options, mapper, self.session_map)


class Ends(NamedTuple):
    """Both ends of a run, opened in this process."""

    source: Source
    target: Target
    prepared: Prepared


@contextmanager
def opened(errand: Errand) -> Iterator[Ends]:
    """Open both ends; they have to be those of the command.

    Raises:
        UsageError: They are others, or this is another version.
    """
    if errand.version != VERSION:
        raise UsageError(
            f"A worker has holdover {VERSION}, and this command is {errand.version}.",
            hint="Install the same version everywhere.",
        )
    try:
        resolve_env(errand.target)
        identity = source_identity(errand.source)
    except AddressError as error:
        raise UsageError(
            f"For a worker: {error.args[0]}",
            hint="Set the variable to the same address for every worker.",
        ) from error
    if identity != errand.identity:
        raise UsageError(
            f"For a worker, {errand.source} is {identity}, and here it is "
            f"{errand.identity}.",
            hint="Set the variable to the same address for every worker.",
        )
    prepared = errand.prepared()
    index = index_of(prepared.options)
    with ExitStack() as stack:
        stack.enter_context(rare_collections())
        source = stack.enter_context(opened_source(errand.source, prepared))
        target = stack.enter_context(
            opened_target(errand.target, writing=True, index=index)
        )
        target.prepare()
        _check_same(target, errand.run)
        begin_reading(source)
        yield Ends(source, target, prepared)


def _check_same(target: Target, run: Run) -> None:
    try:
        Ledger(target).find(run.id)
    except RunNotFound:
        raise UsageError(
            f"What a worker finds at {target.address} is not the store that this "
            "command writes.",
            hint="Workers need a store outside of one process's memory, at the same "
            "address for all of them.",
        ) from None


class Failure(NamedTuple):
    """An error as it travels: not every one can be made again by its constructor."""

    kind: type[HoldoverError]
    args: tuple[object, ...]
    state: dict[str, object]

    @classmethod
    def of(cls, error: HoldoverError) -> Failure:
        """Take what it says, without where it was raised and why."""
        return cls(type(error), error.args, dict(vars(error)))

    def error(self) -> HoldoverError:
        """Make it again."""
        made = self.kind.__new__(self.kind, *self.args)
        made.args = self.args
        vars(made).update(self.state)
        return made
