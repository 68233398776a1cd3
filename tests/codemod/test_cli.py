"""`holdover codemod`: what it prints, where, its exit codes, and what it writes."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import mortal
import pytest
from typer.testing import CliRunner

from holdover.migrate.cli import app
from holdover.migrate.codemod import files, running, source, writing
from holdover.migrate.codemod.rule import ALL

OLD = "from langchain.memory import ConversationBufferMemory\n"
NEW = "from holdover.compat import ConversationBufferMemory\n"
REVIEWED = "from langchain.chat_models import ChatOpenAI\n"
GONE = "from langchain.agents.agent import asyncio_timeout\n"
PLAIN = "import langchain_core\nprint('langchain')\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


@pytest.fixture
def codemod():
    """The command in this process."""

    def invoke(*arguments, typed=None):
        return CliRunner().invoke(app, ["codemod", *arguments], input=typed)

    return invoke


def start(*arguments, **options):
    """The real command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "holdover.migrate.cli", "codemod", *arguments],
        **{"stdin": subprocess.DEVNULL, "stdout": -1, "stderr": -1, **options},
    )


def run(*arguments, **options):
    with start(*arguments, text=True, **options) as going:
        out, err = going.communicate(timeout=120)
    return SimpleNamespace(stdout=out, stderr=err, exit_code=going.returncode)


