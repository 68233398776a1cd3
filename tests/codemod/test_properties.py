"""Generated programs mean the same after the rewrite: run and compared by identity.

Before, they run under the shim; after it, without.
"""

from __future__ import annotations

import typing
import warnings

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdover import compat
from holdover.compat import shim
from holdover.compat.shim.entries import ROOTS
from holdover.migrate.codemod.parsing import still_parses
from holdover.migrate.codemod.rule import ALL
from holdover.migrate.codemod.source import rewrite

pytest.importorskip("langchain_classic", reason="needs lane current")
pytest.importorskip("langchain_community", reason="needs lane current")
agents = pytest.importorskip("langchain.agents", reason="needs lane current")
if not hasattr(agents, "create_agent"):
    pytest.skip("needs LangChain 1.x", allow_module_level=True)

CODES = frozenset(ALL)
#: Modules with names that resolve in lane `current`.
KNOWN = {
    "langchain": ["PromptTemplate", "ConversationChain", "LLMChain"],
    "langchain.memory": [
        "ConversationBufferMemory", "ConversationSummaryMemory", "CombinedMemory",
        "InMemoryEntityStore", "ChatMessageHistory", "RedisChatMessageHistory",
    ],
    "langchain.memory.buffer": ["ConversationBufferMemory"],
    "langchain.memory.chat_memory": ["BaseChatMemory"],
    "langchain.memory.prompt": ["SUMMARY_PROMPT", "ENTITY_EXTRACTION_PROMPT"],
    "langchain.chains": ["LLMChain", "ConversationChain", "RetrievalQA"],
    "langchain.chains.conversation.memory": ["ConversationBufferWindowMemory"],
    "langchain.schema": ["BaseMemory", "Memory", "AIMessage", "Document"],
    "langchain.prompts": ["PromptTemplate", "ChatPromptTemplate"],
    "langchain.text_splitter": ["CharacterTextSplitter", "TextSplitter"],
    "langchain.agents": ["AgentExecutor", "create_agent", "ZeroShotAgent"],
    "langchain_core.memory": ["BaseMemory"],
    "langchain_core.messages": ["AIMessage", "HumanMessage"],
    "langchain_classic.memory": ["SimpleMemory", "ConversationEntityMemory"],
    "langchain_community.chat_message_histories": ["FileChatMessageHistory"],
}  # fmt: skip
#: No class, so not for annotations.
NO_CLASSES = ("SUMMARY_PROMPT", "ENTITY_EXTRACTION_PROMPT", "create_agent")
#: Modules that live on: a star gives what is left of them, or nothing installed has.
PARTLY_THERE = (
    "langchain", "langchain.agents", "langchain_classic.memory",
    "langchain_community.chat_message_histories",
)  # fmt: skip
ALIASES = ("m", "Alias", "größe", "名", "memory", "langchain_", "compat")
COMMENTS = ("", "  # why", "  # noqa: E402", "  # 名 (a, b)")


@st.composite
def names_of(draw, module, most=4):
    return draw(st.lists(st.sampled_from(KNOWN[module]), min_size=1, max_size=most))


@st.composite
def from_import(draw):
    module = draw(st.sampled_from(sorted(KNOWN)))
    names = draw(names_of(module))
    aliases = [draw(st.sampled_from((None, *ALIASES))) for _ in names]
    parts = [
        name if alias is None else f"{name} as {alias}"
        for name, alias in zip(names, aliases, strict=True)
    ]
    uses = [alias or name for name, alias in zip(names, aliases, strict=True)]
    shape = draw(st.sampled_from(["plain", "brackets", "lines", "backslash"]))
    head = f"from {module} import "
    if shape == "plain":
        lines = [head + ", ".join(parts) + draw(st.sampled_from(COMMENTS))]
    elif shape == "brackets":
        comma = draw(st.sampled_from(["", ",", " , "]))
        lines = [f"{head}({', '.join(parts)}{comma})" + draw(st.sampled_from(COMMENTS))]
    elif shape == "backslash":
        lines = [f"{head}\\", *(f"    {part}, \\" for part in parts)]
        lines[-1] = lines[-1].removesuffix(", \\")
    else:
        lines = [f"{head}(" + draw(st.sampled_from(COMMENTS))]
        for part in parts:
            if draw(st.booleans()):
                lines.append("    # on its own")
            lines.append(f"    {part}," + draw(st.sampled_from(COMMENTS)))
        lines.append(")" + draw(st.sampled_from(COMMENTS)))
    return lines, uses, []


