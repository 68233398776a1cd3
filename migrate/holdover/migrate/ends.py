"""The two ends of a migration: opened, named, closed, and what their drivers raise."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from holdover.compat.errors import AddressError, HoldoverError
from holdover.compat.stores.address import (
    redact_url,
    refuse_driver,
    resolve_env,
    scheme_of,
    sqlite_path,
)
from holdover.migrate.errors import (
    MigrateError,
    PlanBlocked,
    RunNotFound,
    TargetError,
    UsageError,
)
from holdover.migrate.layouts.narrowing import Narrowed
from holdover.migrate.layouts.shape import named
from holdover.migrate.ledger import Ledger, Run
from holdover.migrate.options import Prepared
from holdover.migrate.sources import file_path, open_source
from holdover.migrate.sources.base import Inventory, Source
from holdover.migrate.targets import Target, open_target

_PATHS = {"sqlite", "file"}


def source_identity(address: str) -> str:
    """A source as the ledger knows it: absolute, and without a password."""
    resolved = resolve_env(address)
    if scheme_of(resolved) in _PATHS:
        of = file_path if scheme_of(resolved) == "file" else sqlite_path
        try:
            # `Path.resolve` raises where links go in a circle.
            return storable(os.path.realpath(of(resolved)))
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
    both_files = {scheme_of(resolve_env(end)) for end in (source, target)} <= _PATHS
    if both_files and source_identity(source) == source_identity(target):
        raise UsageError(
            "The source and the target are the same file; a source is only read.",
            hint="Name another file as the target.",
        )


def refuse_without_runs(target: str, run_id: str | None) -> None:
    """Say what is missing where no run can be rolled back; nothing is created.

    Raises:
        UsageError: There is no store.
        RunNotFound: The newest run is wanted, and it records none.
    """
    with opened_target(target, writing=False) as looking:
        if looking.missing:
            raise UsageError(
                f"{looking.address} holds no store, so that there is nothing to roll "
                "back.",
                hint="Check the address.",
            )
        if run_id is None and not any(Ledger(looking).runs()):
            raise RunNotFound(
                f"{looking.address} records no run, so that there is nothing to roll "
                "back.",
                hint="Check the address.",
            )


def refuse_blocked(inventory: Inventory) -> None:
    """Say what stops a plan where there is none to show it.

    Raises:
        PlanBlocked: Something does.
    """
    if inventory.blockers:
        first = inventory.blockers[0]
        raise PlanBlocked(f"{first.message.rstrip('.')}.", hint=f"Add {first.fix}.")


def _shown(error: HoldoverError, address: str) -> str:
    """What an error says, where the path in it may hold a login."""
    text, resolved = str(error), resolve_env(address)
    if scheme_of(resolved) == "sqlite" and "@" in resolved:
        with suppress(AddressError):
            path = Path(sqlite_path(resolved))
            real = Path(os.path.realpath(path))
            for one in (real, real.parent, path):
                text = text.replace(str(one), redact_url(str(one)))
    return text


@contextmanager
def opened_source(address: str, prepared: Prepared) -> Iterator[Source]:
    """Open a source and close it."""
    try:
        resolved = resolve_env(address)
        if scheme_of(resolved).startswith("sqlite+"):
            refuse_driver(resolved)
        source = open_source(resolved, prepared.options.read)
        if shape := named(prepared.options.layout):
            source = Narrowed(source, shape)
    except AddressError as error:
        raise UsageError(str(error)) from error
    try:
        yield source
    finally:
        source.close()


def begin_reading(source: Source) -> None:
    """Have a source find what an inventory finds, where nobody takes one of it."""
    # As a layout sees it, it is read as it is.
    whole = getattr(source, "whole", source)
    if (begin := getattr(whole, "begin", None)) is not None:
        begin()


@contextmanager
def opened_target(
    address: str, *, writing: bool, index: dict[str, Any] | None = None
) -> Iterator[Target]:
    """Open a target and close it; what its driver raises becomes a `TargetError`."""
    try:
        resolved = resolve_env(address)
        refuse_driver(resolved)
        target = open_target(resolved, writing=writing, index=index)
        target.given = resolved
    except AddressError as error:
        raise UsageError(_shown(error, address)) from error
    except MigrateError:
        raise
    except HoldoverError as error:
        raise TargetError(_shown(error, address)) from error
    except OSError as error:
        if scheme_of(resolved) not in _PATHS:
            raise
        reason = os.strerror(error.errno or 0).lower()
        raise TargetError(
            f"The target cannot be opened: {reason}.", hint="Check its path."
        ) from error
    except Exception as error:
        if scheme_of(resolved) != "factory":
            raise
        raise TargetError(
            f"{resolved} failed ({type(error).__name__}).",
            hint="What it said is left out; call it from Python to see it.",
        ) from error
    try:
        yield target
    except HoldoverError as error:
        if isinstance(error, MigrateError):
            raise
        raise TargetError(str(error)) from error
    except Exception as error:
        translated = target.backend.translate(error)
        if not isinstance(translated, HoldoverError):
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
