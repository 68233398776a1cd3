"""Which files are found, how their bytes become text, and how they are written."""

import codecs
import os
import stat
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdover.migrate.codemod import contents, writing
from holdover.migrate.codemod.files import find, package_of
from holdover.migrate.codemod.outcome import Untouchable
from holdover.migrate.errors import UsageError

as_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may do everything"
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


def plant(*names):
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text("x = 1\n")


def found(*paths, **options):
    return [path.replace(os.sep, "/") for path in find(paths, **options)]


def test_sources_are_found_in_one_order():
    plant("b.py", "a/z.pyi", "a/b/c.ipynb", "a.txt", "a/b.pyc", "Makefile", "c.PY")
    assert found(".") == ["a/b/c.ipynb", "a/z.pyi", "b.py"]
    assert found("a") == ["a/b/c.ipynb", "a/z.pyi"]


@pytest.mark.parametrize(
    "name",
    [
        *(".git", ".tox", ".nox", ".mypy_cache", ".venv", ".hidden"),
        *("venv", "node_modules", "__pycache__", "site-packages", "build", "dist"),
    ],
)
def test_folders_of_others_are_left_out_unless_named(name):
    plant("ours.py", f"sub/{name}/deep/theirs.py")
    assert found(".") == ["ours.py"]
    assert found(f"sub/{name}") == [f"sub/{name}/deep/theirs.py"]
    assert found(f"sub/{name}/deep/theirs.py") == [f"sub/{name}/deep/theirs.py"]


def test_folders_may_be_deeper_than_the_stack(folder):
    here = folder
    for _ in range(1_200):
        os.mkdir("d")  # noqa: PTH102 - such a path is too long for one call
        os.chdir("d")
    Path("a.py").touch()
    os.chdir(here)
    try:
        assert found(".") == ["d/" * 1_200 + "a.py"]
        assert package_of(found(".")[0]) == ""
    finally:
        # Who cleans up after us may not be able to.
        Path("d/" * 1_200 + "a.py").unlink()
        os.removedirs("d/" * 1_200)


def test_an_environment_of_any_name_is_left_out():
    plant("env311/lib/a.py", "ours.py")
    Path("env311/pyvenv.cfg").touch()
    assert found(".") == ["ours.py"]


def test_a_named_file_is_taken_whatever_it_is_called():
    plant("bin/start", "notes.txt", ".hidden.py")
    names = ["bin/start", "notes.txt", ".hidden.py"]
    assert found(*names) == names


@pytest.mark.parametrize(
    ("glob", "left"),
    [
        ("b.py", ["a/c.py"]),
        ("a", ["b.py"]),
        ("a/", ["b.py"]),
        ("*/b.py", ["a/c.py", "b.py"]),
        ("a/*", ["b.py"]),
        ("[bc].py", []),
        ("nothing", ["a/b.py", "a/c.py", "b.py"]),
    ],
)
def test_what_is_excluded(glob, left):
    plant("a/b.py", "a/c.py", "b.py")
    assert found(".", exclude=[glob]) == left


def test_exclude_beats_a_named_file():
    plant("a.py", "b.py")
    assert found("a.py", "b.py", exclude=["b.*"]) == ["a.py"]


def test_each_file_once_however_often_it_is_named():
    plant("a/b.py", "c.py")
    assert found("a", ".", "a/b.py", "./c.py") == ["a/b.py", "c.py"]


def test_two_names_of_one_file_are_one():
    plant("a.py")
    os.link("a.py", "b.py")
    assert found(".") == ["a.py"]


def test_links_in_a_folder_are_not_followed(tmp_path):
    plant("a/b.py", "../outside/c.py")
    Path("a/up").symlink_to("..")
    Path("a/out").symlink_to(tmp_path / "outside")
    Path("a/c.py").symlink_to("../../outside/c.py")
    Path("a/gone.py").symlink_to("nowhere")
    assert found(".") == ["a/b.py"]


