"""`holdover exec`: as with python, with the old imports, and a report at any end."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from holdover.compat.shim.entries import answer

#: Little has to be imported for it.
OLD = "from langchain.schema import OutputParserException"
posix = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


@pytest.fixture
def holdover(folder):
    """Run the real command here: `holdover("exec", …)`."""

    def run(*arguments, code=None, **options):
        command = [sys.executable, "-m", "holdover.migrate.cli", *arguments]
        return subprocess.run(
            code or command,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            **{"stdin": subprocess.DEVNULL, **options},
        )

    return run


def script(*lines, name="app.py"):
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return name


def read_report(name="old.json"):
    return json.loads(Path(name).read_text("utf-8"))


ABOUT = """\
import os, sys, __main__
startup = os.environ.get("PYTHONPATH", "none").split(os.pathsep)[0]
print(sys.argv, __name__, __main__ is sys.modules["__main__"], sys.flags)
print(getattr(__main__, "__file__", None), __main__.__spec__ and __main__.__spec__.name)
print([one for one in sys.path if one != startup])
print(sys.stdin.read(), os.getcwd(), sorted(vars(__main__)))
print("said", file=sys.stderr)
sys.exit(3)
"""


@pytest.mark.parametrize(
    "words",
    [
        ["app.py", "-x", "--report", "b"],
        ["./app.py", "--", "-"],
        ["-m", "package.inner", "--help"],
        ["-m", "package"],
        ["folder", "-m"],
        ["archive.zip", "a b"],
        ["-c", ABOUT, "-c"],
    ],
)
def test_a_program_sees_what_it_sees_with_python(holdover, words):
    script(ABOUT, name="app.py")
    script(ABOUT, name="package/__main__.py")
    script("", name="package/__init__.py")
    script(ABOUT, name="package/inner.py")
    script(ABOUT, name="folder/__main__.py")
    with zipfile.ZipFile("archive.zip", "w") as archive:
        archive.writestr("__main__.py", ABOUT)
    expected = holdover(code=[sys.executable, *words], stdin=None, input="typed")
    assert expected.returncode == 3, expected.stderr
    for report in ([], ["--report", "old.txt"]):
        got = holdover("exec", "-q", *report, *words, stdin=None, input="typed")
        assert (got.stdout, got.stderr) == (expected.stdout, expected.stderr)
        assert got.returncode == 3


def test_a_program_from_stdin(holdover):
    code = "import sys; print(sys.argv)"
    for report in ([], ["--report", "old.txt"]):
        got = holdover("exec", *report, "-", "a", stdin=None, input=code)
        assert (got.stdout, got.returncode) == ("['-', 'a']\n", 0)


ENDINGS = [
    ("", 0, ""),
    ("raise SystemExit", 0, ""),
    ("import sys; sys.exit(7)", 7, ""),
    ("import sys; sys.exit('no luck')", 1, "no luck\n"),
    ("raise ValueError('bad')", 1, "ValueError: bad\n"),
    ("import os; os._exit(5)", 5, ""),
    ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", 143, ""),
    ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 137, ""),
    ("import os; os.abort()", 134, ""),
    ("raise KeyboardInterrupt", 130, "KeyboardInterrupt\n"),
    ("def f(): f()\nf()", 1, "exceeded\n"),
    ("this is no python", 1, "SyntaxError: invalid syntax\n"),
]


@posix
@pytest.mark.parametrize(("ending", "code", "said"), ENDINGS)
def test_it_ends_as_the_program_ends(holdover, ending, code, said):
    script("x = 1", ending)
    got = holdover("exec", "-q", "app.py")
    assert got.returncode == (code if code < 128 else 128 - code)
    assert_said_by_the_program(got.stderr, said)


def assert_said_by_the_program(text, said):
    assert text.endswith(said)
    assert (not text) is (not said)
    assert "holdover/" not in text
    assert "frozen" not in text


@posix
@pytest.mark.parametrize(("ending", "code", "said"), ENDINGS[:-1])
def test_the_report_is_written_however_it_ends(holdover, ending, code, said):
    script("import sys", OLD, ending)
    got = holdover("exec", "-q", "--report", "old.txt", "app.py")
    assert got.returncode == code
    assert_said_by_the_program(got.stderr, said)
    report = read_report()
    assert [(use["old"], use["line"]) for use in report["uses"]] == [
        ("langchain.schema.OutputParserException", 2)
    ]
    assert report["exit_code"] == code
    assert f"exit code {code}" in Path("old.txt").read_text("utf-8")


def test_a_report_says_where_and_what_to_write_instead(holdover, folder):
    script(
        "",
        OLD,
        "from langchain.input import get_color_mapping as colours",
        name="a/one.py",
    )
    script(
        "from langchain.memory import ConversationBufferMemory as M", name="a/two.py"
    )
    script("import sys", "sys.path.insert(0, 'a')", "import one, two, one")
    got = holdover("exec", "--report", "old.txt", "app.py")
    assert got.returncode == 0, got.stderr
    uses = [
        (Path(use["file"]).name, use["line"], use["old"], use["new"])
        for use in read_report()["uses"]
    ]
    assert uses == [
        ("one.py", 2, "langchain.schema.OutputParserException",
         "langchain_core.exceptions.OutputParserException"),
        ("one.py", 3, "langchain.input.get_color_mapping",
         "langchain_core.utils.get_color_mapping"),
        ("two.py", 1, "langchain.memory.ConversationBufferMemory",
         "holdover.compat.ConversationBufferMemory"),
    ]  # fmt: skip
    text = Path("old.txt").read_text("utf-8")
    for _, line, old, new in uses:
        assert old in text
        assert new in text
        assert f"{line}:" in text
    assert str(folder / "a" / "one.py") in text
    assert "3 uses of old paths in 2 files, 0 of them removed." in text
    next_command = "holdover codemod --from-report old.json"
    assert text.endswith(f"Next: {next_command}\n")
    assert got.stderr.endswith(f"Next: {next_command}\n")


def test_what_was_removed_is_in_the_report(holdover):
    gone = "langchain.agents.agent", "asyncio_timeout"
    why = answer(*gone).why
    script(
        "try:",
        f"    from {gone[0]} import {gone[1]}",
        "except ImportError as error: print(error)",
    )
    got = holdover("exec", "--report", "old.json", "app.py")
    assert why in got.stdout, got.stderr
    (use,) = read_report()["uses"]
    assert (use["old"], use["new"], use["kind"]) == (".".join(gone), "", "removed")
    assert use["why"] == why
    assert why in Path("old.txt").read_text("utf-8")


@pytest.mark.parametrize(
    ("given", "text", "document"),
    [
        ("old.txt", "old.txt", "old.json"),
        ("old.json", "old.txt", "old.json"),
        ("old.JSON", "old.txt", "old.JSON"),
        ("old", "old", "old.json"),
        ("sub/old.log", "sub/old.log", "sub/old.json"),
    ],
)
def test_a_report_is_text_and_json(holdover, folder, given, text, document):
    (folder / "sub").mkdir()
    script(OLD)
    holdover("exec", "--report", given, "app.py")
    assert len(read_report(document)["uses"]) == 1
    assert "HO201" in Path(text).read_text("utf-8")
    holdover("exec", "--report", given, "-c", "x = 1")
    assert read_report(document)["uses"] == []
    assert "No old import path was used." in Path(text).read_text("utf-8")


def test_a_report_lies_where_it_was_asked_for_wherever_the_program_goes(
    holdover, folder, tmp_path
):
    script(OLD, "import os; os.chdir('/')")
    holdover("exec", "--report", "old.txt", "app.py")
    (use,) = read_report(folder / "old.json")["uses"]
    assert Path(use["file"]) == folder / "app.py"


def test_no_argument_and_no_code_gets_into_a_report(holdover):
    script(OLD, "PASSWORD = 'hunter2'")
    holdover("exec", "--report", "old.txt", "app.py", "--password", "hunter3")
    found = Path("old.txt").read_text() + Path("old.json").read_text()
    holdover("exec", "--report", "old.txt", "-c", f"{OLD}; key = 'hunter4'")
    found += Path("old.txt").read_text() + Path("old.json").read_text()
    assert "HO201" in found
    assert "hunter" not in found


CHILDREN = f"""\
import multiprocessing, subprocess, sys

