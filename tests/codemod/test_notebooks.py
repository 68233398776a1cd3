"""Notebooks: only code changes, at its place; the cells are one module."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdover.migrate.codemod import cells, notebooks, running, source
from holdover.migrate.codemod.findings import Finding, Rewritten
from holdover.migrate.codemod.magics import Masks, mask, reads_of
from holdover.migrate.codemod.outcome import Untouchable
from holdover.migrate.codemod.parsing import parse
from holdover.migrate.codemod.rule import ALL
from holdover.migrate.codemod.running import Wanted

OLD = "from langchain.memory import ConversationBufferMemory"
NEW = "from holdover.compat import ConversationBufferMemory"


def parses(text):
    try:
        parse(text)
    except source.Unparsable:
        return False
    return True


def notebook(*sources, version=4, **more):
    found = [
        {
            "cell_type": "code",
            "execution_count": 3,
            "metadata": {},
            "outputs": [{"output_type": "stream", "text": ["langchain\n"]}],
            "source": one,
        }
        for one in sources
    ]
    return {"cells": found, "metadata": {}, "nbformat": version, **more}


# -- the JSON


PIECES = ["a", " ", "\n", "\r\n", "\f", "\u2028", "ä", "\\", '"', "😀", "/"]
LINES = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
DUMPS = st.fixed_dictionaries(
    {
        "indent": st.sampled_from([None, 0, 1, 2, "\t"]),
        "ensure_ascii": st.booleans(),
        "separators": st.sampled_from([None, (",", ":"), (" , ", " : ")]),
        "sort_keys": st.booleans(),
    }
)
SOURCES = st.lists(
    st.one_of(
        LINES,
        LINES.map(lambda text: text.splitlines(keepends=True)),
        LINES.map(lambda text: [one + "\n" for one in text.split("\n")]),
    ),
    min_size=1,
    max_size=4,
)


@given(SOURCES, DUMPS, st.data())
def test_only_the_changed_cells_change(sources, dumps, data):
    text = json.dumps(notebook(*sources), **dumps) + "\n"
    found = notebooks.cells_of(text)
    assert [cell.text for cell in found] == ["".join(one) for one in sources]
    assert notebooks.replaced(text, {cell: cell.text for cell in found}) == text
    changed = data.draw(st.sets(st.sampled_from(range(len(found)))))
    new = {found[at]: data.draw(LINES) for at in changed}
    after = notebooks.replaced(text, new)
    expected = notebook(*sources)
    got = json.loads(after)
    for at in range(len(found)):
        source_now = got["cells"][at].pop("source")
        expected["cells"][at].pop("source")
        assert "".join(source_now) == new.get(found[at], found[at].text)
        assert isinstance(source_now, type(sources[at]))
    assert got == expected
    if dumps["ensure_ascii"]:
        assert after.isascii()


SEVERAL = LINES.map(lambda text: f"a\n{text}\nb".splitlines(keepends=True))


@given(st.lists(SEVERAL, min_size=1, max_size=4), DUMPS, st.data())
def test_a_change_is_where_the_library_would_have_written_it(sources, dumps, data):
    """The whole file is what dumping it anew would give, if it came from there."""
    at = data.draw(st.sampled_from(range(len(sources))))
    lines = list(sources[at])
    lines[data.draw(st.sampled_from(range(len(lines))))] = "x = 1\n"
    after = list(sources)
    after[at] = "".join(lines).splitlines(keepends=True)
    text = json.dumps(notebook(*sources), **dumps)
    cell = notebooks.cells_of(text)[at]
    expected = json.dumps(notebook(*after), **dumps)
    assert notebooks.replaced(text, {cell: "".join(lines)}) == expected


def test_escapes_of_lines_that_stay_are_kept():
    text = r'{"cells": [{"cell_type": "code", "source": ["\u0061\/\n", "ä"]}]}'
    (cell,) = notebooks.cells_of(text)
    assert cell.text == "a/\nä"
    assert notebooks.replaced(text, {cell: "a/\nb\nä"}) == text.replace(
        '"ä"', '"b\\n", "ä"'
    )


def test_lone_surrogates_stay_escaped():
    text = r'{"cells": [{"cell_type": "code", "source": "ä = \"\ud83d\""}]}'
    (cell,) = notebooks.cells_of(text)
    after = notebooks.replaced(text, {cell: cell.text + "\n"})
    assert after.encode("utf-8")
    assert json.loads(after)["cells"][0]["source"] == cell.text + "\n"


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ('{"cells": [}', "not JSON"),
        ("", "not JSON"),
        ("[]", "no notebook"),
        ("3", "no notebook"),
        ("{}", "no cells"),
        ('{"cells": 3}', "another shape"),
        ('{"cells": [3]}', "another shape"),
        ('{"cells": [{"cell_type": "code"}]}', "another shape"),
        ('{"cells": [{"cell_type": "code", "source": 3}]}', "another shape"),
        ('{"cells": [{"cell_type": "code", "source": [3]}]}', "another shape"),
        ('{"nbformat": 1, "cells": []}', "old format 1"),
        ("[" * 100_000, "nested"),
    ],
)
def test_what_is_no_notebook_says_why(document, said):
    with pytest.raises(Untouchable, match=said):
        notebooks.cells_of(document)


def test_invalid_json_says_the_line():
    with pytest.raises(Untouchable) as caught:
        notebooks.cells_of('{\n"cells": [\n}\n')
    assert caught.value.line == 3


@pytest.mark.parametrize(
    ("metadata", "number"),
    [
        ({}, 1),
        (None, 1),
        ({"kernelspec": {"language": "python"}}, 1),
        ({"kernelspec": {"language": "Python"}}, 1),
        ({"kernelspec": {"name": "python3"}}, 1),
        ({"language_info": {"name": "ipython"}}, 1),
        ({"kernelspec": {"language": "R"}}, 0),
        ({"language_info": {"name": "julia"}}, 0),
        ({"kernelspec": {}, "language_info": {"name": "scala"}}, 0),
    ],
)
def test_other_languages_are_left(metadata, number):
    text = json.dumps(notebook(OLD, metadata=metadata))
    assert len(notebooks.cells_of(text)) == number


def test_cells_of_other_kinds_are_left_and_counted():
    document = notebook("a = 1", "b = 2")
    document["cells"][0:0] = [{"cell_type": "markdown", "source": OLD}]
    document["cells"].append({"cell_type": "raw", "source": [OLD]})
    sql = {"vscode": {"languageId": "sql"}}
    document["cells"].append({"cell_type": "code", "metadata": sql, "source": OLD})
    found = notebooks.cells_of(json.dumps(document))
    assert [(cell.number, cell.text) for cell in found] == [(2, "a = 1"), (3, "b = 2")]


def test_the_old_format_has_sheets():
    sheets = [
        {"cells": [{"cell_type": "code", "language": "python", "input": [f"{OLD}\n"]}]},
        {
            "cells": [
                {"cell_type": "code", "language": "R", "input": "x <- 1"},
                {"cell_type": "code", "input": "x = 1"},
            ]
        },
    ]
    text = json.dumps({"nbformat": 3, "worksheets": sheets})
    found = notebooks.cells_of(text)
    assert [(cell.number, cell.text) for cell in found] == [
        (1, f"{OLD}\n"),
        (3, "x = 1"),
    ]
    after = json.loads(notebooks.replaced(text, {found[0]: f"{NEW}\n"}))
    assert after["worksheets"][0]["cells"][0]["input"] == [f"{NEW}\n"]


# -- magic commands

MAGIC = [
    "%pip install langchain",
    "%matplotlib inline",
    "!pip install \\\n  langchain",
    "!!ls",
    "?print",
    "print?",
    "m.save_context??",
    "%time?",
    "x = !ls | grep a",
    "out = %sql select 1",
    "a, b = %magic thing",
    "%%time\nx = 1",
    "%%timeit -n 3\nfor n in range(3):\n    pass",
    "%%capture out\n!ls\ny = 2",
    "if x:\n    !ls\n    y = 1\nelse:\n    %cd ..",
    ",print a b",
    ";print a",
    "/print 1",
    "%%bash\nfor x in 1 2; do echo $x; done",
    "%%javascript\nfunction f() { return `a`; }",
    "%%html\n<b>",
    "%%writefile a.py\nfrom langchain.memory import X",
    "\n\n%%sh\nls",
    "%load_ext a;",
]
PLAIN = [
    "x = (a\n  % b)\n",
    "s = '''\n%pip\n!ls\n'''",
    "x %= 3",
    "y = x != 3",
    "await thing()",
    "x = 1;",
    "# only a comment?",
    "print('what?')",
    "",
    "\n",
    "if x:\n    y = 1\n\n    # end",
    "x = [\n  'a?'\n]",
    "s = 'it\\'s' # '''",
    "a = b\\\n  + c",
    "\tx = 1".strip("\t"),
    OLD,
]


# A cell magic begins its cell.
AFTER_PLAIN = [f"{p}\n{m}" for p in PLAIN for m in MAGIC if "%%" not in m]


@pytest.mark.parametrize("cell", [*MAGIC, *AFTER_PLAIN])
def test_a_cell_with_magic_is_python_and_comes_back(cell):
    masks = Masks("__mask_")
    text = mask(cell, masks, parses)
    assert parses(text), text
    assert masks.kept
    assert masks.restored(text) == cell
    if masks.kept != [cell]:
        assert text.count("\n") == cell.count("\n")


@pytest.mark.parametrize("cell", PLAIN)
def test_a_cell_without_magic_is_itself(cell):
    masks = Masks("__mask_")
    assert mask(cell, masks, parses) == cell
    assert masks.kept == []


def test_the_rest_of_a_cell_with_magic_is_seen():
    for head in ("%pip install a", "!ls", "x = !ls", "%%time", "a?"):
        masks = Masks("__mask_")
        assert mask(f"{head}\n{OLD}", masks, parses).endswith(f"\n{OLD}")
        assert len(masks.kept) == 1


@pytest.mark.parametrize("lost", ["", "__m_0__ __m_0__"])
def test_what_is_put_away_cannot_get_lost(lost):
    masks = Masks("__m_")
    assert masks.put_away("!ls") == "__m_0__"
    with pytest.raises(LookupError):
        masks.restored(lost)


# -- the cells as one module


@pytest.fixture
def rewriter(monkeypatch):
    """Replace the rules by what a test wants done to the joined text."""

    def use(change, findings=()):
        def rewrite(text, *, codes, module="", stub=False):
            use.seen = text
            return Rewritten(change(text), tuple(findings))

        monkeypatch.setattr(source, "rewrite", rewrite)

    return use


def through(*texts):
    return cells.rewrite(texts, codes=frozenset({"HO101"}), package="")


@given(st.lists(st.sampled_from([*MAGIC, *PLAIN]), min_size=1, max_size=6))
def test_cells_are_cut_where_they_were_joined(texts):
    """An addition to each statement `x = 1` is all that changes."""
    before = source.rewrite

    def rewrite(text, **_):
        lines = [f"# TODO\n{x}" if x == "x = 1;" else x for x in text.split("\n")]
        return Rewritten("import new\n" + "\n".join(lines), ())

    source.rewrite = rewrite
    try:
        if texts[0].lstrip().startswith("%%"):
            # Nothing may come before a cell magic.
            with pytest.raises(Untouchable, match="first"):
                through(*texts)
            return
        done = through(*texts)
    finally:
        source.rewrite = before
    expected = [text.replace("x = 1;", "# TODO\nx = 1;") for text in texts]
    expected[0] = _with_import(expected[0])
    assert list(done.texts) == expected
    assert done.failures == ()


def _with_import(text):
    return f"import new\n{text}" if text else "import new"


def test_names_of_one_cell_are_known_in_all(rewriter):
    rewriter(lambda text: text)
    through("import langchain.memory as m", "!ls", "x = m.ConversationBufferMemory()")
    tree = parse(rewriter.seen)
    assert "import langchain.memory as m\n" in rewriter.seen
    assert "x = m.ConversationBufferMemory()" in tree.code


def test_a_cell_that_is_broken_is_left_and_told(rewriter):
    rewriter(lambda text: text.replace(OLD, NEW))
    broken = f"print 'old'\n{OLD}"
    done = through(OLD, broken, OLD)
    assert done.texts == (NEW, broken, NEW)
    ((failure),) = done.failures
    assert (failure.cell, failure.line) == (2, 1)


def test_a_broken_cell_with_magic_is_put_away_as_a_whole(rewriter):
    broken = "%time x\nprint 'old'\n!ls"
    rewriter(lambda text: f"import new\n{text}")
    assert through(broken, "y = 1").texts == (f"import new\n{broken}", "y = 1")
    rewriter(lambda text: text.replace("y = 1", "y = 2"))
    assert through(broken, "y = 1").texts == (broken, "y = 2")


@pytest.mark.parametrize(
    ("cell", "after"),
    [
        (f"    {OLD}\n    x = 1", f"    {NEW}\n    x = 1"),
        (f"\n \n  {OLD}", None),
        (f"\n\n  {OLD}\n\n  if x:\n    y\n", f"\n\n  {NEW}\n\n  if x:\n    y\n"),
        (f"\t%time\n\t{OLD}", f"\t%time\n\t{NEW}"),
        (f"    s = '''\nno'''\n    {OLD}", None),
    ],
)
def test_a_cell_that_is_indented_as_a_whole(rewriter, cell, after):
    rewriter(lambda text: text.replace(OLD, NEW), [])
    done = through("a = 1", cell)
    assert done.texts == ("a = 1", after or cell)
    assert bool(done.failures) is (after is None)


def test_findings_in_an_indented_cell_say_the_column():
    done = through("x = 1", f"    y = 2\n    {OLD}")
    ((cell, finding),) = [(one.cell, one.finding) for one in done.findings]
    assert (cell, finding.line) == (2, 2)
    assert (
        finding.column
        == 5 + source.rewrite(OLD, codes=frozenset({"HO101"})).findings[0].column - 1
    )


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("%timeit -n 3 m.X(a)", ["timeit", "n", "m", "m.X", "a"]),
        ("?x.y", ["x", "x.y"]),
        ("%pip install langchain", []),
        ("!pip install langchain {m.X} $name", ["m", "m.X", "name"]),
        ("%time not None or m . X", ["time", "m", "m.X"]),
        ("%run a.py", []),
        ("%%unknown\nf(x)\n!ls g", ["unknown", "f", "x"]),
    ],
)
def test_what_a_magic_command_may_read(text, reads):
    assert reads_of(text) == reads


STAR = "from langchain.memory import *"
ALIAS = "import langchain.memory as m\nx = m.CombinedMemory()"


@pytest.mark.parametrize(
    ("head", "magic", "left"),
    [
        (STAR, "%timeit ConversationBufferMemory()", ""),
        (STAR, "?ConversationBufferMemory", ""),
        (STAR, "ConversationBufferMemory?", ""),
        (STAR, "out = %timeit -o ConversationBufferMemory()", ""),
        (STAR, "!echo {ConversationBufferMemory}", ""),
        (STAR, "%%unknown\nConversationBufferMemory()", ""),
        (STAR, "%time exec(x)", STAR),
        (ALIAS, "%time z = m.ConversationBufferMemory()", ALIAS),
        (ALIAS, "m.ConversationBufferMemory?", ALIAS),
        ("import langchain.memory", "%time langchain.memory.X()", "import langchain"),
        (ALIAS, "%pip install m", ""),
        (ALIAS, "%%bash\nm", ""),
    ],
)
def test_what_magic_commands_use_is_in_use(head, magic, left):
    done = cells.rewrite(
        [head, "y = CombinedMemory()", magic], codes=frozenset(ALL), package=""
    )
    assert done.texts[1:] == ("y = CombinedMemory()", magic)
    if left:
        assert left in done.texts[0]
        assert any(not one.finding.fixed for one in done.findings)
    else:
        assert "langchain" not in done.texts[0]
    if head == STAR and not left:
        assert "ConversationBufferMemory" in done.texts[0]
        assert "CombinedMemory" in done.texts[0]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace(", m.X", ", new.X"),
        lambda text: text.replace("m, m.X", "m"),
    ],
)
def test_what_stands_for_magic_may_not_change(rewriter, change):
    rewriter(change)
    with pytest.raises(Untouchable, match="magic commands could not be kept"):
        through("a = 1", "%time m.X()")


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("_cell_1__\n", "_cell_2__\n"),
        lambda text: text + text,
        lambda text: "",
        lambda text: text.replace("__holdover", "x"),
    ],
)
def test_a_rewriter_that_loses_a_boundary_changes_nothing(rewriter, change):
    rewriter(change)
    with pytest.raises(Untouchable, match="not changed"):
        through("a = 1", "b = 2")


def test_findings_say_cell_and_line(rewriter):
    texts = ["a\nb", "", "c\n", "%%bash\nx\ny", "d"]
    lines = {1: (1, 1), 2: (1, 2), 4: (2, 1), 5: (3, 1), 9: (5, 1)}
    rewriter(
        lambda text: text,
        [
            Finding("HO101", line, 1, "", "", "", safe=True, fixed=True)
            for line in lines
        ],
    )
    done = through(*texts)
    got = [(one.cell, one.finding.line) for one in done.findings]
    assert rewriter.seen.split("\n")[8] == "d"
    assert got == list(lines.values())


def test_names_that_look_like_ours_are_avoided(rewriter):
    rewriter(lambda text: text.replace("x = 1", "x = 2"))
    text = "__holdover_0_cell_1__ = 3"
    assert through(text, "x = 1", text).texts == (text, "x = 2", text)


# -- the whole


def examine(tmp_path, content, **options):
    path = tmp_path / "a.ipynb"
    path.write_bytes(content)
    wanted = Wanted(frozenset({"HO101"}), **options)
    return running.examine(str(path), wanted)


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("indent", [1, None])
def test_a_notebook_is_rewritten_at_its_place(tmp_path, rewriter, bom, indent):
    rewriter(lambda text: text.replace(OLD, NEW))
    document = notebook([f"{OLD}\n", "m = ConversationBufferMemory()"], "%pip list")
    data = bom + json.dumps(document, indent=indent).encode() + b"\n"
    path = tmp_path / "a.ipynb"
    done = examine(tmp_path, data, data=True, diff=True, patch=True)
    assert done.patch.startswith(f"--- {path}\n+++ {path}\n".encode())
    assert done.data == data.replace(OLD.encode(), NEW.encode())
    assert done.diff.startswith(
        f"--- {path}:cell 1\n+++ {path}:cell 1\n@@ -1,2 +1,2 @@"
    )
    assert f"\n-{OLD}\n+{NEW}\n" in done.diff


def test_langchain_in_an_output_is_nothing_to_parse(tmp_path, rewriter):
    def never(text):
        raise AssertionError

    rewriter(never)
    data = json.dumps(notebook("x = 1", "print 'broken'")).encode()
    assert examine(tmp_path, data).nothing_to_say


def test_a_large_notebook_has_little_code(tmp_path, rewriter):
    rewriter(lambda text: text.replace(OLD, NEW))
    document = notebook(OLD)
    picture = random.Random(1).randbytes(4_000_000).hex()
    document["cells"][0]["outputs"][0]["text"] = picture
    done = examine(tmp_path, json.dumps(document).encode(), data=True)
    assert done.changed
    assert picture.encode() in done.data


def test_a_notebook_that_only_says_holdover_is_parsed(tmp_path):
    path = tmp_path / "a.ipynb"
    rule = ALL["HO301"]
    path.write_text(json.dumps(notebook(rule.before)))
    done = running.examine(str(path), Wanted(frozenset({"HO301"})))
    assert done.changed


def test_the_package_of_a_notebook_is_given(tmp_path, monkeypatch):
    asked = []

    def rewrite(text, *, codes, module="", stub=False):
        asked.append((codes, module, stub))
        return Rewritten(text, ())

    monkeypatch.setattr(source, "rewrite", rewrite)
    (tmp_path / "__init__.py").touch()
    examine(tmp_path, json.dumps(notebook(OLD)).encode())
    assert asked == [({"HO101"}, tmp_path.name, False)]