def test_a_named_link_is_followed(tmp_path):
    plant("../outside/c.py", "real.py")
    Path("out").symlink_to(tmp_path / "outside")
    Path("link.py").symlink_to("real.py")
    assert found("out", "link.py") == ["out/c.py", "link.py"]


@pytest.mark.parametrize("path", ["missing", "missing.py", "link.py"])
def test_a_path_that_is_not_there_is_refused_before_anything(path):
    plant("a.py")
    Path("link.py").symlink_to("nowhere")
    with pytest.raises(UsageError, match=path):
        find(["a.py", path])


@as_root
def test_a_folder_that_cannot_be_listed_is_told():
    plant("a/b.py", "c.py")
    Path("a").chmod(0)
    told = []
    try:
        assert found(".", complain=lambda *one: told.append(one)) == ["c.py"]
    finally:
        Path("a").chmod(0o755)
    ((path, reason),) = told
    assert path.endswith("a")
    assert "cannot be listed" in reason


@pytest.mark.parametrize(
    ("path", "package"),
    [
        ("top/mid/leaf.py", "top.mid"),
        ("top/mid/__init__.py", "top.mid.__init__"),
        ("top/__init__.py", "top.__init__"),
        ("top/loose/leaf.py", ""),
        ("leaf.py", ""),
        ("typed/leaf.pyi", "typed"),
    ],
)
def test_the_package_of_a_file(path, package):
    plant("top/__init__.py", "top/mid/__init__.py", "top/mid/leaf.py", "leaf.py")
    plant("top/loose/leaf.py", "typed/__init__.pyi", "typed/leaf.pyi")
    assert package_of(path) == package


# -- bytes to text

NEWLINES = st.sampled_from(["\n", "\r\n", "\r", "\n\n", "\f\n", "\t", " ", "\v"])
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
TEXTS = st.lists(st.one_of(NEWLINES, WORDS)).map("".join)


@given(TEXTS, st.booleans(), st.sampled_from(["", "utf-8", "latin-1", "cp1252"]))
def test_text_comes_out_as_it_went_in(text, bom, declared):
    head = f"# -*- coding: {declared} -*-\n" if declared else "\n\n"
    encoding = declared or "utf-8"
    if bom:
        encoding = "utf-8"
        head = "\n\n"
    text = (head + text).encode(encoding, "ignore").decode(encoding)
    data = codecs.BOM_UTF8 * bom + text.encode(encoding)
    held = contents.decode(data)
    assert held.text == text
    assert held.encoded(held.text) == data


@pytest.mark.parametrize(
    ("data", "said", "line"),
    [
        (b"a\nb = '\xff'\n", "utf-8", 2),
        (b"# coding: nonsense\n", "nonsense", 1),
        (codecs.BOM_UTF8 + b"# coding: latin-1\n", "utf-8", 1),
        ("import langchain".encode("utf-16"), "UTF-16", 0),
        (b"a\nb\0\n", "NUL", 2),
        (b"# coding: ascii\n\n\xc3\n", "ascii", 3),
        (b"# coding: rot13\n", "decoded", 0),
        (b"# coding: utf-7\n+AEEAQg-\n", "same to the byte", 0),
        (b"#" * (contents.LARGEST + 1), "larger", 0),
    ],
)
def test_what_cannot_be_text_says_why_and_where(tmp_path, data, said, line):
    path = tmp_path / "a.py"
    path.write_bytes(data)
    with pytest.raises(Untouchable, match=said) as caught:
        contents.decode(contents.read(str(path)))
    assert caught.value.line == line


def test_what_an_encoding_cannot_hold_is_refused():
    held = contents.decode(b"# coding: ascii\n")
    with pytest.raises(Untouchable, match="ascii"):
        held.encoded("ä")


