"""The command line: parse, call, print. What it does is in the other modules."""

from __future__ import annotations

import functools
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, TextIO

import typer
from typer.core import TyperCommand, TyperGroup

from holdover.migrate.cli_options import (
    PLACING,
    READING,
    SHAPING,
    WRITING,
    HowLayout,
    Json,
    ShowContent,
    Source,
    Target,
    Template,
    options_of,
    shares,
)

if TYPE_CHECKING:
    from holdover.migrate.options import Options

_GROUPS = {
    "Move data": (
        "scan",
        "migrate",
        "sync",
        "verify",
        "status",
        "rollback",
        "retire",
    ),
    "Care for a store": ("probe", "sweep", "forget"),
    "Upgrade code": ("codemod", "exec"),
}
_FOOTER = """\
Addresses: a path, sqlite:///FILE, postgresql://, redis[s]://, unix://,
redis+sentinel://, module:factory, or env:NAME to keep a password out of the
command line; as a source also file:///PATH (a file or a folder), mysql://,
mariadb://, mongodb://, dynamodb://TABLE and upstash+https://HOST.
Exit codes: 0 done and verified, 1 differences or rejects, 2 usage,
3 plan has blockers (nothing written), 4 failed and 130 interrupted
(run the same command again to resume). `codemod --help` has its own,
and exec has those of the program.

Examples and runbook: https://holdover.readthedocs.io
"""
_INTERRUPTED = 130
_FAILED = 4


# Of click, which Typer may bring along under a name of its own.
_Misused: Any = typer.BadParameter.__mro__[1]


class _Group(TyperGroup):
    """Help in plain text, commands by what they are for."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for title, names in _GROUPS.items():
            rows = [
                (name, command.get_short_help_str(60))
                for name in names
                if (command := self.get_command(ctx, name))
            ]
            with formatter.section(title):
                formatter.write_dl(rows)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Remember the words as they were given; see `invoke`."""
        ctx.meta[__name__] = list(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; a word that it cannot use is shown without a password."""
        try:
            return super().invoke(ctx)
        except _Misused as error:
            from holdover.compat.stores.address import redact_url  # noqa: PLC0415

            for word in ctx.meta[__name__]:
                error.message = error.message.replace(word, redact_url(word))
            raise

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        formatter.write_paragraph()
        formatter.write(_FOOTER)


#: Options by what they decide; the others are about the command itself.
_SECTIONS = {
    "What is read": (
        "root", "session", "session_pattern", "session_map", "kind", "ambiguous",
        "skip", "roles", "field", "only_named", "sample",
    ),
    "What is written": (
        "template", "into", "layout", "jsonb", "thread_id",
        "on_conflict", "on_source_delete", "ttl", "index", "dims", "vectors",
    ),
}  # fmt: skip


class _Command(TyperCommand):
    """Help whose many options are in sections."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        section_of = {one: title for title, of in _SECTIONS.items() for one in of}
        rows: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for param in self.get_params(ctx):
            shown = param.get_help_record(ctx)
            if shown is not None:
                title = section_of.get(param.name or "", "Options")
                if param.param_type_name == "argument":
                    title = "Arguments"
                rows.setdefault(title, []).append(shown)
        for title in ("Arguments", *_SECTIONS, "Options"):
            if rows.get(title):
                with formatter.section(title):
                    formatter.write_dl(rows[title])


app = typer.Typer(
    cls=_Group,
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""Move what LangChain's classic memory left behind into a LangGraph store,
    and keep old code running meanwhile. Sources are only ever read.

    Start here:  holdover scan redis://localhost:6379/0""",
)


def _guarded(
    command: Callable[..., None], *, failed: int = _FAILED
) -> Callable[..., None]:
    """Turn what a command raises into one sentence on stderr and an exit code."""

    @functools.wraps(command)
    def guarded(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except KeyboardInterrupt:
            _complain(
                "Interrupted. Nothing is lost: run the same command again to resume."
            )
            raise typer.Exit(_INTERRUPTED) from None
        except BrokenPipeError:
            sys.stderr.close()  # the reader has gone; say nothing more
            raise typer.Exit(failed) from None
        except Exception as error:
            raise typer.Exit(_explained(error, failed)) from error

    return guarded


#: The commands for code have three exit codes only.
_guarded_for_code = functools.partial(_guarded, failed=2)


def _explained(error: Exception, failed: int) -> int:
    """Say what happened; of what we did not foresee, also where."""
    if isinstance(error, typer.Exit | typer.Abort):
        raise error
    from holdover.compat.errors import AddressError, HoldoverError  # noqa: PLC0415

    if not isinstance(error, HoldoverError | OSError):
        from holdover.migrate.unforeseen import traced  # noqa: PLC0415

        _say(sys.stderr, traced(error))
        _complain(
            "This is a fault of Holdover's, or of code that it was given. What the "
            "error says is left out: it may hold what is in your data."
        )
        return failed
    _complain(str(error))
    return 2 if isinstance(error, AddressError) else getattr(error, "exit_code", failed)


def _complain(text: str) -> None:
    sys.stderr.write(f"holdover: {' '.join(text.split())}\n")


def _examples(*lines: str) -> str:
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def _version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it so
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415

        print(f"holdover {version('holdover')}")  # noqa: T201
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_version,
            is_eager=True,
            help="Show the version and exit.",
        ),
    ] = False,
) -> None:
    pass