def write(**contents):
    for name, content in contents.items():
        path = Path(name.replace("__", "/")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content if isinstance(content, bytes) else content.encode()
        path.write_bytes(data)


def tree():
    return {str(p): p.read_bytes() for p in Path().rglob("*") if p.is_file()}


# -- what is shown


def test_a_diff_is_shown_and_nothing_written(codemod):
    write(a=OLD + "x = 1\n", sub__b="import os\n" + OLD, c=PLAIN)
    before = tree()
    shown = codemod(".")
    assert shown.exit_code == 1
    assert shown.stdout == (
        f"--- a.py\n+++ a.py\n@@ -1,2 +1,2 @@\n-{OLD}+{NEW} x = 1\n"
        f"--- sub/b.py\n+++ sub/b.py\n@@ -1,2 +1,2 @@\n import os\n-{OLD}+{NEW}"
    )
    assert shown.stderr == (
        "2 files would change, of 3.\nRun it again with --write to change them.\n"
    )
    assert tree() == before


def mixed_tree():
    """Files of every kind and name that the system takes; and their names."""
    cell = {"cell_type": "code", "source": [OLD, "x = 'ä'"], "outputs": []}
    document = {"cells": [cell, cell], "metadata": {}, "nbformat": 4}
    contents = {
        "plain.py": OLD,
        "sub folder/a name.py": OLD + "x = 1\n",
        "bom.py": "\ufeff" + OLD,
        "bom_below.py": "\ufeff" + "x = 1\n" * 20 + OLD,
        "latin.py": f"# coding: latin-1\n{OLD.strip()}  # é\n".encode("latin-1"),
        "arrow.py": OLD + "x = '→'\n",
        "crlf.py": OLD.replace("\n", "\r\n") + "x = 1\r\n",
        "mac.py": (OLD + "x = 1\n").replace("\n", "\r"),
        "unended.py": OLD.strip(),
        "same.py": "pass\n" * 300 + OLD + "pass\n" * 300,
        "todo.py": "x = 1\n" + GONE,
        "lines.ipynb": json.dumps(document, indent=1, ensure_ascii=False),
        "one line.ipynb": json.dumps(document),
    }
    odd = ["ä.py", " first.py", "last .py", "a\nb.py", 'a"b.py', "a\\b.py", "a\tb.py"]
    odd += ["\x1b[1m.py", os.fsdecode(b"\xff \xe4.py"), "--- a.py", "@.py", "'.py"]
    if os.name == "posix":
        contents |= dict.fromkeys(odd, OLD)
    for name, content in contents.items():
        Path(name).parent.mkdir(exist_ok=True)
        data = content if isinstance(content, bytes) else content.encode()
        Path(name).write_bytes(data)
    return set(contents)


@pytest.mark.parametrize("tool", ["patch", "git"])
def test_the_patch_of_a_mixed_tree_does_what_write_does(tool):
    if not shutil.which(tool):
        pytest.skip(f"no {tool} on the path")
    names = mixed_tree()
    before = tree()
    with start(".", env={**os.environ, "PYTHONIOENCODING": "ascii"}) as going:
        diff, err = going.communicate(timeout=120)
    assert going.returncode == 1, err
    words = ["patch", "-s", "-p0", "--binary"] if tool == "patch" else ["git", "apply"]
    words += ["-p0", "--whitespace=nowarn"] if tool == "git" else []
    subprocess.run(words, input=diff, check=True, capture_output=True)
    patched = tree()
    for name, data in before.items():
        Path(name).write_bytes(data)
    with start(".", "--write") as going:
        listed, err = going.communicate(timeout=120)
    assert going.returncode == 1, err
    written = tree()
    assert {name for name in before if before[name] != written[name]} == names
    assert patched == written
    assert listed == b"".join(os.fsencode(name) + b"\n" for name in sorted(names))


@pytest.mark.skipif(not shutil.which("patch"), reason="no patch on the path")
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_the_diff_is_a_patch_of_what_write_writes(codemod, end, last):
    text = ("x = 1\n" + OLD + "y = 'ä'\n\f\n" + OLD).replace("\n", end)
    write(a=text if last else text.removesuffix(end), b=OLD)
    with start(".") as going:
        diff = going.stdout.read()
    before = tree()
    subprocess.run(["patch", "-s", "-p0", "--binary"], input=diff, check=True)
    patched = tree()
    for name, data in before.items():
        Path(name).write_bytes(data)
    assert codemod(".", "--write").exit_code == 1
    assert tree() == patched != before


def test_write_writes_and_a_second_time_nothing(codemod, folder):
    write(a=OLD, b=PLAIN)
    shown = codemod(".", "--write")
    assert (shown.exit_code, shown.stdout) == (1, "a.py\n")
    assert shown.stderr == "1 file rewritten, of 2.\n"
    assert (folder / "a.py").read_text() == NEW
    assert (folder / "b.py").read_text() == PLAIN
    again = codemod(".", "--write")
    assert (again.exit_code, again.stdout) == (0, "")
    assert again.stderr == "0 files rewritten, of 2.\n"


def test_check_names_files_and_counts_them(codemod):
    write(a=OLD, b=PLAIN, c=GONE)
    before = tree()
    shown = codemod(".", "--check")
    assert (shown.exit_code, shown.stderr) == (1, "")
    assert shown.stdout == "a.py\nc.py\n2 files to change, of 3\n"
    assert tree() == before
    (clean,) = (codemod("b.py", "--check"),)
    assert (clean.exit_code, clean.stdout) == (0, "0 files to change, of 1\n")


def test_what_a_person_must_do_is_on_stderr(codemod):
    write(a=GONE, b=REVIEWED)
    shown = codemod(".")
    lines = shown.stderr.splitlines()
    assert re.match(
        r"a\.py:1: HO401 langchain\.agents\.agent\.asyncio_timeout", lines[0]
    )
    assert re.match(r"b\.py:1: HO205 to review: ", lines[1])
    assert "1 place is left for a person" in lines[2]
    assert "+# TODO(holdover HO401)" in shown.stdout
    written = codemod(".", "--write")
    assert written.exit_code == 1
    again = codemod(".", "--write")
    assert (again.exit_code, again.stdout) == (1, "")
    assert "a.py:2: HO401" in again.stderr


def test_nothing_to_do(codemod):
    write(a=PLAIN, b="", c="x = 1\n")
    shown = codemod(".")
    assert (shown.exit_code, shown.stdout) == (0, "")
    assert shown.stderr == "0 files would change, of 3.\n"


def test_json_of_files_and_findings(codemod):
    write(a=OLD, b=PLAIN, c=b"\xff" + OLD.encode(), d=GONE)
    for options, written in (((), False), (("--write",), True)):
        shown = codemod(".", "--json", *options)
        document = json.loads(shown.stdout)
        assert (document["schema"], document["command"]) == (1, "codemod")
        assert document["exit_code"] == shown.exit_code == 2
        a, c, d = document["files"]
        assert (a["path"], a["changed"], a["written"]) == ("a.py", True, written)
        (finding,) = a["findings"]
        assert (finding["code"], finding["line"], finding["fixed"]) == (
            "HO101",
            1,
            True,
        )
        assert finding["new"] == "holdover.compat.ConversationBufferMemory"
        assert c["failures"][0]["line"] == 1
        assert not d["findings"][0]["fixed"]
        counts = document["counts"]
        assert (counts["files"], counts["failed"], counts["left"]) == (4, 1, 1)
    assert json.loads(codemod("b.py", "--json").stdout)["files"] == []


@pytest.mark.parametrize("option", [[], ["--write"], ["--check"], ["--json"]])
def test_many_files_are_as_one_by_one(codemod, monkeypatch, option):
    """With and without other processes, down to the byte."""
    for number in range(60):
        write(
            **{
                f"p{number % 7}__m{number}": [OLD, PLAIN, b"\xff" + OLD.encode(), GONE][
                    number % 4
                ]
            }
        )
    before = tree()
    alone = codemod(".", "--jobs", "1", *option)
    alone_left = tree()
    for name, data in before.items():
        Path(name).write_bytes(data)
    together = codemod(".", "--jobs", "3", *option)
    assert together.stdout == alone.stdout
    assert together.stderr == alone.stderr
    assert together.exit_code == alone.exit_code == 2
    assert tree() == alone_left


SURROGATE = (
    r'{"cells": [{"cell_type": "code", "source": "# langchain\nprint(\"\ud83d\")"}]}'
)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_half_a_character_in_a_notebook_costs_that_notebook(codemod, folder, jobs):
    for number in range(20):
        write(**{f"m{number:02}": OLD})
    Path("half.ipynb").write_text(SURROGATE)
    shown = codemod(".", "--json", "--write", "--jobs", jobs)
    assert (shown.exit_code, shown.stderr) == (2, "")
    counts = json.loads(shown.stdout)["counts"]
    assert (counts["files"], counts["failed"], counts["written"]) == (21, 1, 20)


@pytest.mark.parametrize("error", [ZeroDivisionError("a\nb"), RecursionError()])
@pytest.mark.parametrize("option", [["--write"], ["--write", "--json"]])
def test_an_unforeseen_error_costs_one_file(codemod, monkeypatch, error, option):
    write(a=OLD, b=OLD + "x = 1\n", c=OLD)
    rewrite = source.rewrite

    def fail(text, **about):
        if "x = 1" in text:
            raise error
        return rewrite(text, **about)

    monkeypatch.setattr(source, "rewrite", fail)
    shown = codemod(".", *option)
    assert shown.exit_code == 2
    assert Path("c.py").read_text() == Path("a.py").read_text() == NEW
    said = [line for line in shown.stderr.splitlines() if "b.py" in line]
    if "--json" in option:
        said = [one["failures"][0]["reason"] for one in
                json.loads(shown.stdout)["files"] if one["path"] == "b.py"]  # fmt: skip
    assert len(said) == 1
    assert type(error).__name__ in said[0]
    assert "Traceback" not in shown.stderr
    assert codemod("-", typed=OLD + "x = 1\n").stdout == OLD + "x = 1\n"


def test_an_error_in_writing_costs_one_file(codemod, monkeypatch):
    write(a=OLD, b=OLD)
    replace = writing.replace

    def fail(path, data, *, was):
        if path == "a.py":
            raise ValueError(path)
        replace(path, data, was=was)

    monkeypatch.setattr(writing, "replace", fail)
    shown = codemod(".", "--write")
    assert (shown.exit_code, shown.stdout) == (2, "b.py\n")
    assert "ValueError" in shown.stderr


def test_an_error_of_the_whole_run_is_a_failure_and_json_stays_json(
    codemod, monkeypatch
):
    write(a=OLD, b=OLD)
    examine = running.examine

    def fail(path, wanted):
        if path == "b.py":
            raise MemoryError
        return examine(path, wanted)

    monkeypatch.setattr(running, "examine", fail)
    shown = codemod(".", "--json")
    assert shown.exit_code == 2
    assert "Traceback" in shown.stderr
    document = json.loads(shown.stdout)
    assert [one["path"] for one in document["files"]] == ["a.py"]
    assert document["exit_code"] == 2


def test_a_parser_that_ends_its_process_costs_one_file(codemod, folder, monkeypatch):
    for number in range(40):
        write(**{f"{'deadly' if number in (0, 17) else 'm'}{number:02}": OLD})
    monkeypatch.setattr(running, "examine", mortal.examine_or_die)
    shown = codemod(".", "--write", "--jobs", "2")
    assert shown.exit_code == 2
    assert shown.stderr == (
        "holdover: deadly00.py: ended the process that parsed it\n"
        "holdover: deadly17.py: ended the process that parsed it\n"
        "38 files rewritten, of 40; 2 files failed.\n"
    )
    assert {path.read_text() for path in folder.glob("m*.py")} == {NEW}
    assert {path.read_text() for path in folder.glob("deadly*.py")} == {OLD}


# -- rules


def test_rules_are_listed(codemod):
    lines = codemod("--list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == sorted(ALL)
    for line in lines:
        rule = ALL[line.split()[0]]
        assert line.endswith(rule.what)
        assert ("needs review" in line) is not rule.safe


def test_rules_as_json(codemod):
    document = json.loads(codemod("--list", "--json").stdout)
    assert {rule["code"] for rule in document["rules"]} == set(ALL)
    (one,) = json.loads(codemod("--explain", "ho101", "--json").stdout)["rules"]
    assert one["before"] == ALL["HO101"].before


@pytest.mark.parametrize("code", sorted(ALL))
def test_every_rule_is_explained(codemod, code):
    shown = codemod("--explain", code)
    assert shown.exit_code == 0
    flat = " ".join(shown.stdout.split())
    rule = ALL[code]
    for text in (code, rule.what, rule.why, rule.before, rule.after):
        assert " ".join(text.split()) in flat


@pytest.mark.parametrize(
    ("options", "codes"),
    [
        ([], {"HO101", "HO201", "HO301"}),
        (["--select", "HO101"], {"HO101"}),
        (["--select", "ho1"], {"HO101"}),
        (["--select", "HO101,HO2"], {"HO101", "HO201"}),
        (["--select", "HO101", "--select", "HO3"], {"HO101", "HO301"}),
        (["--ignore", "HO2"], {"HO101", "HO301"}),
        (["--select", "HO", "--ignore", "HO1, HO3"], {"HO201"}),
    ],
)
def test_rules_are_chosen(codemod, options, codes):
    sql = "from langchain_community.chat_message_histories import SQLChatMessageHistory"
    write(
        a=OLD,
        b="from langchain.schema import HumanMessage\n",
        c=f"{sql}\nSQLChatMessageHistory('s', connection_string='x')\n",
    )
    found = json.loads(codemod(".", "--json", *options).stdout)["files"]
    got = {one["code"] for file in found for one in file["findings"]}
    assert got - {"HO102"} == codes


# -- files


@pytest.mark.parametrize(
    "content",
    [
        "\ufeff" + OLD,
        f"# -*- coding: latin-1 -*-\n{OLD}x = 'é'\n".encode("latin-1"),
        f"# coding: cp1252\n{OLD}x = '€'\n".encode("cp1252"),
        (OLD + "x = 1\n").replace("\n", "\r\n"),
        OLD + "x = 1\r\ny = 2\n",
        "if True:\n\t" + OLD + "\tx = 1\n",
        OLD + "\f\nx = 1\n",
        OLD.removesuffix("\n"),
        "#!/usr/bin/env python\n" + OLD + "x = '\x85\u2028'  \n\n\n",
    ],
)
def test_the_rest_of_a_file_stays_to_the_byte(codemod, folder, content):
    data = content if isinstance(content, bytes) else content.encode()
    write(a=data)
    assert codemod("a.py", "--write").exit_code == 1
    expected = data.replace(OLD.strip().encode(), NEW.strip().encode())
    assert (folder / "a.py").read_bytes() == expected


FAULTY = {
    "not utf-8": (b"# langchain\nx = '\xff'\n", "a.py:2: is not utf-8"),
    "no such encoding": (b"# coding: nope langchain\n", "a.py:1: cannot be decoded"),
    "a NUL": (b"# langchain\n\0\n", "a.py:2: holds a NUL character"),
    "wide": (OLD.encode("utf-16"), "a.py: is UTF-16"),
    "Python 2": (OLD.encode() + b"print 'x'\n", "a.py:2: "),
    "deep": (OLD.encode() + b"x = " + b"(" * 5_000 + b")" * 5_000, "nested too deeply"),
    "deeper": (OLD.encode() + b"x = " + b"-" * 99_999 + b"1", "nested too deeply"),
    "large": (b"#" * 2_000_000 + OLD.encode(), "a.py: is larger than 1,000,000 bytes"),
}


@pytest.mark.parametrize("fault", FAULTY)
def test_a_file_that_fails_is_told_and_the_others_done(codemod, folder, fault):
    content, said = FAULTY[fault]
    write(a=content, b=OLD)
    shown = codemod(".", "--write")
    assert (shown.exit_code, shown.stdout) == (2, "b.py\n")
    complaint, closing = shown.stderr.splitlines()
    assert complaint.startswith("holdover: a.py")
    assert said in complaint
    assert closing == "1 file rewritten, of 2; 1 file failed."
    assert (folder / "a.py").read_bytes() == content
    assert (folder / "b.py").read_text() == NEW


@pytest.mark.parametrize("code", sorted(ALL))
def test_every_rule_changes_a_file_that_has_its_example(codemod, code):
    write(a=ALL[code].before)
    assert codemod("a.py", "--check", "--select", code).exit_code == 1


@pytest.mark.parametrize("comment", ["# holdover: ignore", "# holdover: ignore[HO401]"])
def test_what_is_ignored_is_done(codemod, comment):
    write(a=f"{GONE.strip()}  {comment}\n")
    assert codemod("a.py", "--check").exit_code == 0
    write(a=f"{GONE.strip()}  # holdover: ignore[HO101]\n")
    assert codemod("a.py", "--check").exit_code == 1


def test_a_file_that_names_neither_package_is_not_parsed(codemod):
    write(a=b"\xff\0 print 'x'", b="(" * 5_000, c="x" * 2_000_000)
    shown = codemod(".")
    assert (shown.exit_code, shown.stdout) == (0, "")


def test_a_read_only_file_is_left_and_told(codemod, folder):
    write(a=OLD, b=OLD)
    (folder / "a.py").chmod(0o444)
    assert codemod(".").exit_code == 1
    shown = codemod(".", "--write")
    assert (shown.exit_code, shown.stdout) == (2, "b.py\n")
    assert "holdover: a.py: is read-only; not written\n" in shown.stderr


def test_a_file_that_changes_under_way_is_left(codemod, folder, monkeypatch):
    write(a=OLD)
    examine = running.examine

    def slowly(path, wanted):
        outcome = examine(path, wanted)
        (folder / path).write_text(OLD + "# by somebody else\n")
        return outcome

    monkeypatch.setattr(running, "examine", slowly)
    shown = codemod("a.py", "--write")
    assert shown.exit_code == 2
    assert "changed in the meantime" in shown.stderr
    assert (folder / "a.py").read_text() == OLD + "# by somebody else\n"


def test_stubs_and_notebooks_are_taken(codemod, folder):
    source = [OLD, "m = ConversationBufferMemory()"]
    cell = {"cell_type": "code", "source": source, "outputs": [], "metadata": {}}
    text = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4}, indent=1)
    Path("a.ipynb").write_text(text)
    Path("b.pyi").write_text(OLD)
    shown = codemod(".")
    assert shown.stdout.startswith("--- a.ipynb\n+++ a.ipynb\n@@ ")
    shown = on_a_terminal(".", env={**os.environ, "NO_COLOR": "1"})
    assert shown.startswith(b"--- a.ipynb:cell 1\r\n+++ a.ipynb:cell 1\r\n@@ ")
    assert codemod(".", "--write").stdout == "a.ipynb\nb.pyi\n"
    assert Path("a.ipynb").read_text() == text.replace(OLD.strip(), NEW.strip())
    assert codemod(".").exit_code == 0