@st.composite
def module_import(draw):
    module = draw(st.sampled_from(sorted(KNOWN)))
    names = draw(names_of(module))
    package, _, last = module.rpartition(".")
    shape = draw(st.sampled_from(["path", "alias", "from", "from alias"]))
    alias = draw(st.sampled_from(ALIASES))
    if shape == "path":
        line, holder = f"import {module}", module
    elif shape == "alias" or not package:
        line, holder = f"import os, {module} as {alias}", alias
    elif shape == "from":
        line, holder = f"from {package} import {last}", last
    else:
        line, holder = f"from {package} import {last} as {alias}", alias
    line += draw(st.sampled_from(COMMENTS))
    classes = [name for name in names if name not in NO_CLASSES]
    annotated = classes if draw(st.booleans()) else []
    uses = [f"{holder}.{name}" for name in names]
    return [line], uses, [f"{holder}.{name}" for name in annotated]


@st.composite
def star_import(draw):
    module = draw(st.sampled_from(sorted(set(KNOWN) - set(PARTLY_THERE))))
    names = draw(names_of(module))
    uses = [name for name in names if not name.startswith("_")]
    return [f"from {module} import *"], uses, []


def indented(lines, step):
    return [step + line for line in lines]


@st.composite
def by_others(draw, at, uses, classes):
    """Statements that read what is bound in less usual ways."""
    use = draw(st.sampled_from(uses))
    root, dot, _ = use.partition(".")
    ways = ["none", "none", "rebound"]
    ways += ["annotated", "optional"] * bool(classes)
    ways += ["exported", "exported by a call"] * (not dot)
    way = draw(st.sampled_from(ways))
    if way == "rebound":
        body = f"    seen.append({use}); {root} = {use}"
        return [f"class again_{at}:", body, f"seen.append(again_{at}.{root})"]
    if way in ("annotated", "optional"):
        use = draw(st.sampled_from(classes))
        form = f"typing.Annotated['{use}', '{use}']"
        form = f"typing.Optional['{use}']" if way == "optional" else form
        return [
            f"form_{at} = {form}",
            f"def g_{at}(x: form_{at}): ...",
            f"seen.append(typing.get_type_hints(g_{at})['x'])",
            f"seen.append(getattr(form_{at}, '__metadata__', None))",
        ]
    if way == "exported":
        return [f"__all__ += [{use!r}]"]
    if way == "exported by a call":
        call = draw(st.sampled_from(["extend([{!r}])", "append({!r})"]))
        return [f"__all__.{call.format(use)}"]
    return []


@st.composite
def unit(draw, at):
    """Imports, and statements that collect what they bind in `seen`."""
    kind = draw(st.sampled_from(["from", "from", "module", "module", "star"]))
    made = {"from": from_import(), "module": module_import(), "star": star_import()}
    lines, uses, annotated = draw(made[kind])
    step = draw(st.sampled_from(["    ", "\t", "  "]))
    collected = [f"seen.append({use})" for use in uses]
    places = ["module", "if", "try", "fallback", "one line"]
    if kind != "star":
        places += ["function", "class", "global", "branches"]
    place = draw(st.sampled_from(places))
    plain = len(lines) == 1 and "#" not in lines[0]
    if place == "one line" and plain:
        return [f"if True: {lines[0]}", *collected]
    if place == "if":
        lines = ["if True:", *indented(lines, step)]
    elif place == "try":
        tried = indented(lines, step)
        lines = ["try:", *tried, "except ImportError:", f"{step}raise"]
    elif place == "fallback":
        tried = indented(lines, step)
        lines = ["try:", *tried, "except ImportError:", *tried]
    elif place == "branches":
        inside = indented(lines, step)
        lines = ["if at_random():", *inside, "else:", *inside]
    elif place == "global":
        declared = ", ".join({use.partition(".")[0] for use in uses})
        inside = indented([f"global {declared}", *lines], step)
        lines = [f"def inner_{at}():", *inside, f"inner_{at}()"]
    elif place == "function":
        body = indented([*lines, *collected], step)
        return [f"def inner_{at}():", *body, f"inner_{at}()"]
    elif place == "class":
        body = indented([*lines, *collected], step)
        outside = uses if draw(st.booleans()) else []
        seen = [f"seen.append(inner_{at}.{use})" for use in outside]
        return [f"class inner_{at}:", *body, *seen]
    collected += draw(by_others(at, uses, annotated))
    annotations = []
    for number, use in enumerate(annotated):
        annotations += [
            f"def f_{at}_{number}(x: '{use}'): ...",
            f"seen.append(typing.get_type_hints(f_{at}_{number})['x'])",
        ]
    return [*lines, *collected, *annotations]


