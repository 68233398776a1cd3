"""Sources that cannot be read, and the promises that hold for all others."""

from __future__ import annotations

import sys

import pytest

from holdover.compat.shim.entries import Answer, Kind, all_modules, answer, names_of
from holdover.migrate.codemod import draft, from_imports
from holdover.migrate.codemod.draft import removed
from holdover.migrate.codemod.parsing import still_parses
from holdover.migrate.codemod.rule import ALL, CALLS
from holdover.migrate.codemod.source import Unparsable, rewrite

CODES = frozenset(ALL)
IMPORT = "from langchain.memory import SimpleMemory\n"

BROKEN = {
    "python 2": ("x = 1\nprint 'langchain'\n", 2),
    "a repr": ("# langchain\nx = `1`\n", 2),
    "bytes beside a text": ("# langchain\nx = 'a' b'c'\n", 2),
    "half a character": ("# langchain\nx = '\ud83d'\n", 2),
    "a bracket": ("# langchain\nx = (1,\n", 2),
    "bad indentation": ("import langchain\nif x:\npass\n", 3),
    "a text without an end": ("x = 'langchain\n", 1),
    "a magic": ("import langchain\n%pip install langchain\n", 2),
    "a merge": (IMPORT + "<<<<<<< HEAD\n", 2),
    "tabs and spaces": ("if 'langchain':\n\tx\n        y\n", 3),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_python_says_where(name):
    source, line = BROKEN[name]

    with pytest.raises(Unparsable) as caught:
        rewrite(source, codes=CODES)

    assert caught.value.line == line
    assert caught.value.reason
    assert f"line {line}: " in str(caught.value)


DEEP = {
    "brackets": "(" * 20_000 + ")" * 20_000,
    "lists": "[" * 190 + "]" * 190,
    "a sum": "+".join(["1"] * 20_000),
    "a smaller sum": "+".join(["1"] * 1_500),
    "a chain": "x" + ".a" * 20_000,
    "negations": "not " * 20_000 + "x",
    "branches": "if x: pass\n" + "elif x: pass\n" * 6_000,
    "fewer branches": "if x: pass\n" + "elif x: pass\n" * 1_000,
    "a shorter chain": "x" + ".a()" * 2_000,
    "texts": "'a' " * 20_000,
}


@pytest.mark.parametrize("name", DEEP)
def test_deep_nesting_is_refused_or_stood(name):
    source = f"{IMPORT}{DEEP[name]}\n"

    try:
        done = rewrite(source, codes=CODES)
    except Unparsable as error:
        assert error.reason  # noqa: PT017 - either will do
    else:
        assert done.text == source.replace("langchain.memory", "holdover.compat")


def test_long_sums_and_branches_of_real_files_are_read(rewritten):
    source = (
        f"{IMPORT}x = {' + '.join(['y'] * 150)}\nz = (\n"
        + "    'a text'\n" * 150
        + ")\nif x: pass\n"
        + "elif x: pass\n" * 150
    )

    assert rewritten(source).text == source.replace(
        "langchain.memory", "holdover.compat"
    )


def test_what_nothing_is_to_be_found_in_is_not_parsed():
    assert rewrite("print 'hello'\n", codes=CODES).text == "print 'hello'\n"


def test_a_null_byte_is_no_python():
    with pytest.raises(Unparsable):
        rewrite(IMPORT + "\0", codes=CODES)


def test_a_large_file_is_read(rewritten):
    source = (
        IMPORT + "x = [\n" + "    'some text', 1.5, SimpleMemory,\n" * 5_000 + "]\n"
    )

    assert rewritten(source).text == source.replace(
        "langchain.memory", "holdover.compat"
    )


def test_a_stray_backslash_is_none_of_our_business(rewritten):
    source = IMPORT + 'x = "\\d"\n'

    assert rewritten(source).text.endswith(' "\\d"\n')


def test_what_would_not_be_python_is_left_alone(monkeypatch):
    monkeypatch.setattr(draft, "still_parses", lambda before, after: False)

    done = rewrite(IMPORT, codes=CODES)

    assert done.text == IMPORT
    assert [one.fixed for one in done.findings] == [False]
    assert "by hand" in done.findings[0].message


def test_changes_that_meet_are_left_alone(monkeypatch):
    monkeypatch.setattr(
        draft.Draft, "_comments", lambda self: [draft.Edit(6, 20, "nonsense")]
    )

    done = rewrite(IMPORT, codes=CODES)

    assert done.text == IMPORT
    assert not any(one.fixed for one in done.findings)


NEWER = {
    "a match": "match x:\n    case SimpleMemory(a=1) | {'b': 2, **rest}: pass\n"
    "    case [a, *b] as c: pass\n",
    "a walrus": "if (y := [z := 1 for _ in x]): pass\n",
    "groups": "try: pass\nexcept* ValueError as e: pass\n",
    "async": "async def f():\n    async with a as b, c: pass\n"
    "    async for d in e: yield [g async for g in h]\n",
    "stars": "def f(a, /, b, *c, d=1, **e): return {**a, 'x': [*b]}, f(*c, **e)\n",
    "globals": (
        "def f():\n    global x\n    x = 1\n    def g():\n        nonlocal_ = 1\n"
    ),
    "lambdas": "f = lambda *a, b=1, **c: (a, b, c)\n",
    "deletions": "del x[0], x.y, (x)\n",
    "annotations": "x: int\ny: list['int'] = []\nclass A[T]: ...\n"
    if sys.version_info >= (3, 12)
    else "x: int\ny: list['int'] = []\n",
    "texts": "x = f'{y!r:>{z}}' 'a' u'c'[0:1, ...]\n",
    "slices": "x[1:2:3, a:], x[:, None] = 1, 2\n",
    "a form feed": "\x0cx = 1\n\f\f\n\f# a\nclass A:\n\f    x = 1\n",
    "comments": "x = [  # a\n    1,  # b\n    # c\n]\n",
}


@pytest.mark.parametrize("name", NEWER)
def test_all_of_python_is_walked_through(name, rewritten):
    source = IMPORT + NEWER[name]

    assert rewritten(source).text == source.replace(
        "langchain.memory", "holdover.compat"
    )


def test_each_rule_is_in_a_module_of_its_name():
    assert list(ALL) == sorted(ALL)
    assert all(code == rule.code for code, rule in ALL.items())
    assert {rule.code for known in CALLS.values() for rule, _ in known} <= set(ALL)


def test_every_answer_of_the_table_has_a_rule():
    codes = {
        found.code
        for module in all_modules()
        for name in names_of(module)
        if (found := answer(module, name))
    }

    assert codes
    assert codes <= set(ALL)


@pytest.mark.parametrize("before", [IMPORT, IMPORT + "'\ud83d'\n"])
def test_half_a_character_is_never_written(before):
    assert not still_parses(before, IMPORT + "x = '\ud83d'\n")


@pytest.mark.parametrize("lost", ["\\\n", "\\\r\n"])
def test_where_the_tree_has_lost_something_nothing_is_written(lost):
    # One line up, a change of the import would only spoil a comment.
    source = f"{lost}x = 1\n# {'-' * 80}\n{IMPORT}"

    done = rewrite(source, codes=CODES)

    assert done.text == source
    assert [one.fixed for one in done.findings] == [False]


def removed_names():
    return [
        (module, name)
        for module in all_modules()
        for name in names_of(module)
        if removed(answer(module, name))
    ]


def test_a_comment_is_ascii_whatever_it_is_about():
    found = removed_names()
    assert found
    lines = [f"from {module} import {name}\n" for module, name in found]

    done = rewrite("".join(lines), codes=CODES)

    assert done.text.count("# TODO(holdover HO401): ") == len(found)
    assert done.text.isascii()


def test_what_an_answer_says_is_written_in_ascii(monkeypatch):
    said = Answer(Kind.REMOVED, "", "", "HO401", why="“Größe”\u2026 \u2014 né 名")
    monkeypatch.setattr(from_imports, "answer", lambda module, name: said)

    done = rewrite(IMPORT, codes=CODES)

    comment = done.text.partition("\n")[0]
    assert comment.isascii()
    assert '"Gro' in comment
    assert "... - ne" in comment


#: Arguments for which one rule or another leaves a comment.
OLD_ARGUMENTS = (
    "'s', connection_string=1", "buffer='Human: hi'", "store={1: 2}",
    "contact_points=['a']", "['a'], 's'", "memory_key='a'", "esnsure_ascii=False",
)  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_what_a_rule_writes_about_arguments_is_ascii(name):
    calls = "".join(f"{name}({one})\n" for one in OLD_ARGUMENTS)
    # Its own class of the name leaves nothing that could be imported.
    source = f"from holdover.compat import {name}\nInMemoryEntityStore = 1\n{calls}"

    done = rewrite(source, codes=CODES)

    assert done.findings
    assert done.text.isascii()


def test_form_feeds_stay_where_they_are(rewritten):
    done = rewritten(
        "\fimport os\n\f\n\f\f"
        "from langchain.memory import SimpleMemory, Nonsense\n\fx = '''\f\n\f'''\n"
    )

    head, _, rest = done.text.partition("# TODO")
    assert head == "\fimport os\n\f\n\f\f"
    assert rest.partition("\n")[2] == (
        "from langchain.memory import Nonsense\n"
        "from holdover.compat import SimpleMemory\n\fx = '''\f\n\f'''\n"
    )
