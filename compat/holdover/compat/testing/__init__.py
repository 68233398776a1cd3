"""The conformance suite: what a LangGraph `BaseStore` should do, tried on a store.

    from holdover.compat.testing import Difference, check

    report = check(store, differences=[Difference("key.empty", "refuses it")])
    print(report.text())
    report.require()

`acheck` is the same for a store with async methods only; `StoreConformance` and
`AsyncStoreConformance` make a pytest test of each property. Neither pytest nor any
other tool is needed to import this.
"""

from holdover.compat.testing.checking import acheck, check
from holdover.compat.testing.embedding import index_config
from holdover.compat.testing.known import known_differences
from holdover.compat.testing.outcomes import (
    Capabilities,
    Difference,
    Outcome,
    Severity,
)
from holdover.compat.testing.registry import Property, properties
from holdover.compat.testing.report import ConformanceFailed, Report, Result
from holdover.compat.testing.suite import AsyncStoreConformance, StoreConformance

__all__ = [
    "AsyncStoreConformance",
    "Capabilities",
    "ConformanceFailed",
    "Difference",
    "Outcome",
    "Property",
    "Report",
    "Result",
    "Severity",
    "StoreConformance",
    "acheck",
    "check",
    "index_config",
    "known_differences",
    "properties",
]
