"""The options that several commands share: declared once, made into `Options` once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from holdover.migrate.options import Options


class HowAmbiguous(StrEnum):
    """`--ambiguous`."""

    FAIL = "fail"
    FIRST = "first"
    LAST = "last"
    REJECT = "reject"


class HowConflict(StrEnum):
    """`--on-conflict`."""

    FAIL = "fail"
    SKIP = "skip"
    VERSION = "version"
    OVERWRITE = "overwrite"


class HowRoles(StrEnum):
    """`--roles`."""

    REFUSE = "refuse"
    ALTERNATE = "alternate"


class HowInto(StrEnum):
    """`--into`."""

    ITEMS = "items"
    THREADS = "threads"


class HowLayout(StrEnum):
    """`--layout`."""

    NATIVE = "native"
    LANGMEM = "langmem"
    DEEPAGENTS = "deepagents"
    CLASSIC = "classic"


class HowTtl(StrEnum):
    """`--ttl`."""

    KEEP = "keep"
    DROP = "drop"


class HowVectors(StrEnum):
    """`--vectors`."""

    AUTO = "auto"
    KEEP = "keep"
    EMBED = "embed"


Source = Annotated[str, typer.Argument(metavar="SOURCE", show_default=False)]
Target = Annotated[str, typer.Argument(metavar="TARGET", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]
Root = Annotated[
    list[str] | None,
    typer.Option(
        "--root",
        metavar="NAME",
        help="Classic table_name or key_prefix; repeatable. Default: what the old "
        "classes used (memory_store, message_store and others).",
    ),
]
Session = Annotated[
    list[str] | None,
    typer.Option(
        "--session",
        metavar="ID",
        help="A session id that exists in the source; repeatable. Decides how names "
        "are split.",
    ),
]
SessionPattern = Annotated[
    str | None,
    typer.Option(metavar="REGEX", help="What a whole session id looks like."),
]
SessionMap = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="CSV or JSON: session, and columns for the template (kind is optional).",
    ),
]
Kind = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="KIND",
        help="entities, messages, turns, triples or summary; repeatable. Default: all.",
    ),
]
Roles = Annotated[
    HowRoles,
    typer.Option(
        metavar="HOW",
        help="Messages that were stored without a type: refuse, or alternate (human "
        "and AI in turn).",
    ),
]
Field = Annotated[
    list[str] | None,
    typer.Option(
        "--field",
        metavar="NAME=COLUMN",
        help="What a custom layout calls id, session, message, created_at, "
        "expires_at, type, content, metadata or embedding, or the encoding of files; "
        "repeatable.",
    ),
]
Ambiguous = Annotated[
    HowAmbiguous,
    typer.Option(
        metavar="HOW",
        help="Keys with two readings: fail, first, last (which colon ends the "
        "session), or reject.",
    ),
]
Skip = Annotated[
    list[str] | None,
    typer.Option("--skip", metavar="TABLE", help="Leave a table out; repeatable."),
]
Only = Annotated[
    bool,
    typer.Option(
        "--only-named",
        help="Only sessions named by --session, --session-pattern or --session-map.",
    ),
]
Sample = Annotated[
    str, typer.Option(metavar="SHARE", help="Whole sessions by hash, for example 1%.")
]
Template = Annotated[
    str,
    typer.Option(
        metavar="TEXT", help="Labels of the scope, separated by /, with {names}."
    ),
]
Ttl = Annotated[
    HowTtl,
    typer.Option(
        metavar="HOW",
        help="Lifetimes left: keep or drop.",
    ),
]


Into = Annotated[
    list[HowInto] | None,
    typer.Option(
        "--into",
        metavar="WHAT",
        help="What sessions become: items (of a store, the default) or threads (of a "
        "LangGraph checkpointer); repeatable.",
    ),
]
Layout = Annotated[
    HowLayout,
    typer.Option(
        metavar="SHAPE",
        help="native, langmem, deepagents, or classic (back to what old releases "
        "read).",
    ),
]
ThreadId = Annotated[
    str,
    typer.Option(
        metavar="TEXT",
        help="With --into threads: a thread's id, with {names} as in --template.",
    ),
]
ShowContent = Annotated[
    bool,
    typer.Option("--show-content", help="Show what differs, texts included."),
]
OnConflict = Annotated[
    HowConflict,
    typer.Option(
        metavar="HOW",
        help="Where the target holds another value: fail, skip, version (keep ours as "
        "a revision) or overwrite.",
    ),
]
Batch = Annotated[
    int, typer.Option(min=1, metavar="N", help="Records in one transaction.")
]
Rate = Annotated[
    float | None,
    typer.Option(min=0.001, metavar="N", help="At most N records a second."),
]
MaxRejects = Annotated[
    int | None,
    typer.Option(min=0, metavar="N", help="Stop after more than N rejects."),
]
Index = Annotated[
    str | None,
    typer.Option(metavar="PROVIDER:MODEL", help="Embed what is searched by meaning."),
]
Dims = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="The model's dimensions.")
]
Vectors = Annotated[
    HowVectors,
    typer.Option(
        metavar="HOW",
        help="Old vectors of the model's dimensions: auto (keep them if a few are "
        "what it makes), keep or embed (anew).",
    ),
]
GoOn = Annotated[
    str | None,
    typer.Option(
        "--run", metavar="ID", help="Go on with this run, wherever the source is now."
    ),
]
Rejects = Annotated[
    str | None,
    typer.Option("--rejects", metavar="FILE", help="Where rejects are listed."),
]

#: Options by name, each with its declaration and its default.
Group = Mapping[str, tuple[Any, Any]]
#: How names of a source are read.
READING: Group = {
    "root": (Root, None),
    "session": (Session, None),
    "session_pattern": (SessionPattern, None),
    "session_map": (SessionMap, None),
    "kind": (Kind, None),
    "ambiguous": (Ambiguous, HowAmbiguous.FAIL),
    "skip": (Skip, None),
    "roles": (Roles, HowRoles.REFUSE),
    "field": (Field, None),
}
#: Which sessions, and where they go.
PLACING: Group = {
    "only_named": (Only, False),
    "sample": (Sample, "100%"),
    "template": (Template, "{root}/{session}"),
    "ttl": (Ttl, HowTtl.KEEP),
}
#: What they become.
SHAPING: Group = {
    "into": (Into, None),
    "layout": (Layout, HowLayout.NATIVE),
    "thread_id": (ThreadId, "{session}"),
}
#: How they are written.
WRITING: Group = {
    "on_conflict": (OnConflict, HowConflict.FAIL),
    "batch": (Batch, 10_000),
    "rate": (Rate, None),
    "max_rejects": (MaxRejects, None),
    "index": (Index, None),
    "dims": (Dims, None),
    "vectors": (Vectors, HowVectors.AUTO),
    "run": (GoOn, None),
    "rejects_file": (Rejects, None),
}


def shares(*groups: Group) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of these groups in the place of its `**given`."""

    def share(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        declared = {name: one for group in groups for name, one in group.items()}
        shared = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=default,
                annotation=annotation,
            )
            for name, (annotation, default) in declared.items()
        ]
        parameters: list[inspect.Parameter] = []
        for parameter in signature.parameters.values():
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                parameters += shared
            else:
                # Typer calls by name.
                parameters.append(parameter.replace(kind=shared[0].kind))
        del command.__annotations__["given"]
        command.__annotations__ |= {name: one[0] for name, one in declared.items()}
        command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return command

    return share