def test_names_go_from_cell_to_cell(codemod):
    texts = [
        "%pip install langchain\nfrom langchain.memory import *",
        "import langchain.memory as m, os",
        "!ls {os.getcwd()}\nprint('between')",
        "a = ConversationBufferMemory()\nb = m.CombinedMemory(memories=[a])",
        "%%bash\npython -c 'from langchain.memory import *'",
    ]
    cells = [{"cell_type": "code", "source": text} for text in texts]
    Path("a.ipynb").write_text(json.dumps({"cells": cells}))
    assert codemod(".", "--write").exit_code == 1
    after = [one["source"] for one in json.loads(Path("a.ipynb").read_text())["cells"]]
    assert (after[2], after[4]) == (texts[2], texts[4])
    assert after[0].startswith("%pip install langchain\n")
    code = "\n".join(after[at].replace("%pip", "#") for at in (0, 1, 3))
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nprint(type(a).__module__, type(b).__name__)"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "holdover.compat.buffer CombinedMemory\n", done.stderr + code
    assert codemod(".").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Give files or folders"),
        (["missing"], "missing: no such file or folder."),
        (["a.py", "missing.py"], "missing.py: no such file or folder."),
        (["a.py", "--select", "XY1"], "--select XY1: no such rule."),
        (["a.py", "--ignore", "HO999"], "--ignore HO999: no such rule."),
        (["a.py", "--select", "HO1,,"], "--select '': no such rule."),
        (["a.py", "--select", "HO1", "--ignore", "HO"], "leave no rule"),
        (["--explain", "HO999"], "--explain HO999: no such rule."),
        (["--from-report", "none.json"], "none.json: no such file."),
        (["--from-report", "a.py"], "a.py: not the JSON that holdover exec"),
        (["--from-report", "."], ".: a folder, not a report"),
        (["--from-report", "/"], "/: a folder, not a report"),
        (["--from-report", "n" * 5_000], "nn: no such file."),
        (["n" * 5_000], "nn: no such file or folder."),
        (["-", "a.py"], "- stands alone"),
        (["-", "--write"], "- stands alone"),
        (["a.py", "--write", "--check"], "Give --write or --check, not both."),
    ],
)
def test_usage_is_one_sentence(codemod, arguments, said):
    write(a=OLD)
    shown = codemod(*arguments)
    assert (shown.exit_code, shown.stdout) == (2, "")
    assert shown.stderr.startswith("holdover: ")
    assert said in shown.stderr
    assert shown.stderr.count("\n") == 1
    assert len(shown.stderr) < 400
    assert tree() == {"a.py": OLD.encode()}


