"""`check` and `acheck`: every property tried on a store, and the store left clean."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from langgraph.store.base import BaseStore

from holdover.compat.testing.outcomes import (
    Capabilities,
    Difference,
    Outcome,
    by_name,
)
from holdover.compat.testing.registry import Property, properties
from holdover.compat.testing.report import Report, Result
from holdover.compat.testing.steps import Steps, arun, interleaved, run
from holdover.compat.testing.trial import Broken, Trial

_DETAIL = 300
#: What came of a body: nothing, or an outcome and what was found.
Finding = tuple[Outcome, str]


def check(
    store: BaseStore,
    *,
    capabilities: Capabilities | None = None,
    differences: Iterable[Difference] = (),
    only: Iterable[str] | None = None,
    seed: int = 0,
    about: Mapping[str, str] | None = None,
) -> Report:
    """Try every property by the store's sync methods.

    It writes below random namespaces and removes what it wrote, so that the store need
    not be empty. But what a store that mixes namespaces up does to other items nobody
    knows: give an unknown one a database of its own.

    Args:
        store: Ready for use.
        capabilities: What the store claims; by default what it says of itself.
        differences: What it is known to lack. Each is asserted: one that vanished
            makes the check fail.
        only: Names of properties, or patterns such as `key.*`.
        seed: Of the random operations. The same ones each time by default.
        about: Facts for the report, such as versions.

    Raises:
        ValueError: A name in `differences` or `only` is that of no property.
    """
    plan = _Plan("sync", store, capabilities, differences, only, seed, about)
    return run(store, plan.steps())


async def acheck(
    store: BaseStore,
    *,
    capabilities: Capabilities | None = None,
    differences: Iterable[Difference] = (),
    only: Iterable[str] | None = None,
    seed: int = 0,
    about: Mapping[str, str] | None = None,
) -> Report:
    """Try every property by the async methods, in the running loop; see `check`."""
    plan = _Plan("async", store, capabilities, differences, only, seed, about)
    return await arun(store, plan.steps())


class _Plan:
    """What is tried, and how it is judged."""

    def __init__(
        self,
        way: str,
        store: BaseStore,
        capabilities: Capabilities | None,
        differences: Iterable[Difference],
        only: Iterable[str] | None,
        seed: int,
        about: Mapping[str, str] | None,
    ) -> None:
        self._way, self._seed, self._about = way, seed, dict(about or {})
        self._store = type(store).__name__
        self._capabilities = capabilities or Capabilities.of(store)
        self._properties = properties(only)
        self._declared = by_name(differences)
        unknown = set(self._declared) - {one.name for one in properties()}
        if unknown:
            raise ValueError(f"No property is called {', '.join(sorted(unknown))}.")

    def steps(self) -> Steps[Report]:
        started, at = time.monotonic(), datetime.now(UTC)
        applicable = [
            one
            for one in self._properties
            if self._capabilities.has(one.needs, way=self._way)
        ]
        root = f"conformance{secrets.token_hex(6)}x"
        trials = {
            one.name: Trial(f"{root}{number:03d}", seed=self._seed, way=self._way)
            for number, one in enumerate(applicable)
        }
        findings: dict[str, Finding] = {}
        try:
            for one in applicable:
                if not one.sleeps:
                    findings[one.name] = yield from _try(one, trials[one.name])
            sleeping = [one for one in applicable if one.sleeps]
            found = yield from interleaved(
                [_try(one, trials[one.name]) for one in sleeping]
            )
            findings |= zip((one.name for one in sleeping), found, strict=True)
        finally:
            # After an interruption, some are left in the middle.
            for trial in trials.values():
                yield from trial.remove()
        return Report(
            store=self._store,
            way=self._way,
            capabilities=self._capabilities,
            seed=self._seed,
            started=at.isoformat(timespec="seconds"),
            seconds=round(time.monotonic() - started, 3),
            results=tuple(
                self._judged(one, findings.get(one.name)) for one in self._properties
            ),
            about=self._about,
        )

    def _judged(self, one: Property, finding: Finding | None) -> Result:
        declared = self._declared.get(one.name)
        if finding is None:
            outcome, detail, declared = Outcome.NOT_APPLICABLE, "", None
        else:
            outcome, detail = finding
        if declared is not None and outcome is not Outcome.PASS:
            if declared.expected in detail:
                outcome = Outcome.DIFFERS
            else:
                detail += f"; declared was: {declared.expected}"
        elif declared is not None and declared.always:
            outcome = Outcome.VANISHED
            detail = "the store has the property; remove the declaration"
        return Result(
            one.name,
            outcome,
            one.severity,
            one.meaning,
            detail,
            "" if declared is None else declared.reason,
        )


def _try(one: Property, trial: Trial) -> Steps[Finding]:
    try:
        yield from one.body(trial)
    except Broken as broken:
        return Outcome.FAIL, _short(str(broken), trial)
    except Exception as error:  # noqa: BLE001 - whatever a store raises is its answer
        return Outcome.ERROR, _short(f"{type(error).__name__}: {error}", trial)
    finally:
        yield from trial.remove()
    return Outcome.PASS, ""


def _short(text: str, trial: Trial) -> str:
    """One line, the same in every run: without what is random in it."""
    line = " ".join(text.replace(trial.label, "…").split())
    return line if len(line) <= _DETAIL else f"{line[:_DETAIL]}…"
