"""Files of the corpus, damaged at random: read, or refused in a sentence."""

from __future__ import annotations

import random
import shutil

import pytest
from sampling import EVERYTHING
from vector_corpus import CHROMA, HELD, read

from holdover.migrate.errors import SourceError

ROUNDS = 400 if EVERYTHING else 8
#: Every file of every form, once; all releases of them with everything.
FORMS = {}
for _held in HELD:
    FORMS[_held.release if EVERYTHING else "", _held.name] = _held.path
for _path, _said in CHROMA:
    FORMS[_said["release"], "chroma"] = _path
FILES = [
    pytest.param(path, file.relative_to(path) if path.is_dir() else None, id=name)
    for (release, form), path in FORMS.items()
    for file in (sorted(path.rglob("*")) if path.is_dir() else [path])
    if file.is_file() and file.name != "link_lists.bin"
    for name in [f"{release}-{form}-{file.name}"]
]


def flipped(raw, chance):
    changed = bytearray(raw)
    for _ in range(chance.choice([1, 1, 2, 8, 64])):
        at = chance.randrange(len(changed))
        changed[at] ^= 1 << chance.randrange(8)
    return bytes(changed)


def cut(raw, chance):
    return raw[: chance.randrange(len(raw))]


def without_a_part(raw, chance):
    start = chance.randrange(len(raw))
    return raw[:start] + raw[start + chance.randrange(1, 200) :]


def with_a_part_twice(raw, chance):
    start = chance.randrange(len(raw))
    end = start + chance.randrange(1, 2_000)
    return raw[:end] + raw[start:end] + raw[end:]


def with_junk(raw, chance):
    start = chance.randrange(len(raw))
    junk = chance.choice([b"\x00", b"\xff", b"[", b"{", b'"', b"9", b"(", b"\x80\x04"])
    return raw[:start] + junk * chance.randrange(1, 3_000) + raw[start:]


def overwritten(raw, chance):
    start = chance.randrange(len(raw))
    length = chance.randrange(1, 64)
    return raw[:start] + chance.randbytes(length) + raw[start + length :]


def in_another_encoding(raw, chance):
    text = raw.decode("utf-8", "replace")
    return text.encode(chance.choice(["utf-16", "utf-8-sig", "utf-7"]), "replace")


def of_another_file(raw, chance):
    path, inner = chance.choice(FILES).values[:2]
    return (path / inner if inner else path).read_bytes()


DAMAGES = (
    flipped,
    flipped,
    cut,
    without_a_part,
    with_a_part_twice,
    with_junk,
    overwritten,
    in_another_encoding,
    of_another_file,
)


@pytest.mark.parametrize(("path", "inner"), FILES)
def test_read_or_refused(path, inner, tmp_path, request):
    chance = random.Random(request.node.name)
    source = tmp_path / path.name
    outcomes = set()
    for _ in range(ROUNDS):
        if source.is_dir():
            shutil.rmtree(source)
        if path.is_dir():
            shutil.copytree(path, source)
        target = source / inner if inner else source
        raw = (path / inner if inner else path).read_bytes()
        damaged = chance.choice(DAMAGES)(raw, chance)
        target.write_bytes(damaged)
        said, texts = "", []
        try:
            # It checks that what is held is what is read, rejected or skipped.
            texts = read(source).texts
        except SourceError as error:
            said = str(error)
        assert "\n" not in said
        assert all(isinstance(text, str) and text.strip() for text in texts)
        outcomes.add(bool(said))
        assert target.read_bytes() == damaged
    assert outcomes
