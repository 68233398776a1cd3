"""All rules by code, found in `rules/` by being there."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

from holdover.migrate.codemod import rules
from holdover.migrate.codemod.advice import Advise, Rule

__all__ = ["ALL", "CALLS", "Rule"]


def _modules() -> list[ModuleType]:
    found = pkgutil.iter_modules(rules.__path__, f"{rules.__name__}.")
    return [importlib.import_module(name) for name in sorted(one.name for one in found)]


ALL: dict[str, Rule] = {module.RULE.code: module.RULE for module in _modules()}

#: For each class, the rules that know its old arguments.
CALLS: dict[str, list[tuple[Rule, Advise]]] = {}
for _module in _modules():
    for _name, _advise in getattr(_module, "CALLS", {}).items():
        CALLS.setdefault(_name, []).append((_module.RULE, _advise))