def options_of(
    *,
    root: list[str] | None = None,
    session: list[str] | None = None,
    session_pattern: str | None = None,
    kind: list[str] | None = None,
    ambiguous: HowAmbiguous = HowAmbiguous.FAIL,
    skip: list[str] | None = None,
    roles: HowRoles = HowRoles.REFUSE,
    field: list[str] | None = None,
    only_named: bool = False,
    sample: str = "100%",
    into: list[HowInto] | None = None,
    **rest: Any,
) -> Options:
    """What a command was given, as `Options`."""
    from holdover.migrate.errors import UsageError  # noqa: PLC0415
    from holdover.migrate.options import Options  # noqa: PLC0415
    from holdover.migrate.sources.base import ALL_KINDS, ReadOptions  # noqa: PLC0415

    if unknown := sorted(set(kind or ()) - ALL_KINDS):
        raise UsageError(
            f"--kind {unknown[0]}: there are only {', '.join(sorted(ALL_KINDS))}."
        )
    read = ReadOptions(
        roots=tuple(root or ()),
        kinds=frozenset(kind or ALL_KINDS),
        sessions=frozenset(session or ()),
        session_pattern=session_pattern,
        ambiguous=ambiguous.value,
        skip=frozenset(skip or ()),
        roles=roles.value,
        fields=_pairs(field or ()),
        only_named=only_named,
        sample=_share(sample),
    )
    written: Any = frozenset(one.value for one in into or (HowInto.ITEMS,))
    plain: dict[str, Any] = {
        name: value.value if isinstance(value, StrEnum) else value
        for name, value in rest.items()
    }
    return Options(read=read, into=written, **plain)


def _pairs(fields: Iterable[str]) -> tuple[tuple[str, str], ...]:
    from holdover.migrate.errors import UsageError  # noqa: PLC0415

    found = []
    for text in fields:
        name, equals, column = text.partition("=")
        if not (name and equals and column):
            raise UsageError(
                f"--field {text!r}: give NAME=COLUMN, for example session=user_id."
            )
        found.append((name, column))
    return tuple(found)


def _share(text: str) -> float:
    from holdover.migrate.errors import UsageError  # noqa: PLC0415

    number, percent, _ = text.strip().partition("%")
    try:
        share = float(number) / (100 if percent else 1)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise UsageError(f"--sample {text!r}: give a share such as 1% or 0.01.")
    return share
