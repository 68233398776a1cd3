"""Damages what old releases left, and sees what a migration makes of it.

A seed decides everything: the file, what is done to it, how it is read. See
`tests/migrate/test_fuzz.py`, which runs many of them, and says how to run one.
"""

from __future__ import annotations

import faulthandler
import json
import os
import random
import resource
import shutil
import sqlite3
import sys
import tempfile
import traceback
from contextlib import closing, suppress
from functools import cache
from pathlib import Path

from moving import files_of

from holdover.migrate.errors import MigrateError
from holdover.migrate.options import Options
from holdover.migrate.run import migrate
from holdover.migrate.sources import open_source
from holdover.migrate.sources.base import ALL_KINDS, ReadOptions

FOLDERS = [
    Path(__file__).parent / "corpus",
    *map(Path, filter(None, os.environ.get("HOLDOVER_CORPUS", "").split(os.pathsep))),
]
#: What a seed may use: processor time, and memory beyond what Python has at its start.
SECONDS, MEMORY = 20, 2 << 30
#: Put into contents; it must not turn up in anything that is said.
MARKER = "qzx-of-a-content"
_LARGEST = 300_000


def splice_texts():
    """JSON values that nobody expects, as they stand in a file."""
    return [
        "null", "true", "-1", "0", "-0.0", "1e308", "1e999", "NaN", "-Infinity",
        "9223372036854775808", "18446744073709551616", "9" * 5_000, "1." + "3" * 5_000,
        '""', '" "', '"\\u0000"', '"\\ud800"', '"\\udc00x"', '"\\u202e\\ufeff"',
        json.dumps(MARKER), json.dumps(MARKER + "\x00"), json.dumps(MARKER * 9_000),
        json.dumps(f"{MARKER}/../../etc"), json.dumps("🎉" * 30_000),
        "[]", "{}", "[null]", '{"": ""}', '[[], {}, [""]]', "[" + "0," * 9_999 + "0]",
        "[" * 5_000 + "]" * 5_000, '{"a":' * 5_000 + "1" + "}" * 5_000,
        "[" * 90 + "]" * 90, '{"a":' * 150 + "[]" + "}" * 150, "[" * 900, '{"a":' * 900,
        json.dumps({MARKER: MARKER}), json.dumps({MARKER + "\x00": 1}),
        json.dumps({"type": MARKER, "data": {"content": MARKER}}),
        json.dumps({"type": "human", "data": {"content": [{"text": MARKER}, 7, None]}}),
        json.dumps({"type": "human", "data": {"content": {"a": MARKER}, "id": 7}}),
        json.dumps({"lc": 1, "type": "constructor", "id": [], "kwargs": {}}),
        json.dumps({"lc": 1, "type": "not_implemented", "id": [MARKER], "repr": "x"}),
        json.dumps({"lc": 1, "type": "constructor", "id": [7], "kwargs": {MARKER: 7}}),
        json.dumps({"$oid": MARKER}), json.dumps({"S": MARKER}),
        '{"a": 1, "a": 2}', json.dumps("2023-13-45T99:99:99Z"),
        json.dumps("0001-01-01T00:00:00+23:59"),
        json.dumps("9999-12-31T23:59:59-23:59"),
        "1e18", "-62135596801", "253402300800",
    ]  # fmt: skip


SPLICES = splice_texts()


# Damages: of bytes, to bytes.


def flipped(raw, chance):
    changed = bytearray(raw)
    for _ in range(chance.choice([1, 1, 2, 8, 64])):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def cut(raw, chance):
    return raw[: chance.randrange(len(raw))]


def without_a_part(raw, chance):
    start = chance.randrange(len(raw))
    return raw[:start] + raw[start + chance.randrange(1, 2_000) :]


def with_a_part_twice(raw, chance):
    start = chance.randrange(len(raw))
    end = start + chance.choice([1, 16, 512, 4096, len(raw)])
    return raw[:end] + raw[start:end] + raw[end:]


def with_parts_swapped(raw, chance):
    size = chance.choice([16, 512, 1024, 4096])
    parts = [raw[at : at + size] for at in range(0, len(raw), size)]
    one, other = chance.randrange(len(parts)), chance.randrange(len(parts))
    parts[one], parts[other] = parts[other], parts[one]
    return b"".join(parts)


def zeroed(raw, chance):
    size = chance.choice([1, 16, 512, 4096])
    at = chance.randrange(len(raw)) // size * size
    return raw[:at] + bytes(min(size, len(raw) - at)) + raw[at + size :]


def with_junk(raw, chance):
    start = chance.randrange(len(raw))
    junk = chance.choice([
        b"\x00", b"\xff", b"[", b"{", b'"', b"9", b"(", b"\\", b" ", b"\n", b"\xed\xa0",
        b"\x80\x04", b"]", b"}", b",", b"-", b"e", b"\xef\xbb\xbf", b'{"a":',
    ])  # fmt: skip
    return raw[:start] + junk * chance.choice([1, 2, 100, 30_000]) + raw[start:]


