"""A diff says what changed and little more; names are as tools read them."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdover.migrate.codemod import diffs
from holdover.migrate.codemod.naming import in_patch, plain, short

LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"\n", b"\r\n", b"-- x\n"]))
ENDS = st.sampled_from([b"", b"a", b"\xff"])
CONTENTS = st.builds(lambda lines, end: b"".join(lines) + end, LINES, ENDS)


def applied(patch, old):
    """The old content after a patch, whose every line must be right."""
    before = re.findall(rb"[^\n]*\n|[^\n]+", old)
    lines = patch.split(b"\n")[2:-1]
    after, at = [], 0
    for number, line in enumerate(lines):
        if line.startswith(b"@@"):
            start, count = re.match(rb"@@ -(\d+)(?:,(\d+))? ", line).groups()
            start = int(start) - (count != b"0")
            after += before[at:start]
            at = start
            continue
        if line.startswith(b"\\"):
            continue
        unended = lines[number + 1 : number + 2] == [rb"\ No newline at end of file"]
        text = line[1:] + (b"" if unended else b"\n")
        if line[:1] in b" -":
            assert before[at] == text
            at += 1
        if line[:1] in b" +":
            after.append(text)
    return b"".join([*after, *before[at:]])


@given(CONTENTS, CONTENTS)
def test_a_diff_leads_from_the_old_to_the_new(old, new):
    patch = diffs.of_bytes("a.py", old, new)
    assert bool(patch) is (old != new)
    assert applied(patch, old) == new


@given(CONTENTS, CONTENTS)
def test_a_rough_diff_does_so_too(old, new):
    most = diffs._MOST  # no example has that many lines
    diffs._MOST = 3
    try:
        assert applied(diffs.of_bytes("a.py", old, new), old) == new
    finally:
        diffs._MOST = most


@given(st.lists(st.sampled_from("ab\n"), max_size=30).map("".join), st.data())
def test_one_line_is_one_line_however_often_others_occur(text, data):
    lines = [f"{line}\n" for line in text.split("\n") * 20]
    at = data.draw(st.sampled_from(range(len(lines))))
    after = [*lines[:at], "new\n", *lines[at + 1 :]]
    patch = diffs.of_texts("a.py", "".join(lines), "".join(after))
    changed = [line for line in patch.split("\n")[3:] if line[:1] in {"+", "-"}]
    assert changed == ["-" + lines[at][:-1], "+new"]


def test_large_files_do_not_take_long():
    old = (b"x = 1\n\n" * 50 + b"y\n") * 600
    new = old.replace(b"y\n", b"z\n", 250)
    many = old.replace(b"y\n", b"z\n")
    began = time.monotonic()
    assert diffs.of_bytes("a.py", old, new).count(b"\n@@ ") == 250
    assert applied(diffs.of_bytes("a.py", old, many), old) == many
    assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("a.py", b"a.py"),
        ("./a//b/./c.py", b"a/b/c.py"),
        ("a b.py", b"a b.py\t"),
        ("ä.py", "ä.py".encode()),
        (" a.py", b'" a.py"'),
        ("a.py ", b'"a.py "'),
        ("a\nb\t\x01.py", rb'"a\nb\t\001.py"'),
        ('"\\', rb'"\"\\"'),
        ("a \udcff ä", rb'"a \377 \303\244"'),
        ("\x7f", rb'"\177"'),
    ],
)
def test_names_in_a_patch_are_as_git_writes_them(path, shown):
    assert in_patch(path) == shown


@pytest.mark.parametrize(
    ("path", "shown"),
    [("ä b.py", "ä b.py"), ("a\n\x1b\x9b\u2028", r"a\n\x1b\x9b\u2028")],
)
def test_names_for_a_reader_are_one_line(path, shown):
    assert plain(path) == short(path) == shown
    assert len(short(path * 1_000)) < 300