class Thing:
    def __init__(self, value):
        self.value = value

def work(thing):
    from langchain.input import get_color_mapping
    return Thing(thing.value + 1)

if __name__ == "__main__":
    {OLD}
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(2) as pool:
        things = pool.map(work, [Thing(1)] * 4)
    print([type(one) is Thing and one.value for one in things])
    more = "from langchain.env import get_runtime_environment"
    subprocess.run([sys.executable, "-c", more], check=True)
"""


@posix
@pytest.mark.parametrize("how", ["spawn", "fork", "forkserver"])
def test_other_processes_of_the_program_are_counted_once(holdover, how):
    script(CHILDREN)
    got = holdover("exec", "--report", "old.txt", "--quiet", "app.py", how)
    assert (got.stdout, got.stderr) == ("[2, 2, 2, 2]\n", "")
    names = [use["old"].rpartition(".")[2] for use in read_report()["uses"]]
    assert sorted(names) == [
        "OutputParserException",
        "get_color_mapping",
        "get_runtime_environment",
    ]


def test_an_execution_within_another_is_in_both_reports(holdover):
    script(OLD, name="inner.py")
    script(
        "import subprocess, sys",
        "subprocess.run([sys.executable, '-m', 'holdover.migrate.cli', 'exec',",
        "    '--report', 'inner.txt', 'inner.py'], check=True)",
    )
    holdover("exec", "--report", "outer.txt", "app.py")
    assert read_report("inner.json")["uses"] == read_report("outer.json")["uses"]
    assert len(read_report("inner.json")["uses"]) == 1


WAITING = f"""\
{OLD}
import signal, sys, time