def overwritten(raw, chance):
    start = chance.randrange(len(raw))
    junk = chance.randbytes(chance.randrange(1, 64))
    return raw[:start] + junk + raw[start + len(junk) :]


def with_another_number(raw, chance):
    """Lengths, counts and offsets of binary forms that are lies."""
    size = chance.choice([1, 2, 4, 8])
    order = chance.choice(["little", "big"])
    value = chance.choice([0, 1, 2 ** (8 * size) - 1, 2 ** (8 * size - 1), 255])
    at = chance.randrange(len(raw))
    return raw[:at] + value.to_bytes(size, order) + raw[at + size :]


def in_another_encoding(raw, chance):
    text = raw.decode("utf-8", "replace")
    names = ["utf-16", "utf-16-be", "utf-32", "utf-8-sig", "utf-7", "cp1252", "latin-1"]
    return text.encode(chance.choice(names), "replace")


def of_another_file(raw, chance):
    path, inner = chance.choice(units())
    return (path / inner if inner else path).read_bytes()


def zipped(raw, chance):
    import gzip

    return (
        flipped(gzip.compress(raw), chance)
        if chance.random() < 0.5
        else gzip.compress(raw)
    )


_TOKEN = "@@here@@"


def spliced(raw, chance):
    """JSON in which one value is another, or a JSON line of such a kind."""
    whole = raw.decode("utf-8", "surrogatepass")
    lines = whole.splitlines(keepends=True)
    try:
        changed = _spliced(json.loads(whole), chance)
    except ValueError:
        at = chance.randrange(len(lines))
        lines[at] = _spliced(json.loads(lines[at]), chance) + "\n"
        changed = "".join(lines)
    return changed.encode("utf-8", "surrogatepass")


def _spliced(value, chance):
    places = list(_places(value))
    if not places:
        return chance.choice(SPLICES)
    holder, name = chance.choice(places)
    if chance.random() < 0.2 and isinstance(holder, dict):
        if chance.random() < 0.5:
            del holder[name]
        else:
            holder[
                chance.choice([MARKER, "", "\x00", "type", "data", "id", "content"])
            ] = holder.pop(name)
        return json.dumps(value)
    holder[name] = _TOKEN
    return json.dumps(value).replace(json.dumps(_TOKEN), chance.choice(SPLICES))


def _places(value):
    todo = [value]
    while todo:
        one = todo.pop()
        inner = (
            one.items()
            if isinstance(one, dict)
            else enumerate(one)
            if isinstance(one, list)
            else ()
        )
        for name, held in inner:
            yield one, name
            todo.append(held)


def cells_changed(path, chance):
    """A SQLite file in which values are others, of other types, too."""
    with closing(sqlite3.connect(path)) as db, db:
        names = [
            name
            for (name,) in db.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table'"
            )
        ]
        for _ in range(chance.choice([1, 3])):
            table = chance.choice(names).replace('"', '""')
            columns = [
                row[1].replace('"', '""')
                for row in db.execute(f'PRAGMA table_info("{table}")')
            ]
            column = chance.choice(columns)
            rowids = [
                one for (one,) in db.execute(f'SELECT rowid FROM "{table}" LIMIT 100')
            ] or [1]
            text = chance.choice(SPLICES)
            try:
                value = json.loads(text)
            except (ValueError, RecursionError):
                value = text
            value = chance.choice(
                [text, value, text.encode("utf-8"), b"\xff\xfe" + text.encode("utf-8")]
            )
            if isinstance(value, str):
                value = value.encode("utf-8", "surrogatepass")
            as_text = (
                "CAST(? AS TEXT)"
                if isinstance(value, bytes) and chance.random() < 0.6
                else "?"
            )
            with suppress(sqlite3.Error, OverflowError):  # no such value there
                db.execute(
                    f'UPDATE OR REPLACE "{table}" SET "{column}" = {as_text}'
                    " WHERE rowid = ?",
                    (value, chance.choice(rowids)),
                )


_BYTES = [
    flipped, flipped, cut, without_a_part, with_a_part_twice, with_parts_swapped,
    zeroed, with_junk, overwritten, with_another_number, in_another_encoding,
    of_another_file, zipped,
]  # fmt: skip