@pytest.mark.parametrize("option", [["--jobs", "-1"], ["--jobs", "x"], ["--nothing"]])
def test_options_that_are_none(codemod, option):
    assert codemod(".", *option).exit_code == 2


# -- stdin


def test_stdin_goes_to_stdout():
    content = f"# -*- coding: latin-1 -*-\r\n{OLD}x = 'é'\r\n".encode("latin-1")
    with start("-", stdin=subprocess.PIPE) as going:
        out, err = going.communicate(content, timeout=60)
    assert (going.returncode, err) == (1, b"")
    assert out == content.replace(OLD.encode(), NEW.encode())


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [(b"x = 1\0\xff", 0, ""), (b"# langchain\nx = '\xff'", 2, "-:2: is not utf-8")],
)
def test_stdin_comes_out_unchanged(content, code, said):
    with start("-", stdin=subprocess.PIPE) as going:
        out, err = going.communicate(content, timeout=60)
    assert (going.returncode, out) == (code, content)
    assert said in err.decode()


def test_stdin_is_checked(codemod):
    shown = codemod("-", "--check", typed=OLD)
    assert (shown.exit_code, shown.stdout) == (1, "-\n1 file to change, of 1\n")
    assert json.loads(codemod("-", "--json", typed=OLD).stdout)["files"][0]["changed"]


