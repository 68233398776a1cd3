"""What a user is told of old imports: once a line, and in a report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from compat.shim.conftest import HAS_OLD

from holdover.compat import shim as the_shim
from holdover.compat.shim import usage
from holdover.compat.shim.usage import (
    LegacyImportWarning,
    Mode,
    Report,
    UnknownMode,
    Use,
    mode_of,
    read_journal,
)

pytestmark = [
    pytest.mark.skipif(HAS_OLD, reason="langchain 0.3 has the old modules"),
    pytest.mark.filterwarnings("ignore:.*langchain-community.*:DeprecationWarning"),
]

APPLICATION = """\
from langchain.memory import ConversationBufferMemory, SimpleMemory
import langchain.memory as m

def build():
    return m.SimpleMemory()

for _ in range(3):
    build()
try:
    from langchain.callbacks import set_handler
except ImportError:
    pass
"""


@pytest.fixture
def application(tmp_path):
    path = tmp_path / "application.py"
    path.write_text(APPLICATION)
    return path


def run(path):
    code = compile(path.read_text(), str(path), "exec", dont_inherit=True)
    exec(code, {"__name__": "application"})


def test_each_line_warns_once_and_at_its_place(loud_shim, application):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        run(application)
    ours = [one for one in told if one.category is LegacyImportWarning]

    assert [(one.filename, one.lineno) for one in ours] == [
        (str(application), 1),
        (str(application), 5),
        (str(application), 10),
    ]
    assert str(ours[0].message) == (
        "HO101 langchain.memory.ConversationBufferMemory is an old import path; "
        "write: from holdover.compat import ConversationBufferMemory"
    )


def test_the_report_names_each_old_name_and_line(loud_shim, application):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(application)
    uses = the_shim.report().uses

    assert [(use.line, use.old, use.new, use.code, use.kind) for use in uses] == [
        (
            1,
            "langchain.memory.ConversationBufferMemory",
            "holdover.compat.ConversationBufferMemory",
            "HO101",
            "moved",
        ),
        (
            1,
            "langchain.memory.SimpleMemory",
            "holdover.compat.SimpleMemory",
            "HO101",
            "moved",
        ),
        (
            5,
            "langchain.memory.SimpleMemory",
            "holdover.compat.SimpleMemory",
            "HO101",
            "moved",
        ),
        (10, "langchain.callbacks.set_handler", "", "HO401", "removed"),
    ]
    assert {use.file for use in uses} == {str(application)}
    text = the_shim.report().text()
    assert str(application) in text
    assert "4 uses of old paths in 1 file, 1 of them removed." in text


def test_a_report_can_be_written_and_read(shim, application):
    run(application)
    report = the_shim.report()

    again = Report.from_dict(json.loads(json.dumps(report.as_dict())))
    assert again == report


@pytest.mark.parametrize(
    "data",
    [{}, {"version": 2, "uses": []}, {"version": 1}, {"version": 1, "uses": [{}]}],
)
def test_something_else_is_no_report(data):
    with pytest.raises(ValueError, match="no report"):
        Report.from_dict(data)


def test_a_report_of_nothing():
    assert Report().text() == "No old import path was used.\n"


def test_the_report_stays_after_the_block_and_begins_anew_with_the_next(
    monkeypatch, application
):
    monkeypatch.setenv("HOLDOVER_SHIM", "silent")
    with the_shim.installed():
        run(application)
    assert len(the_shim.report().uses) == 4
    with the_shim.installed():
        assert the_shim.report().uses == ()


def test_a_star_is_one_use(shim, tmp_path):
    path = tmp_path / "star.py"
    path.write_text("from langchain.memory import *\nmemory = SimpleMemory()\n")
    run(path)

    (use,) = the_shim.report().uses
    assert (use.old, use.code, use.line) == ("langchain.memory.*", "HO402", 1)
    assert "import the names you use" in the_shim.report().text()


def test_error_mode_raises_the_warning(monkeypatch, application):
    monkeypatch.setenv("HOLDOVER_SHIM", "error")
    with (
        the_shim.installed(),
        pytest.raises(LegacyImportWarning, match=r"HO101 .*write: from holdover"),
    ):
        run(application)


def test_error_mode_is_not_taken_for_a_missing_module(monkeypatch, tmp_path):
    path = tmp_path / "fallback.py"
    path.write_text(
        "try:\n"
        "    from langchain.memory import SimpleMemory\n"
        "except ImportError:\n"
        "    SimpleMemory = None\n"
    )
    monkeypatch.setenv("HOLDOVER_SHIM", "error")
    with the_shim.installed(), pytest.raises(LegacyImportWarning):
        run(path)


def test_silent_mode_warns_nobody(shim, application):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(application)


@pytest.mark.parametrize(
    ("word", "mode"),
    [
        ("", Mode.ONCE),
        (" once ", Mode.ONCE),
        ("ERROR", Mode.ERROR),
        ("silent", Mode.SILENT),
    ],
)
def test_the_words_of_the_environment(word, mode):
    assert mode_of({"HOLDOVER_SHIM": word}) is mode
    assert mode_of({}) is Mode.ONCE


def test_another_word_is_refused_before_anything_is_changed(monkeypatch):
    monkeypatch.setenv("HOLDOVER_SHIM", "loud")
    before = list(sys.meta_path)
    with pytest.raises(UnknownMode, match="Set it to error, once or silent"):
        the_shim.install()
    assert sys.meta_path == before


def test_a_library_between_is_not_blamed(loud_shim, tmp_path):
    """`importlib`, `pickle` and `mock` look up for the line that called them."""
    path = tmp_path / "indirect.py"
    path.write_text(
        "import importlib, pickle\n"
        "from unittest import mock\n"
        "importlib.import_module('langchain.memory').SimpleMemory\n"
        "pickle._loads(b'clangchain.memory\\nSimpleMemory\\n.')\n"
        "pickle.loads(b'clangchain.memory\\nSimpleMemory\\n.')\n"
        "mock.patch('langchain.memory.SimpleMemory').__enter__()\n"
    )
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        run(path)
    assert [(one.filename, one.lineno) for one in told] == [
        (str(path), line) for line in (3, 4, 5, 6)
    ]
    the_shim.uninstall()


def test_the_journal_has_what_every_process_used(tmp_path, application):
    """Also of children, and of those that were killed."""
    journal = tmp_path / "journal"
    parent = tmp_path / "parent.py"
    parent.write_text(
        "import os, signal, subprocess, sys\n"
        f"subprocess.run([sys.executable, {str(application)!r}], check=True)\n"
        "from langchain.memory import CombinedMemory\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    environment = os.environ | {
        "HOLDOVER_SHIM": "silent",
        "HOLDOVER_SHIM_REPORT": str(journal),
        "PYTHONPATH": os.pathsep.join(
            [the_shim.startup_path(), *os.environ.get("PYTHONPATH", "").split(":")]
        ),
    }
    subprocess.run([sys.executable, str(parent)], env=environment, check=False)

    report = read_journal(journal.read_text().splitlines())
    assert {(Path(use.file).name, use.line) for use in report.uses} == {
        ("application.py", 1),
        ("application.py", 5),
        ("application.py", 10),
        ("parent.py", 3),
    }


def test_a_relative_journal_is_one_file(tmp_path, monkeypatch, application):
    monkeypatch.setenv("HOLDOVER_SHIM", "silent")
    monkeypatch.setenv("HOLDOVER_SHIM_REPORT", "journal")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with the_shim.installed():
        monkeypatch.chdir(tmp_path / "elsewhere")
        run(application)
    assert (tmp_path / "journal").exists()
    assert not (tmp_path / "elsewhere" / "journal").exists()


def test_where_warnings_are_errors_a_line_fails_every_time(loud_shim, application):
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(LegacyImportWarning):
                run(application)


def test_what_is_where_it_is_said_to_be_is_no_use(shim, tmp_path):
    """Where langchain-classic is gone, its own paths are served."""
    path = tmp_path / "later.py"
    path.write_text(
        "try:\n"
        "    from langchain_classic.chains import LLMChain\n"
        "except ImportError:\n"
        "    pass\n"
    )
    run(path)
    assert the_shim.report().uses == ()


def test_a_name_can_be_replaced_at_its_new_place(shim, monkeypatch):
    from holdover import compat

    monkeypatch.setattr(compat, "SimpleMemory", "a fake", raising=False)
    space = {}
    exec("from langchain.memory import SimpleMemory as found", space)
    assert space["found"] == "a fake"


def test_a_journal_cut_short_keeps_its_whole_lines():
    use = Use("langchain.memory.X", "", "HO101", "a.py", 1, "moved")
    line = json.dumps({name: getattr(use, name) for name in Use.__dataclass_fields__})
    assert read_journal(
        [line, line, line[:20], "", "[]", "null", line.replace('"a.py"', "[]")]
    ).uses == (use,)


def test_a_journal_that_cannot_be_written_stops_nobody(
    monkeypatch, tmp_path, application, capsys
):
    monkeypatch.setenv("HOLDOVER_SHIM", "silent")
    monkeypatch.setenv("HOLDOVER_SHIM_REPORT", str(tmp_path / "no" / "such" / "folder"))
    with the_shim.installed():
        run(application)
    assert capsys.readouterr().err.count("cannot write HOLDOVER_SHIM_REPORT") == 1
    assert usage.JOURNAL not in os.environ