def damage(path, chance):
    """Damage a file in one way or two; tell in which."""
    done = []
    raw = path.read_bytes()
    if raw.startswith(b"SQLite format 3\x00") and chance.random() < 0.5:
        try:
            cells_changed(path, chance)
            done.append("cells_changed")
        except (sqlite3.Error, IndexError):
            path.write_bytes(raw)
    elif raw[:1] in (b"[", b"{") and chance.random() < 0.6:
        try:
            path.write_bytes(spliced(raw, chance))
            done.append("spliced")
        except (ValueError, IndexError, RecursionError):
            pass
    while not done or chance.random() < 0.2:
        way = chance.choice(_BYTES)
        path.write_bytes(way(path.read_bytes() or b"\x00", chance))
        done.append(way.__name__)
    return done


@cache
def units():
    """What may be opened, with the file in it that is damaged."""
    found = []
    for folder in FOLDERS:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.stat().st_size <= _LARGEST:
                whole = _whole(path)
                found.append(
                    (whole, path.relative_to(whole) if whole != path else None)
                )
    return found


def _whole(path):
    """The folder that a file is no more than a part of."""
    for parent in path.parents:
        if parent.name in ("chroma", "faiss"):
            return parent
    if path.suffix in (".db-wal", ".db-shm", ".db-journal"):
        return path.parent
    return path


@cache
def forms():
    """The units of each form, so that a rare form is damaged as often as a common."""
    found = {}
    for path, inner in units():
        file = inner or Path(path.name)
        kind = path.parent.name if not inner else path.name + file.suffix
        found.setdefault((kind, file.suffix), []).append((path, inner))
    return found


def options_of(chance):
    """How to read it: mostly as the command does by itself."""
    some = ReadOptions(roles=chance.choice(["refuse", "alternate"]))
    if chance.random() < 0.3:
        some = ReadOptions(
            kinds=frozenset(chance.sample(sorted(ALL_KINDS), chance.randint(1, 4)))
            if chance.random() < 0.4
            else ALL_KINDS,
            roles=some.roles,
            ambiguous=chance.choice(["fail", "first", "last", "reject"]),
            sample=chance.choice([1.0, 1.0, 0.3]),
            fields=chance.choice([(), (("session", "source"),)]),
        )
    return some


def messages(seed, count):
    """Rows of a history as a server may hold them: some good, some not."""
    chance = random.Random(seed)
    good = {
        "type": "ai",
        "data": {
            "content": MARKER,
            "additional_kwargs": {"tool_calls": [{"id": "c", "type": "function"}]},
            "response_metadata": {"usage": 7},
            "id": "a",
            "example": False,
        },
    }
    for at in range(count):
        raw = json.dumps({**good, "at": at}).encode()
        way = chance.choice([None, spliced, spliced, spliced, *_BYTES])
        if way is not None and way is not of_another_file:
            raw = way(raw, chance)
        yield chance.choice(SPLICES).encode() if chance.random() < 0.1 else raw


class Fault(Exception):
    """What must not be."""


def prose(found):
    """Everything an inventory says in words."""
    yield from found.notes
    yield from found.never_stored
    for one in found.skipped:
        yield one.why
    for one in found.blockers:
        yield f"{one.message} {one.fix}"


def check_said(text, secrets=(MARKER,)):
    """A sentence, and nothing of a content in it."""
    if "\n" in text.strip() or len(text) > 1_000:
        raise Fault(f"no sentence: {text[:300]!r}")
    for secret in secrets:
        if secret in text:
            raise Fault(f"it quotes a content: {text[:300]!r}")


def read_whole(address, options, chance):
    """Read a source in every way; what it gives has to fit together."""
    with closing(open_source(address, options)) as source:
        found = source.inventory(others=chance.random() < 0.5)
        for text in prose(found):
            check_said(text, () if text.startswith("Not in the files") else (MARKER,))
        items, rejects = 0, 0
        size = chance.choice([1, 3, 10_000])
        for partition in source.partitions():
            there, cursors = [], []
            for batch in source.read(partition, size=size):
                if len(batch.items) > size + 1_000:
                    raise Fault(f"a batch of {len(batch.items)}")
                there += batch.items
                cursors.append((batch.cursor, len(there)))
                rejects += len(batch.rejects)
                for reject in batch.rejects:
                    check_said(reject.detail)
                    if not reject.reason or not reject.locator:
                        raise Fault(f"no reason: {reject}")
            items += len(there)
            check_resumed(source, partition, there, cursors, chance)
            keys = [item for some in source.keys(partition, size=size) for item in some]
            if not set(map(place_of, there)) <= set(map(place_of, keys)):
                raise Fault("what is read is not among the keys")
        promised = sum(group.items for group in found.groups)
        promised += sum(found.rejects.values())
        # Names and sizes alone do not show every reject.
        if promised != items + rejects:
            raise Fault(f"promised {promised}, gave {items} and {rejects} rejects")
        return items, rejects


def place_of(item):
    return item.root, item.session, item.key, item.position


def open_files():
    return list(map(str, Path("/proc/self/fd").iterdir()))


def links_of_open_files():
    """What is open in this process, by name."""
    for one in open_files():
        with suppress(OSError):
            yield str(Path(one).readlink())