# -- from a report


def use_of(path, line=1):
    return {
        "old": "langchain.memory.ConversationBufferMemory",
        "new": "holdover.compat.ConversationBufferMemory",
        "code": "HO101", "file": str(path), "line": line, "kind": "moved", "why": "",
    }  # fmt: skip


@pytest.fixture
def report(folder):
    def make(*paths, name="old.json"):
        uses = [use_of(path) for path in paths]
        Path(name).write_text(json.dumps({"version": 1, "uses": uses}))
        return name

    return make


def test_a_report_names_the_files(codemod, folder, report):
    write(a=OLD, b=OLD, sub__c=OLD, lib__site_packages__d=OLD)
    (folder / "lib" / "site_packages").rename(folder / "lib" / "site-packages")
    listed = [folder / "a.py", folder / "a.py", folder / "sub" / "c.py"]
    theirs = folder / "lib" / "site-packages" / "d.py"
    name = report(
        *listed, theirs, folder / "gone.py", "<stdin>", "/tmp/ipykernel_1/2.py"
    )
    shown = codemod("--from-report", name, "--check")
    assert shown.stdout == "a.py\nsub/c.py\n2 files to change, of 2\n"
    shown = codemod("--from-report", name, "--check", "sub")
    assert shown.stdout == "sub/c.py\n1 file to change, of 1\n"
    shown = codemod("--from-report", name, "--check", "--exclude", "sub")
    assert shown.stdout == "a.py\n1 file to change, of 1\n"
    shown = codemod("--from-report", name, "missing")
    assert (shown.exit_code, shown.stderr.count("\n")) == (2, 1)
    assert codemod("--from-report", report(), "--write").exit_code == 0