class _HowSourceDelete(StrEnum):
    KEEP = "keep"
    DELETE = "delete"


def _print(lines: list[str]) -> None:
    out = sys.stdout
    _say(out, "\n".join(lines) + "\n")
    out.flush()


def _say(out: TextIO, text: str | bytes) -> None:
    encoding = out.encoding or "utf-8"
    if isinstance(text, bytes):
        if hasattr(out, "buffer"):
            out.flush()
            out.buffer.write(text)
            return
        text = text.decode(encoding, "backslashreplace")
    # A terminal that cannot show a name shows its escape instead of failing.
    out.write(text.encode(encoding, "backslashreplace").decode(encoding))


def _finish(
    command: str, report: Any, lines: list[str], exit_code: int, *, json: bool
) -> None:
    if json:
        from holdover.migrate.report import as_json  # noqa: PLC0415

        _print([as_json(command, report, exit_code)])
    else:
        _print(lines)
    raise typer.Exit(exit_code)


@app.command(
    cls=_Command,
    epilog=_examples(
        "holdover scan entities.db", "holdover scan redis://localhost:6379/0 --root app"
    ),
)
@_guarded
@shares(READING)
def scan(
    source: Source,
    json: Json = False,
    **given: Any,
) -> None:
    """Show the old memory data a source holds. Writes nothing.

    Answers: what is there, in how many sessions, how long it still lives, and what
    has to be added to the command before it can be moved.
    """
    from holdover.migrate import report  # noqa: PLC0415
    from holdover.migrate.scan import scan as carry_out  # noqa: PLC0415

    options = options_of(**given)
    found = carry_out(source, options)
    _finish("scan", found, report.scan_lines(found), 0, json=json)