@pytest.mark.parametrize("before", [0, 1, 5, 9, 10, 11, 12, 19, 20, 21, 50])
@pytest.mark.parametrize("word", ["langchain", "langchai", "Langchain", "holdover"])
def test_the_filter_reads_in_pieces(tmp_path, monkeypatch, before, word):
    monkeypatch.setattr(contents, "_PIECE", 11)
    path = tmp_path / "a.py"
    path.write_bytes(b"#" * before + word.encode() + b"#" * 7)
    assert contents.mentions(str(path)) is (word in {"langchain", "holdover"})


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("word", ["langchain", "elsewhere"])
def test_the_filter_sees_wide_characters(tmp_path, encoding, word):
    bom = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}
    path = tmp_path / "a.py"
    path.write_bytes(bom[encoding] + f"import {word}".encode(encoding))
    assert contents.mentions(str(path)) is (word == "langchain")


@pytest.mark.parametrize("word", [b"", b"langchain"])
def test_a_large_file_is_never_held(tmp_path, word):
    import tracemalloc

    path = tmp_path / "a.py"
    with path.open("wb") as file:
        file.truncate(200_000_000)
        file.seek(0, os.SEEK_END)
        file.write(word)
    tracemalloc.start()
    try:
        assert contents.mentions(str(path)) is bool(word)
        with pytest.raises(Untouchable, match="larger"):
            contents.read(str(path))
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in the file system")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.py")
    assert contents.mentions(str(tmp_path / "a.py"))
    with pytest.raises(Untouchable, match="regular"):
        contents.read(str(tmp_path / "a.py"))


# -- writing


@pytest.fixture
def file(folder):
    path = folder / "a.py"
    path.write_bytes(b"old")
    return path


def replace(path, data=b"new!", was=b"old"):
    writing.replace(str(path), data, was=writing.digest(was))


@pytest.mark.parametrize("mode", [0o644, 0o755, 0o600, 0o664])
def test_a_file_keeps_its_mode(file, mode):
    file.chmod(mode)
    replace(file)
    assert file.read_bytes() == b"new!"
    assert stat.S_IMODE(file.stat().st_mode) == mode
    assert [one.name for one in file.parent.iterdir()] == ["a.py"]


def test_a_link_stays_a_link(file):
    link = file.with_name("link.py")
    link.symlink_to("a.py")
    replace(link)
    assert link.is_symlink()
    assert file.read_bytes() == b"new!"


def test_all_names_of_a_file_see_the_change(file):
    other = file.with_name("b.py")
    os.link(file, other)
    replace(file, b"n")
    assert other.read_bytes() == file.read_bytes() == b"n"
    assert file.stat().st_nlink == 2


def test_a_file_that_changed_is_left(file):
    with pytest.raises(Untouchable, match="meantime"):
        replace(file, was=b"older")
    assert file.read_bytes() == b"old"


def test_a_read_only_file_is_left_even_by_root(file):
    file.chmod(0o444)
    with pytest.raises(Untouchable, match="read-only"):
        replace(file)
    assert file.read_bytes() == b"old"


def test_a_file_that_is_gone_is_said(file):
    file.unlink()
    with pytest.raises(Untouchable, match="cannot be written"):
        replace(file)
    assert not list(file.parent.iterdir())


@pytest.mark.parametrize("links", [1, 2])
@pytest.mark.parametrize("error", [OSError(28, "No space left"), KeyboardInterrupt()])
def test_a_write_that_fails_leaves_the_old_file(file, monkeypatch, links, error):
    if links == 2:
        os.link(file, file.parent.parent / "b.py")
    asked = []

    def fsync(handle):
        asked.append(handle)
        if len(asked) == 1:
            raise error

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises((Untouchable, KeyboardInterrupt)):
        replace(file)
    assert asked
    assert file.read_bytes() == b"old"
    assert [one.name for one in file.parent.iterdir()] == ["a.py"]


@as_root
@pytest.mark.skipif(sys.platform == "win32", reason="no such rights")
def test_a_folder_that_takes_no_file_still_has_its_files_written(file):
    file.parent.chmod(0o555)
    try:
        replace(file)
    finally:
        file.parent.chmod(0o755)
    assert file.read_bytes() == b"new!"