def check_resumed(source, partition, there, cursors, chance):
    """From behind a cursor, the rest follows."""
    cursors = [one for one in cursors if one[0] is not None]
    if not cursors:
        return
    cursor, number = chance.choice(cursors)
    cursor = json.loads(json.dumps(cursor))
    rest = [item for batch in source.read(partition, cursor) for item in batch.items]
    places = [one.locator for one in rest]
    wanted = [one.locator for one in there[number:]]
    # What is read in whole sessions begins with the one it is in.
    if places[len(places) - len(wanted) :] != wanted:
        raise Fault(f"resumed at {number} of {len(there)}: {len(rest)} follow")


def move(address, folder, options):
    """A whole migration into a file, twice; it arrives or is listed."""
    target = f"sqlite:///{folder / 'target.db'}"
    listed = folder / "rejects.jsonl"
    asked = Options(read=options, rejects_file=str(listed))
    for again in (False, True):
        report = migrate(address, target, asked)
        if report.plan.blockers:
            return "blocked"
        if report.copy is None or report.verify is None:
            return "nothing"
        if not report.verify.clean:
            raise Fault(f"what was just copied is not the same: {report.verify}")
        if again and report.copy.written:
            raise Fault(f"written again: {report.copy}")
        if not again and report.copy.rejects:
            for line in listed.read_text("utf-8").splitlines():
                check_said(json.loads(line)["detail"])
    return "moved"


def run(seed, folder):
    """Carry out a seed in an empty folder; tell what became of it."""
    chance = random.Random(seed)
    kind = chance.choice(sorted(forms()))
    path, inner = chance.choice(forms()[kind])
    place = folder / "old" / path.name
    place.parent.mkdir()
    copied = shutil.copytree if path.is_dir() else shutil.copyfile
    copied(path, place)
    done = damage(place / inner if inner else place, chance)
    if chance.random() < 0.1 and place.is_file():
        place = place.rename(
            place.with_suffix(
                chance.choice([".json", ".pkl", ".db", ".jsonl", ".gml", ""])
            )
        )
    address = str(place.parent if chance.random() < 0.1 else place)
    if chance.random() < 0.1 and place.is_file():
        address = f"{chance.choice(['file', 'sqlite'])}://{place}".replace(
            "sqlite://", "sqlite:///"
        )
    options = options_of(chance)
    before = files_of(folder / "old")
    what = "/".join([*path.parts[-3:], str(inner or "")]).rstrip("/")
    what = f"{what} {'+'.join(done)}"
    temporary = folder / "temporary"
    temporary.mkdir()
    tempfile.tempdir = str(temporary)
    open_before = len(open_files())
    outcome = []
    for step in [read_whole, move] if chance.random() < 0.3 else [read_whole]:
        try:
            given = (
                (address, options, chance)
                if step is read_whole
                else (address, folder, options)
            )
            outcome.append(str(step(*given)))
        except MigrateError as error:
            check_said(str(error))
            check_said(error.hint or "")
            outcome.append(type(error).__name__)
        except Fault as fault:
            raise Fault(f"{what} as {address}: {fault}") from None
        except Exception as error:  # whatever it is, it is the finding
            raise Fault(f"{what} as {address}: {traceback.format_exc()}") from error
    if files_of(folder / "old") != before:
        raise Fault(f"{what}: something of the source changed")
    if left := [str(one) for one in temporary.rglob("*")]:
        raise Fault(f"{what}: left behind: {left}")
    if len(open_files()) > open_before + 2:
        raise Fault(f"{what}: files stay open: {open_files()}")
    return f"{what}: {', '.join(outcome)}"


def read_or_say(address):
    """Read what lies there, or hear why not."""
    try:
        return read_whole(address, ReadOptions(), random.Random(address))
    except MigrateError as error:
        check_said(str(error))
        return type(error).__name__


def main(first, count):
    """Carry out seeds, a line for each; the system ends one that takes too much."""
    faulthandler.enable()
    faulthandler.register(__import__("signal").SIGXCPU, chain=True)
    in_use = (
        int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    )
    resource.setrlimit(resource.RLIMIT_AS, (in_use + MEMORY, resource.RLIM_INFINITY))
    for seed in range(first, first + count):
        used = resource.getrusage(resource.RUSAGE_SELF)
        most = int(used.ru_utime + used.ru_stime) + SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))
        print("begin", seed, flush=True)
        with tempfile.TemporaryDirectory(
            dir=os.environ.get("HOLDOVER_FUZZ_FOLDER")
        ) as name:
            try:
                print("done", seed, ascii(run(seed, Path(name))), flush=True)
            except Fault as fault:
                print("FAULT", seed, ascii(str(fault)), flush=True)
        tempfile.tempdir = None


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