@app.command(
    cls=_Command,
    epilog=_examples(
        "holdover migrate entities.db sqlite:///memory.db",
        "holdover migrate env:OLD_REDIS env:NEW_POSTGRES --session-pattern '[^:]+'",
    ),
)
@_guarded
@shares(READING, PLACING, SHAPING, WRITING)
def migrate(
    source: Source,
    target: Target,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Stop after the plan; write nothing.")
    ] = False,
    jsonb: Annotated[
        bool,
        typer.Option(
            "--jsonb",
            help="With --layout classic, into PostgreSQL: JSONB messages, for "
            "PostgresChatMessageHistory.",
        ),
    ] = False,
    workers: Annotated[
        int, typer.Option(min=1, metavar="N", help="Processes that copy.")
    ] = 1,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="tcp://HOST:PORT",
            help="Copy by the workers of this Dask scheduler.",
        ),
    ] = None,
    report_file: Annotated[
        str | None,
        typer.Option(
            "--report", metavar="FILE.html", help="Write a page about it, too."
        ),
    ] = None,
    setup_only: Annotated[
        bool, typer.Option("--setup-only", help="Create the target's tables and stop.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask on a terminal.")
    ] = False,
    show_content: ShowContent = False,
    json: Json = False,
    **given: Any,
) -> None:
    """Plan, copy and verify. Run again to resume.

    Answers: is every record of the old place in the new one? The source is only
    read; what cannot be moved is listed with its reason.
    """
    from holdover.compat.stores.address import redact_url  # noqa: PLC0415
    from holdover.migrate import progress, report  # noqa: PLC0415
    from holdover.migrate.errors import UsageError  # noqa: PLC0415
    from holdover.migrate.run import migrate as carry_out  # noqa: PLC0415
    from holdover.migrate.run import set_up  # noqa: PLC0415
    from holdover.migrate.tallies import Tally  # noqa: PLC0415
    from holdover.migrate.timings import Timed  # noqa: PLC0415

    options = options_of(
        workers=workers, scheduler=scheduler, show_content=show_content, **given
    )
    classic = given["layout"] is HowLayout.CLASSIC
    for sentence, holds in {
        "--jsonb needs --layout classic.": jsonb and not classic,
        "--layout classic writes no --report.": classic and report_file,
        "--layout classic goes without --setup-only.": classic and setup_only,
        "--setup-only makes tables, and --dry-run nothing.": setup_only and dry_run,
        "--setup-only writes no --report.": setup_only and report_file,
        "--setup-only makes the tables of items alone, not those of --into threads.": (
            setup_only and "threads" in options.into
        ),
    }.items():
        if holds:
            raise UsageError(sentence, hint="Leave one of the two out.")
    if report_file:
        _check_folder(report_file)
    asks = not (yes or json or not sys.stdin.isatty())
    if classic:
        _migrate_back(
            source, target, options, jsonb=jsonb, dry_run=dry_run, asks=asks, json=json
        )
    if setup_only:
        set_up(target, options)
        _print([f"set up    {redact_url(target)}"])
        return
    reporter = Timed(progress.for_stream(quiet=json))
    tally = Tally() if report_file else None
    done = carry_out(
        source,
        target,
        options,
        dry_run=dry_run,
        command=_command_line(source, target),
        reporter=reporter,
        confirm=_confirm if asks else None,
        tally=tally,
    )
    shown = redact_url(target)
    if tally:
        from holdover.migrate.page import PageData, render  # noqa: PLC0415

        names = redact_url(source), shown
        page = render(PageData(done, *names, tally, reporter.phases))
        with _own_file(str(report_file)) as file:
            file.write(page.encode())
        tally.close()
    planned = asks and done.plan.to_write > 0 and sys.stdout.isatty()
    lines = report.migrate_lines(done, shown, planned=planned)
    _finish("migrate", done, lines, done.exit_code, json=json)