def end(number, frame):
    print("got", signal.Signals(number).name, flush=True)
    sys.exit(9)

for name in sys.argv[1:]:
    signal.signal(getattr(signal, name), end)
print("ready", flush=True)
time.sleep(60)
"""


@posix
@pytest.mark.parametrize(
    ("name", "handled", "report"),
    [
        *((name, True, True) for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1")),
        *((name, False, True) for name in ("SIGTERM", "SIGINT")),
        *((name, True, False) for name in ("SIGTERM", "SIGINT")),
        ("SIGTERM", False, False),
    ],
)
def test_a_signal_to_us_is_one_to_the_program(folder, report, name, handled):
    script(WAITING)
    arguments = ["-q", *(["--report", "old.txt"] if report else [])]
    arguments += ["app.py", *([name] if handled else [])]
    number = getattr(signal, name)
    if signal.getsignal(number) == signal.SIG_IGN:
        pytest.skip("the signal is ignored here, as under nohup")
    with subprocess.Popen(
        [sys.executable, "-m", "holdover.migrate.cli", "exec", *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # no terminal that would send it to both
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    ) as going:
        assert going.stdout.readline() == "ready\n"
        going.send_signal(number)
        out, _ = going.communicate(timeout=60)
    if handled:
        assert (out, going.returncode) == (f"got {name}\n", 9)
    else:
        assert going.returncode == (128 + number if report else -number)
    if report:
        assert len(read_report()["uses"]) == 1


@posix
def test_an_ignored_signal_stays_ignored(folder):
    script("import signal", "print(signal.getsignal(signal.SIGHUP).name)")
    command = [
        sys.executable,
        "-m",
        "holdover.migrate.cli",
        "exec",
        "--report",
        "o.txt",
    ]
    got = subprocess.run(
        ["/bin/sh", "-c", 'trap "" HUP; exec "$@"', "sh", *command, "app.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert got.stdout == "SIG_IGN\n"


@posix
def test_without_a_report_the_program_takes_our_place(folder):
    script("import os; print(os.getpid())")
    command = [sys.executable, "-m", "holdover.migrate.cli", "exec", "app.py"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as it:
        out, _ = it.communicate(timeout=60)
    assert int(out) == it.pid


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing.py"], "missing.py: no such script."),
        (["--report", "old.txt", "missing.py"], "missing.py: no such script."),
        (["empty"], "empty: a folder without __main__.py."),
        (["--report", "no/old.txt", "app.py"], "there is no folder no."),
        (["--report", "empty", "app.py"], "that is a folder."),
        (["-m", "-c", "app"], "Give -m or -c, not both."),
    ],
)
def test_what_cannot_be_run_is_one_sentence(holdover, folder, arguments, said):
    script("print('ran')")
    (folder / "empty").mkdir()
    got = holdover("exec", *arguments)
    assert (got.returncode, got.stdout) == (2, "")
    assert got.stderr.startswith("holdover: ")
    assert got.stderr.endswith(f"{said}\n")
    assert got.stderr.count("\n") == 1


def test_warnings_unless_quiet(holdover):
    script("import sys", OLD)
    loud = holdover("exec", "app.py")
    assert loud.stderr.count("LegacyImportWarning") == 1
    assert "app.py:2" in loud.stderr
    assert holdover("exec", "-q", "app.py").stderr == ""
    assert holdover("exec", "-q", "--report", "old.txt", "app.py").stderr == ""


def test_errors_where_the_environment_asks_for_them(holdover):
    script(OLD)
    environment = {**os.environ, "HOLDOVER_SHIM": "error"}
    got = holdover("exec", "-q", "app.py", env=environment)
    assert got.returncode == 1
    assert "LegacyImportWarning" in got.stderr


@pytest.mark.parametrize("option", [[], ["--override"]])
def test_override_replaces_classes_that_exist(holdover, option):
    pytest.importorskip("langchain_classic")
    script(
        "from langchain_classic.memory import ConversationBufferMemory as C",
        "print(C.__module__.partition('.')[0])",
    )
    got = holdover("exec", "-q", *option, "app.py")
    assert got.stdout == ("holdover\n" if option else "langchain_classic\n")


def test_the_paths_of_the_environment_stay(holdover, tmp_path):
    (tmp_path / "extra").mkdir()
    (tmp_path / "extra" / "mine.py").write_text("value = 42\n")
    (tmp_path / "extra" / "sitecustomize.py").write_text("import sys; sys.mine = 43\n")
    script("import mine, sys", OLD, "print(mine.value, sys.mine)")
    before = os.environ.get("PYTHONPATH", "")
    paths = os.pathsep.join(filter(None, [str(tmp_path / "extra"), before]))
    got = holdover("exec", "-q", "app.py", env={**os.environ, "PYTHONPATH": paths})
    assert got.stdout == "42 43\n", got.stderr


def test_half_a_line_of_a_killed_process_is_no_harm(holdover):
    script(OLD, "import os", "path = os.environ['HOLDOVER_SHIM_REPORT']",
           "open(path, 'a').write('{\"old\": \"la')")  # fmt: skip
    got = holdover("exec", "--report", "old.txt", "app.py")
    assert got.returncode == 0
    assert len(read_report()["uses"]) == 1


def test_help_of_the_program_is_the_programs(holdover):
    script("import argparse", "argparse.ArgumentParser(prog='mine').parse_args()")
    assert holdover("exec", "app.py", "--help").stdout.startswith("usage: mine")


@pytest.mark.parametrize("report", [[], ["--report", "old.txt"]])
def test_what_it_costs_is_an_interpreter_not_langchain(holdover, report):
    script("x = 1")
    words = [
        "-X",
        "importtime",
        "-m",
        "holdover.migrate.cli",
        "exec",
        *report,
        "app.py",
    ]
    got = holdover(code=[sys.executable, *words])
    imported = re.findall(r"^import time:.*\| +([\w.]+)$", got.stderr, re.MULTILINE)
    assert "holdover.compat.shim" in imported
    roots = {name.partition(".")[0] for name in imported}
    assert not {one for one in roots if one.startswith("langchain")} | (
        {"libcst"} & roots
    )