def test_the_text_of_a_report_leads_to_its_json(codemod, folder, report):
    write(a=OLD)
    report(folder / "a.py")
    Path("old.txt").write_text("the text\n")
    assert codemod("--from-report", "old.txt").exit_code == 1


@pytest.mark.parametrize("name", ["\ud800.py", "n" * 5_000, "a\0.py", ".", "", None])
def test_names_that_no_file_has_are_passed_over(codemod, folder, name):
    write(a=OLD)
    uses = [{"file": name}, use_of(folder / "a.py"), 3]
    Path("old.json").write_text(json.dumps({"uses": uses}))
    shown = codemod("--from-report", "old.json", "--check")
    assert (shown.exit_code, shown.stderr) == (1, "")
    assert shown.stdout == "a.py\n1 file to change, of 1\n"


def test_a_script_without_a_suffix_is_taken(codemod, folder, report):
    Path("start").write_text(OLD)
    assert codemod("--from-report", report(folder / "start"), "--write").exit_code == 1
    assert Path("start").read_text() == NEW


@pytest.mark.parametrize(
    "text", ["[]", "{}", '{"uses": 3}', "no json", "\udcff", "[" * 100_000]
)
def test_what_is_no_report(codemod, text):
    Path("old.json").write_text(text, errors="surrogateescape")
    shown = codemod("--from-report", "old.json")
    assert shown.exit_code == 2
    assert "not" in shown.stderr
    assert shown.stderr.count("\n") == 1