@contextmanager
def _own_file(path: str) -> Iterator[BinaryIO]:
    """A file that is its owner's alone, and there when it is whole.

    Names of sessions are in it.
    """
    unfinished = f"{path}.part"
    opened = os.open(unfinished, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(opened, "wb") as file:
            yield file
        os.replace(unfinished, path)  # noqa: PTH105 - as it was given
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise


def _check_folder(file: str) -> None:
    """Refuse a file that could not be written in the end, before anything is done."""
    from holdover.migrate.errors import UsageError  # noqa: PLC0415

    path = Path(file)
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise UsageError(
            f"The report {file} cannot be written there.",
            hint="Name a file in a folder that exists.",
        )


def _migrate_back(
    source: str,
    target: str,
    options: Options,
    *,
    jsonb: bool,
    dry_run: bool,
    asks: bool,
    json: bool,
) -> None:
    """The way back: `migrate --layout classic`."""
    from holdover.migrate import progress  # noqa: PLC0415
    from holdover.migrate.classic.showing import way_back_lines  # noqa: PLC0415
    from holdover.migrate.classic.way_back import way_back  # noqa: PLC0415

    def confirm(report: Any) -> bool:
        sys.stderr.write("\n".join(way_back_lines(report)) + "\n")
        return typer.confirm("Write now?", default=True, err=True)

    done = way_back(
        source,
        target,
        options,
        jsonb=jsonb,
        dry_run=dry_run,
        reporter=progress.for_stream(quiet=json),
        confirm=confirm if asks else None,
    )
    _finish("migrate", done, way_back_lines(done), done.exit_code, json=json)


def _confirm(plan: Any) -> bool:
    from holdover.migrate.report import plan_lines  # noqa: PLC0415

    sys.stderr.write("\n".join(plan_lines(plan)) + "\n")
    return typer.confirm("Copy now?", default=True, err=True)


@app.command(
    cls=_Command,
    epilog=_examples(
        "holdover sync entities.db sqlite:///memory.db",
        "holdover sync env:OLD_REDIS env:NEW_POSTGRES --final",
    ),
)
@_guarded
@shares(READING, PLACING, WRITING)
def sync(
    source: Source,
    target: Target,
    final: Annotated[
        bool,
        typer.Option(
            "--final", help="The writer is stopped: one last pass, then verify."
        ),
    ] = False,
    on_source_delete: Annotated[
        _HowSourceDelete,
        typer.Option(
            metavar="HOW",
            help="What was deleted in the source: keep it here, or delete.",
        ),
    ] = _HowSourceDelete.KEEP,
    max_passes: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="Give up after N passes over a fast writer."
        ),
    ] = 20,
    json: Json = False,
    **given: Any,
) -> None:
    """Follow a source in use, for a switch without loss.

    Answers: how do I move while the old application still writes? It copies, then
    repeats passes over what changed until what is left takes less than a second, and
    prints the four steps of the switch. Give the same choices as to migrate.
    """
    from holdover.migrate import progress  # noqa: PLC0415
    from holdover.migrate.report_sync import pass_line, sync_lines  # noqa: PLC0415
    from holdover.migrate.sync import sync as carry_out  # noqa: PLC0415

    options = options_of(**given)
    this = _command_line(source, target)

    def told(done: Any) -> None:
        if not json:
            _say(sys.stderr, pass_line(done) + "\n")

    done = carry_out(
        source,
        target,
        options,
        final=final,
        on_source_delete=on_source_delete.value,
        max_passes=max_passes,
        command=this,
        reporter=progress.for_stream(quiet=json),
        told=told,
    )
    done.commands["final"] = this if final else f"{this} --final"
    _finish("sync", done, sync_lines(done), done.exit_code, json=json)


@app.command(
    cls=_Command,
    epilog=_examples(
        "holdover verify entities.db sqlite:///memory.db",
        "holdover verify env:OLD_REDIS env:NEW_POSTGRES --json",
    ),
)
@_guarded
@shares(READING, PLACING, SHAPING)
def verify(
    source: Source,
    target: Target,
    run: Annotated[
        str | None, typer.Option(metavar="ID", help="Compare with this run.")
    ] = None,
    show_content: ShowContent = False,
    json: Json = False,
    **given: Any,
) -> None:
    """Compare a source with a target, item by item. Writes nothing.

    Answers: what is equal, what did the application change since, what expired, and
    what is missing or different. Only the last two are failures. Give the same
    choices as to migrate.
    """
    from holdover.migrate import progress, report  # noqa: PLC0415
    from holdover.migrate.errors import UsageError  # noqa: PLC0415
    from holdover.migrate.verify import verify as carry_out  # noqa: PLC0415

    if given["layout"] is HowLayout.CLASSIC:
        raise UsageError(
            "What --layout classic writes is compared before it is shown.",
            hint="Compare the source of the migration with its target instead.",
        )
    options = options_of(run=run, show_content=show_content, **given)
    done = carry_out(source, target, options, reporter=progress.for_stream(quiet=json))
    exit_code = int(not done.clean or bool(done.rejected))
    _finish("verify", done, report.verify_lines(done), exit_code, json=json)


