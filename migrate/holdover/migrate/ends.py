"""The two ends of a migration: opened, named, closed, and what their drivers raise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from holdover.compat.errors import AddressError, HoldoverError
from holdover.compat.stores.address import (
    redact_url,
    resolve_env,
    scheme_of,
    sqlite_path,
)
from holdover.migrate.errors import MigrateError, TargetError, UsageError
from holdover.migrate.ledger import Ledger, Run
from holdover.migrate.options import Prepared
from holdover.migrate.sources import open_source
from holdover.migrate.sources.base import Source
from holdover.migrate.targets import Target, open_target


def source_identity(address: str) -> str:
    """A source as the ledger knows it: absolute, and without a password."""
    resolved = resolve_env(address)
    if scheme_of(resolved) == "sqlite":
        try:
            return storable(str(Path(sqlite_path(resolved)).resolve()))
        except AddressError as error:
            raise UsageError(str(error)) from error
    return storable(redact_url(resolved))


def storable(text: str) -> str:
    """Text for the ledger: bytes of a path that are not UTF-8 as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


def refuse_same_file(source: str, target: str) -> None:
    """A source is only read, so it cannot be the target as well.

    Raises:
        UsageError: Both are the same file.
    """
    both_files = {scheme_of(resolve_env(end)) for end in (source, target)} == {"sqlite"}
    if both_files and source_identity(source) == source_identity(target):
        raise UsageError(
            "The source and the target are the same file; a source is only read.",
            hint="Name another file as the target.",
        )


@contextmanager
def opened_source(address: str, prepared: Prepared) -> Iterator[Source]:
    """Open a source and close it."""
    try:
        source = open_source(resolve_env(address), prepared.options.read)
    except AddressError as error:
        raise UsageError(str(error)) from error
    try:
        yield source
    finally:
        source.close()


@contextmanager
def opened_target(
    address: str, *, writing: bool, index: dict[str, Any] | None = None
) -> Iterator[Target]:
    """Open a target and close it; what its driver raises becomes a `TargetError`."""
    try:
        target = open_target(resolve_env(address), writing=writing, index=index)
    except AddressError as error:
        raise UsageError(str(error)) from error
    except MigrateError:
        raise
    except HoldoverError as error:
        raise TargetError(str(error)) from error
    try:
        yield target
    except HoldoverError as error:
        if isinstance(error, MigrateError):
            raise
        raise TargetError(str(error)) from error
    except Exception as error:
        translated = target.backend.translate(error)
        if translated is error:
            raise
        raise TargetError(str(translated)) from error
    finally:
        target.close()


def find_run(ledger: Ledger, identity: str, prepared: Prepared) -> Run | None:
    """The run these choices go on with, if there is one.

    Raises:
        RunNotFound: `--run` names none.
        UsageError: `--run` names one made with other choices, or it is rolled back.
    """
    wanted = prepared.options.run
    fingerprint = prepared.fingerprint()
    if wanted is None:
        run = ledger.matching(identity, fingerprint)
    else:
        run = ledger.find(wanted)
        if run.fingerprint != fingerprint:
            raise UsageError(
                f"Run {run.shown} was made with other choices, so that it wrote other "
                "things.",
                hint=f"Its command was: {run.command}",
            )
    if run is not None and run.state == "rolling back":
        raise UsageError(
            f"Run {run.shown} is being rolled back.",
            hint="Finish that with `holdover rollback`, then migrate anew.",
        )
    return run
