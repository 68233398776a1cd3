"""What of a plan is about vectors: how many are kept, and what the others cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdover.compat.records import KINDS
from holdover.migrate.sources.base import Blocker
from holdover.migrate.targets.vectors import index_dims

if TYPE_CHECKING:
    from holdover.migrate.options import Options
    from holdover.migrate.plan import Plan
    from holdover.migrate.sources.base import Group
    from holdover.migrate.targets.base import Target

_BYTES_PER_TOKEN = 4


def weigh_vectors(plan: Plan, target: Target, options: Options) -> None:
    """Fill in what an index would cost, and what becomes of the source's vectors."""
    groups = [group for group in plan.inventory.groups if _is_indexed(group)]
    dims = options.dims if options.index else index_dims(target)
    held = sum(sum(group.vectors.values()) for group in groups)
    if options.index and options.dims:
        _check_dims(plan, target, options.dims)
    if not dims:
        if held and plan.items_to_write:
            some = sorted({size for group in groups for size in group.vectors})
            plan.vector_facts.append(
                f"{held:,} vectors stay behind, and what is written cannot be found by"
                f" meaning; --index PROVIDER:MODEL --dims {some[0]} writes an index"
            )
        return
    total = sum(group.items for group in plan.inventory.groups)
    scale = plan.items_to_write / max(1, total)
    fitting = sum(group.vectors.get(dims, 0) for group in groups)
    others = options.vectors == "embed" or options.layout != "native"
    if others or not target.keeps_vectors:
        fitting = 0
    plan.vectors_kept = round(fitting * scale)
    share = sum(group.items for group in groups) / max(1, total)
    texts = round(plan.items_to_write * share)
    plan.embedded_texts = max(0, texts - plan.vectors_kept)
    size = sum(group.bytes for group in groups) * scale
    part = plan.embedded_texts / texts if texts else 0
    plan.embedded_tokens = round(size * part / _BYTES_PER_TOKEN)
    if plan.vectors_kept:
        fact = (
            f"{plan.vectors_kept:,} vectors are kept as they are: they must come from"
            f" the model {options.index}"
        )
        if options.vectors == "auto":
            fact += ", and a few are compared with what it makes before any is written"
        plan.vector_facts.append(fact)
    if held > fitting and plan.items_to_write:
        plan.vector_facts.append(
            f"{held - fitting:,} vectors of the source are not used: their texts are"
            " embedded anew"
        )


def _is_indexed(group: Group) -> bool:
    return any(
        kind.index and group.kind in (kind.name, kind.label) for kind in KINDS.values()
    )


def _check_dims(plan: Plan, target: Target, dims: int) -> None:
    there = target.vector_dims()
    if there is not None and there != dims:
        plan.blockers.append(
            Blocker(
                "dims",
                f"the target's index has {there:,} dimensions, and --dims says"
                f" {dims:,}",
                f"--dims {there} and the model that made it",
            )
        )