@app.command(
    epilog=_examples(
        "holdover status sqlite:///memory.db",
        "holdover status env:NEW_POSTGRES 0193a1c4",
    )
)
@_guarded
def status(
    target: Target,
    run: Annotated[
        str | None, typer.Argument(metavar="RUN", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """List the runs recorded in a target. Writes nothing.

    Answers: how far is each migration, and which command resumes it?
    """
    from holdover.compat.stores.address import redact_url  # noqa: PLC0415
    from holdover.migrate import report  # noqa: PLC0415
    from holdover.migrate.status import status as carry_out  # noqa: PLC0415

    found = carry_out(target, run)
    _finish(
        "status", found, report.status_lines(found, redact_url(target)), 0, json=json
    )


@app.command(
    epilog=_examples(
        "holdover rollback sqlite:///memory.db",
        "holdover rollback env:NEW_POSTGRES 0193a1c4-1f2e",
    )
)
@_guarded
def rollback(
    target: Target,
    run: Annotated[
        str | None, typer.Argument(metavar="RUN", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Remove what a run wrote and put back what it replaced.

    Answers: how do I get back? By default the newest run is undone. Items that were
    changed since are left, and listed.
    """
    from holdover.migrate import report  # noqa: PLC0415
    from holdover.migrate.ends import refuse_without_runs  # noqa: PLC0415
    from holdover.migrate.rollback import rollback as carry_out  # noqa: PLC0415

    refuse_without_runs(target, run)
    done = carry_out(target, run)
    _finish(
        "rollback", done, report.rollback_lines(done), int(done.left > 0), json=json
    )


@app.command(
    cls=_Command,
    epilog=_examples(
        "holdover retire entities.db sqlite:///memory.db --output retire.sql",
        "holdover retire env:OLD_REDIS env:NEW_POSTGRES --output retire.txt",
    ),
)
@_guarded
@shares(READING, PLACING)
def retire(
    source: Source,
    target: Target,
    output: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Where the commands go; by default to stdout."
        ),
    ] = None,
    kept: Annotated[
        str | None, typer.Option(metavar="FILE", help="Where what stays is listed.")
    ] = None,
    run: Annotated[
        str | None, typer.Option(metavar="ID", help="What this run moved.")
    ] = None,
    json: Json = False,
    **given: Any,
) -> None:
    """Write the commands that delete what was moved. Deletes nothing.

    Answers: what of the old data may go? Everything is compared once more; where
    something is missing or different, no command is written. What could not be moved
    stays, and is listed. Give the same choices as to migrate.
    """
    from holdover.migrate import progress  # noqa: PLC0415
    from holdover.migrate.report_retire import retire_lines  # noqa: PLC0415
    from holdover.migrate.retire import retire as carry_out  # noqa: PLC0415

    options = options_of(run=run, **given)
    reporter = progress.for_stream(quiet=json)
    if json and output is None:
        from holdover.migrate.errors import UsageError  # noqa: PLC0415

        raise UsageError("--json needs --output FILE for the commands.")
    if output is None:
        out = sys.stdout.buffer
        done = carry_out(
            source, target, out, options, kept_file=kept, reporter=reporter
        )
    else:
        with _own_file(output) as file:
            done = carry_out(
                source, target, file, options, kept_file=kept, reporter=reporter
            )
    lines = retire_lines(done, output)
    if json:
        _finish("retire", done, lines, done.exit_code, json=True)
    _say(sys.stderr, "\n".join(lines) + "\n")
    raise typer.Exit(done.exit_code)


@app.command(
    epilog=_examples(
        "holdover probe sqlite:///memory.db",
        "holdover probe myapp.stores:make_store --full",
    )
)
@_guarded
def probe(
    target: Target,
    full: Annotated[
        bool,
        typer.Option("--full", help="Run the whole conformance suite (a minute)."),
    ] = False,
    json: Json = False,
) -> None:
    """Test whether a store keeps items exact and apart.

    Answers: would this store lose or mix up memory? Canaries are written below
    ("~holdover", "probe") and removed; with --full, below random namespaces.
    """
    from holdover.migrate import report  # noqa: PLC0415
    from holdover.migrate.care import probe as carry_out  # noqa: PLC0415

    if full:
        from holdover.migrate.care import probe_fully  # noqa: PLC0415

        found = probe_fully(target)
        _finish(
            "probe",
            report.FullProbe(found.as_dict()),
            found.text().splitlines(),
            int(bool(found.failed)),
            json=json,
        )
    done = carry_out(target)
    _finish("probe", done, report.probe_lines(done), int(bool(done.failed)), json=json)


@app.command(
    epilog=_examples(
        "holdover sweep sqlite:///memory.db", "holdover sweep env:NEW_POSTGRES --json"
    )
)
@_guarded
def sweep(target: Target, json: Json = False) -> None:
    """Remove expired items.

    Answers: what does the store still hold whose lifetime is over? Nothing reads
    such items, but they take space.
    """
    from holdover.migrate import report  # noqa: PLC0415
    from holdover.migrate.care import sweep as carry_out  # noqa: PLC0415

    done = carry_out(target)
    _finish("sweep", done, report.sweep_lines(done), 0, json=json)


@app.command(
    epilog=_examples(
        "holdover forget sqlite:///memory.db --session ana@example.com",
        "holdover forget env:NEW_POSTGRES --session 42 --entity 'New York'",
    )
)
@_guarded
def forget(
    target: Target,
    session: Annotated[str, typer.Option(metavar="ID", help="The raw session id.")],
    entity: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this entity.")
    ] = None,
    root: Annotated[
        str, typer.Option(metavar="NAME", help="Classic table_name or key_prefix.")
    ] = "memory_store",
    template: Template = "{root}/{session}",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Json = False,
) -> None:
    """Erase a session or an entity, and stop it from coming back.

    Answers: how do I honour a request to be forgotten? The journal is erased too;
    what cannot be reached from here is listed.
    """
    from holdover.migrate import report  # noqa: PLC0415
    from holdover.migrate.care import forget as carry_out  # noqa: PLC0415

    if not yes and sys.stdin.isatty():
        typer.confirm("This cannot be undone. Erase?", abort=True, err=True)
    done = carry_out(target, session, entity=entity, root=root, template=template)
    _finish("forget", done, report.forget_lines(done), 0, json=json)


@app.command(
    short_help="Rewrite old imports. Shows a diff; --write changes files.",
    epilog=_examples("holdover codemod src tests", "holdover codemod src --write"),
)
@_guarded_for_code
def codemod(
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATHS", help="Files, folders, or - for stdin."),
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Change the files.")] = False,
    check: Annotated[
        bool,
        typer.Option("--check", help="Only name the files to change, and count them."),
    ] = False,
    select: Annotated[
        list[str] | None,
        typer.Option(
            "--select",
            metavar="CODES",
            help="Only these rules: codes or how they begin, as HO1,HO301; repeatable.",
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option("--ignore", metavar="CODES", help="Not these; repeatable."),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            "--exclude",
            metavar="GLOB",
            help="Leave out files and folders of such a name or path; repeatable.",
        ),
    ] = None,
    from_report: Annotated[
        str | None,
        typer.Option(
            "--from-report",
            metavar="FILE",
            help="The files in a report of holdover exec; with PATHS, those in them.",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            show_default=False,
            help="Processes. Default: one a core.",
        ),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the rules.")] = False,
    explain: Annotated[
        str | None,
        typer.Option(
            "--explain", metavar="CODE", help="Show a rule: why, before and after."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Rewrite old imports. Shows a diff; --write changes files.

    Answers: what has to be written instead of imports and arguments of LangChain
    before 1.0? Python files, stubs and notebooks; the rest of a file stays to the
    byte. Stdout is a patch, or with --write and --check the names of files; what is
    left for a person is on stderr, and as a TODO in the file.

    Exit codes: 0 nothing to do, 1 changes needed or made, or places left for a
    person, 2 usage or files that failed, 130 interrupted.
    """
    from holdover.migrate.codemod import command, showing  # noqa: PLC0415
    from holdover.migrate.codemod.choosing import choose, rule_of  # noqa: PLC0415
    from holdover.migrate.codemod.rule import ALL  # noqa: PLC0415

    codes = choose(ALL, select or (), ignore or ())
    if list_ or explain:
        rules = [rule_of(ALL, explain)] if explain else [ALL[c] for c in sorted(codes)]
        if json:
            _print([showing.rules_as_json(rules)])
        else:
            _print(showing.explained(*rules) if explain else showing.listed(rules))
        return
    request = command.Request(
        tuple(paths or ()),
        codes,
        write=write,
        check=check,
        json=json,
        terminal=sys.stdout.isatty(),
        report=from_report or "",
        exclude=tuple(exclude or ()),
        jobs=jobs or 0,
    )
    out, err = (functools.partial(_say, one) for one in (sys.stdout, sys.stderr))
    exit_code = command.codemod(request, out, err)
    sys.stdout.flush()
    raise typer.Exit(exit_code)


@app.command(
    "exec",
    context_settings={"allow_interspersed_args": False},
    epilog=_examples(
        "holdover exec --report old.txt app.py --port 8000",
        "holdover exec -m pytest tests",
    ),
)
@_guarded_for_code
def exec_(
    script: Annotated[
        str,
        typer.Argument(
            metavar="SCRIPT",
            help="A file or folder, or - for stdin.",
            show_default=False,
        ),
    ],
    args: Annotated[
        list[str] | None,
        typer.Argument(metavar="ARGS", help="All its own, options included."),
    ] = None,
    module: Annotated[
        bool, typer.Option("-m", help="SCRIPT is the name of a module.")
    ] = False,
    code: Annotated[
        bool, typer.Option("-c", help="SCRIPT is the code itself.")
    ] = False,
    report: Annotated[
        str | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="Write what ran, as text, and as JSON beside it with the suffix .json "
            "(or the other way round).",
        ),
    ] = None,
    override: Annotated[
        bool,
        typer.Option(
            "--override", help="Classic memory classes that exist are replaced, too."
        ),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No warnings, and no closing line.")
    ] = False,
) -> None:
    """Run a script or module with the old imports working.

    Answers: does the old program still run on LangChain 1.x, and which old imports
    does it use? It runs as with python, and so do the processes it starts. Options
    of ours stand before SCRIPT. The exit code is that of the program, or 2 if there
    is no such script.
    """
    from holdover.migrate import execute  # noqa: PLC0415
    from holdover.migrate.errors import UsageError  # noqa: PLC0415

    if module and code:
        raise UsageError("Give -m or -c, not both.")
    kind = "module" if module else "code" if code else "script"
    program = execute.Program(script, tuple(args or ()), kind)
    if report is None:
        raise typer.Exit(execute.execute(program, override=override, quiet=quiet))
    done = execute.execute_and_report(program, report, override=override, quiet=quiet)
    if not quiet:
        _complain(done.summary)
    raise typer.Exit(done.exit_code)


def _command_line(*addresses: str) -> str:
    """This command as the ledger keeps it, without passwords."""
    import shlex  # noqa: PLC0415

    from holdover.compat.stores.address import redact_url  # noqa: PLC0415
    from holdover.migrate.ends import storable  # noqa: PLC0415

    # A session id may look like a login, and is needed as it is.
    words = [
        redact_url(word) if word in addresses or "://" in word else word
        for word in sys.argv[1:]
    ]
    return storable(shlex.join(["holdover", *words]))


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _open_what_is_closed() -> None:
    """Let streams that were closed for us (`>&-`) lead nowhere.

    Else the next file that is opened would get a stream's number, and what others
    print would go into it.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115
            setattr(sys, name, stream)


def main() -> None:
    """The console script: run a command and exit with its code."""
    _open_what_is_closed()
    signal.signal(signal.SIGTERM, _interrupt)
    app()


if __name__ == "__main__":
    main()