def test_from_running_to_rewriting():
    """The two commands together, as they are meant."""
    write(
        app=f"import part\n{OLD}print(ConversationBufferMemory.__module__)\n", part=GONE
    )
    write(
        part="try:\n    from langchain.input import get_color_mapping\nfinally: pass\n"
    )
    words = ["-m", "holdover.migrate.cli", "exec", "--report", "old.txt", "app.py"]
    ran = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=True
    )
    command = ran.stderr.strip().rpartition("Next: holdover codemod ")[2].split()
    done = run(*command, "--write")
    assert (done.exit_code, done.stdout) == (1, "app.py\npart.py\n"), done.stderr
    plain = subprocess.run(
        [sys.executable, "app.py"], capture_output=True, text=True, check=True
    )
    assert plain.stdout == ran.stdout == "holdover.compat.buffer\n"


# -- streams, signals, and what is held


def test_colours_only_on_a_terminal(codemod, monkeypatch):
    write(a=OLD)
    assert "\x1b" not in codemod(".").output

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    from holdover.migrate.codemod import showing

    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    assert showing.wants_colour(Terminal())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not showing.wants_colour(Terminal())
    coloured = showing.coloured("--- a\n+++ a\n@@ -1 +1 @@\n-old\n+new\n same\n")
    assert re.sub(r"\x1b\[\d*m", "", coloured).splitlines()[3:] == [
        "-old",
        "+new",
        " same",
    ]
    assert coloured.count("\x1b[0m") == 5


@pytest.mark.skipif(os.name != "posix", reason="no pseudo terminals")
def test_progress_is_on_a_terminal_and_gone_at_the_end():
    import pty

    write(a=OLD, b=PLAIN, c=OLD)
    ours, theirs = pty.openpty()
    with start(".", "--write", stderr=theirs) as going:
        out = going.stdout.read()
    os.close(theirs)
    said = os.read(ours, 10_000).decode()
    os.close(ours)
    assert out == b"a.py\nc.py\n"
    assert "1 of 3 files" in said
    assert said.endswith("\r\x1b[K2 files rewritten, of 3.\r\n")
    assert "3 of 3" in said


def on_a_terminal(*arguments, **options):
    """What a terminal gets to see on stdout."""
    if os.name != "posix":
        pytest.skip("no pseudo terminals")
    import pty

    ours, theirs = pty.openpty()
    seen = []
    with start(*arguments, stdout=theirs, **options):
        os.close(theirs)
        # The system says with an error that the other end is closed.
        with contextlib.suppress(OSError):
            while piece := os.read(ours, 10_000):
                seen.append(piece)
    os.close(ours)
    return b"".join(seen)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_terminal_that_lacks_a_character_shows_its_escape(encoding):
    write(a=OLD + "x = '→'\n")
    seen = on_a_terminal(".", env={**os.environ, "PYTHONIOENCODING": encoding})
    assert ("→" if encoding == "utf-8" else "\\u2192") in seen.decode(encoding)
    with start(".", env={**os.environ, "PYTHONIOENCODING": encoding}) as going:
        assert "→".encode() in going.stdout.read()


@pytest.mark.parametrize("option", [[], ["--check"]])
def test_a_name_does_nothing_to_a_terminal(option):
    Path("a\x1b[2J\nb.py").write_text(OLD)
    seen = on_a_terminal(".", *option, env={**os.environ, "NO_COLOR": "1"})
    assert b"a\\x1b[2J\\nb.py" in seen
    assert b"\x1b" not in seen