@st.composite
def programs(draw):
    lines = ['"""Says langchain.memory."""', "import typing, random"]
    lines += ["seen = []", "__all__ = []", "at_random = lambda: random.random() < 0.5"]
    for at in range(draw(st.integers(1, 4))):
        lines += draw(unit(at))
        lines += draw(st.sampled_from([[], [""], ["# from langchain.memory import *"]]))
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    end = draw(st.sampled_from([newline, ""]))
    return newline.join(lines) + end


def same(before, after):
    """Whether two are one object, or ours is in the place of a classic class."""
    if before is after or (before == after and isinstance(before, tuple | str)):
        return True
    if typing.get_origin(before) is typing.Union:
        return all(map(same, typing.get_args(before), typing.get_args(after)))
    replaced = getattr(before, "__module__", "").startswith(
        ("langchain_classic.memory.", "langchain_community.chat_message_histories.")
    )
    return replaced and getattr(compat, before.__name__, None) is after


def run(source):
    return space_of(source)["seen"]


def space_of(source):
    space = {"__name__": "generated"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(source, "<generated>", "exec", dont_inherit=True), space)
    assert set(space["__all__"]) <= set(space)
    return space


@pytest.fixture
def silent(monkeypatch):
    monkeypatch.setenv("HOLDOVER_SHIM", "silent")


@given(source=programs())
@settings(
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_names_keep_their_meaning(silent, source):
    with shim.installed():
        before = run(source)

    done = rewrite(source, codes=CODES)

    assert still_parses(source, done.text)
    assert rewrite(done.text, codes=CODES).text == done.text
    if not all(finding.fixed for finding in done.findings):
        # A person decides; what is left must mean the same under the shim.
        with shim.installed():
            after = run(done.text)
    else:
        after = run(done.text)
    assert len(before) == len(after)
    assert all(map(same, before, after))


@given(
    source=programs(),
    about=st.sampled_from([{"module": "generated.__init__"}, {"stub": True}]),
)
@settings(
    deadline=None,
    max_examples=80,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_what_other_files_may_import_stays_bound(silent, source, about):
    with shim.installed():
        before = space_of(source)

        done = rewrite(source, codes=CODES, **about)
        after = space_of(done.text)

    # A path binds its root, which no other file reads from here.
    assert set(before) - set(ROOTS) <= set(after)
    assert all(map(same, before["seen"], after["seen"]))


@given(source=programs(), chosen=st.sets(st.sampled_from(sorted(ALL))))
@settings(
    deadline=None,
    max_examples=80,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_some_of_the_rules_keep_the_meaning_too(silent, source, chosen):
    codes = frozenset(chosen)
    with shim.installed():
        before = run(source)

        done = rewrite(source, codes=codes)
        after = run(done.text)

    assert rewrite(done.text, codes=codes).text == done.text
    assert {finding.code for finding in done.findings} <= codes
    assert len(before) == len(after)
    assert all(map(same, before, after))


@given(source=programs(), text=st.text(max_size=30))
@settings(deadline=None, max_examples=60)
def test_what_stands_around_stays_to_the_byte(source, text):
    quoted = f"x = {text!r}  # {text!r}\n"
    before = quoted + source

    done = rewrite(before, codes=CODES)

    assert done.text.startswith(quoted)
    kept = [line for line in source.splitlines() if "seen.append(" not in line]
    for line in kept:
        if line.lstrip().startswith(("#", "def ", "class ", "if True:\n")):
            assert line.partition("(")[0] in done.text