@pytest.mark.skipif(os.name != "posix", reason="streams of POSIX")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&- <&-"])
@pytest.mark.parametrize("option", ["", "--write", "--json", "--nothing"])
def test_streams_may_be_closed(closed, option):
    write(a=OLD, b=b"\xff" + OLD.encode())
    line = f"{sys.executable} -m holdover.migrate.cli codemod . {option} {closed}"
    done = subprocess.run(["sh", "-c", line], capture_output=True, check=False)
    assert done.returncode == 2
    assert b"Traceback" not in done.stdout + done.stderr
    assert Path("a.py").read_text() == (NEW if option == "--write" else OLD)


@pytest.mark.skipif(os.name != "posix", reason="names of other bytes")
def test_a_file_name_that_is_no_text():
    Path(os.fsdecode(b"\xff.py")).write_text(OLD)
    for option, code in (["--check", 1], ["--json", 1], ["--write", 1], ["--check", 0]):
        assert run(".", option, errors="surrogateescape").exit_code == code


def test_a_reader_that_leaves_is_no_traceback():
    for number in range(40):
        write(**{f"m{number:02}": OLD * 400})
    with start(".", "--jobs", "1") as going:
        going.stdout.readline()
        going.stdout.close()
        err = going.stderr.read()
    assert going.returncode == 2
    assert b"Traceback" not in err


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_it_cleanly(number):
    if signal.getsignal(number) == signal.SIG_IGN:
        pytest.skip("the signal is ignored here, as in the background of a shell")
    lines = "".join(f"def f{n}(a, b={n}):\n    return a + b\n\n" for n in range(300))
    for n in range(300):
        write(**{f"m{n:03}": OLD + lines})
    with start(
        ".", "--write", "--jobs", "2", "--json", text=True, start_new_session=True
    ) as going:
        lines_read = []
        while '"path"' not in "".join(lines_read):
            lines_read.append(going.stdout.readline())
        os.killpg(going.pid, number)  # as a terminal does, to all of them
        began = time.monotonic()
        out, err = going.stdout.read(), going.stderr.read()
    assert going.returncode == 130
    assert json.loads("".join(lines_read) + out)["exit_code"] == 130
    assert time.monotonic() - began < 20
    assert err.startswith("holdover: Interrupted.")
    assert err.count("\n") == 1
    texts = [Path(f"m{n:03}.py").read_text() for n in range(300)]
    states = [text.startswith(NEW) for text in texts]
    assert 0 < sum(states) < 300
    assert states == sorted(states, reverse=True)
    assert {text.removeprefix(NEW).removeprefix(OLD) for text in texts} == {lines}
    assert len(list(Path().iterdir())) == 300
    assert_gone(going.pid)


def assert_gone(group):
    """Nothing of a process group is left, at once or very soon."""
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    raise AssertionError(group)


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_nothing_is_left_when_it_is_killed():
    for n in range(200):
        write(**{f"m{n:03}": OLD * 100})
    with start(
        ".", "--json", "--jobs", "2", text=True, start_new_session=True
    ) as going:
        while '"path"' not in going.stdout.readline():
            pass
        going.kill()
    assert_gone(going.pid)


def test_order_does_not_depend_on_where_files_lie(codemod):
    names = [f"d{n * 7 % 5}__m{n * 13 % 31:02}" for n in range(31)]
    for name in names:
        write(**{name: OLD})
    got = codemod(".", "--check").stdout.splitlines()[:-1]
    assert got == sorted(got)
    assert len(got) == 31
    assert list(files.find(["."])) == got


# -- the documentation


def test_the_help_reads_well(codemod):
    shown = codemod("--help").stdout
    assert "\\b" not in shown
    assert "default: 0" not in shown
    assert "Exit codes: 0 nothing to do, 1 " in shown


@pytest.mark.parametrize("command", ["codemod", "exec"])
def test_every_option_is_documented(command):
    page = (Path(__file__).parents[2] / "docs" / "codemod.md").read_text("utf-8")
    shown = CliRunner().invoke(app, [command, "--help"])
    options = re.findall(r"^  (?:-\w, )?(--?[\w-]+)", shown.stdout, re.MULTILINE)
    assert len(options) > 5
    for option in options:
        if option not in {"-h", "--help"}:
            assert f"`{option}" in page


def test_the_page_of_the_rules_is_current():
    import importlib.util

    made = Path(__file__).parents[2] / "docs" / "measure" / "codemod_rules.py"
    spec = importlib.util.spec_from_file_location("codemod_rules", made)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.PAGE.read_text("utf-8") == module.page(), f"run {made}"
