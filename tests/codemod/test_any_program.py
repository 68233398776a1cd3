"""Programs of any shape, most of them nonsense: rewritten once, and then left alone."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdover.migrate.codemod.parsing import still_parses
from holdover.migrate.codemod.rule import ALL
from holdover.migrate.codemod.source import rewrite

CODES = frozenset(ALL)
MODULES = (
    "langchain", "langchain.memory", "langchain.memory.buffer", "langchain.schema",
    "langchain.chains", "langchain.chains.conversation", "langchain.agents",
    "langchain.llms.openai", "langchain_core.memory", "langchain_core.messages",
    "langchain_classic.memory", "langchain_community.chat_message_histories",
    "holdover.compat", "os", "mine",
)  # fmt: skip
NAMES = (
    "ConversationBufferMemory", "ConversationEntityMemory", "SQLChatMessageHistory",
    "MongoDBChatMessageHistory", "InMemoryEntityStore", "BaseMemory", "Memory",
    "AIMessage", "LLMChain", "AgentExecutor", "create_agent", "verbose", "Nonsense",
    "memory", "chains", "schema", "agents", "m",
)  # fmt: skip
LOCALS = ("m", "memory", "langchain", "holdover", "x", "LLMChain", "größe")
COMMENTS = (
    "", "", "", "  # why", "  # noqa", "  # holdover: ignore",
    "  # holdover: ignore[HO101]", "  # TODO(holdover HO402): later",
)  # fmt: skip

ARGUMENTS = (
    "", "connection_string=1", "'s', 'sqlite://'", "buffer=''", "store={}",
    "store={1: 2}, buffer=[]", "memory_key='a', buffer=['b']", "*x, **x",
)  # fmt: skip

modules = st.sampled_from(MODULES)
names = st.sampled_from(NAMES)
some_locals = st.sampled_from(LOCALS)
comments = st.sampled_from(COMMENTS)


@st.composite
def aliases(draw):
    name = draw(names)
    return f"{name} as {draw(some_locals)}" if draw(st.booleans()) else name


@st.composite
def from_imports(draw):
    head = f"from {draw(modules)} import "
    found = draw(st.lists(aliases(), min_size=1, max_size=4))
    shape = draw(st.integers(0, 3))
    if shape == 0:
        return head + ", ".join(found)
    if shape == 1:
        return f"{head}({', '.join(found)}, )"
    if shape == 2:
        return f"{head}\\\n  " + ", \\\n  ".join(found)
    lines = [f"        {one},{draw(comments)}" for one in found]
    return "\n".join([f"{head}({draw(comments)}", *lines, "    )"])


@st.composite
def imports(draw):
    found = draw(st.lists(modules, min_size=1, max_size=3))
    parts = [
        f"{one} as {draw(some_locals)}" if draw(st.booleans()) else one for one in found
    ]
    return f"import {', '.join(parts)}"


@st.composite
def uses(draw):
    name = draw(names)
    path = draw(st.one_of(modules, some_locals))
    thing = draw(st.sampled_from([name, f"{path}.{name}", path]))
    arguments = draw(st.sampled_from(ARGUMENTS))
    forms = (
        f"{thing}({arguments})", f"x = {thing}", f"{thing} = 1", f"del {thing}",
        f"y: '{thing} | list[{thing}]'", f"y: {thing} = {thing}", f"f({thing})",
        f"patch('{path}.{name}')", f"import_module('{path}')", f"lambda m: {thing}",
        f"[{thing} for m in x]", f"f'{{{thing}}}'", f"global_ = ({thing} := 1)"
        if thing.isidentifier() else thing,
        f"typing.cast('{thing}', x)", f"__all__ = ['{name}']", f"x += {thing}",
        f"x = (\n        {thing}\n    )", f"class x: {name} = {thing}",
        f"class x: {name}: {thing}", f"__all__.extend(['{name}'])",
        f"y: Annotated['{thing}', '{thing}']", f"A = Optional['{thing}']",
        f"T = TypeVar('T', '{thing}')", f"y = list['{thing}']",
        f"def f():\n        global {name}\n        {name} = {thing}",
    )  # fmt: skip
    return draw(st.sampled_from(forms))


simple = st.one_of(
    from_imports(),
    from_imports(),
    imports(),
    uses(),
    uses(),
    modules.map("from {} import *".format),
    st.sampled_from(["pass", "exec(x)", "x = 1", "'langchain.memory'", "return_ = 1"]),
)
HEADS = (
    ("if x:",), ("if x:", "else:"), ("if x:", "elif m.LLMChain:", "else:"),
    ("try:", "except ImportError:"), ("try:", "except m.Memory as memory:"),
    ("try:", "finally:"), ("for m in x:",), ("with x as memory:",), ("while x:",),
    ("def f(m, x='langchain.memory'):",), ("def memory(*langchain):",),
    ("async def f(y: 'langchain.memory.BaseMemory'):",),
    ("class m(memory.BaseMemory):",), ("def g():\n    global m, memory, langchain",),
    ("def f(m):\n    def g():\n        nonlocal m\n        m = 1",),
    ("@m.Nonsense\ndef f():",), ("match x:\n    case m.AIMessage(content=x):",),
)  # fmt: skip


@st.composite
def blocks(draw, depth=0):
    """Lines of statements, each with the newline of a statement."""
    lines = []
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.integers(0, 9))
        if kind < 6 or depth > 2:
            lines.append(draw(simple) + draw(comments))
        elif kind == 6:
            parts = draw(st.lists(simple, min_size=2, max_size=3))
            lines.append("; ".join(parts))
        elif kind == 7:
            lines.append(f"if x: {draw(simple)}{draw(comments)}")
        elif kind == 8:
            lines.append(draw(st.sampled_from(["", "# langchain", "\f"])))
        else:
            for head in draw(st.sampled_from(HEADS)):
                step = "        " if head.startswith("match") else "    "
                body = draw(blocks(depth + 1))
                lines.append(head)
                lines += [step + line if line.strip() else line for line in body]
                lines.append(f"{step}pass")
    return "\n".join(lines).split("\n")


@st.composite
def programs(draw):
    text = "\n".join(draw(blocks()))
    return text.replace("\n", draw(st.sampled_from(["\n", "\n", "\r\n"])))


@given(
    source=programs(),
    codes=st.one_of(st.just(CODES), st.sets(st.sampled_from(sorted(ALL)))),
)
@settings(
    deadline=None,
    max_examples=250,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_once_is_enough(source, codes):
    if not _is_python(source):
        return
    codes = frozenset(codes)

    done = rewrite(source, codes=codes)

    again = rewrite(done.text, codes=codes)
    assert again.text == done.text
    assert not any(finding.fixed for finding in again.findings)
    assert still_parses(source, done.text)
    assert done.text.isascii() >= source.isascii()
    assert not any("by hand" in finding.message for finding in done.findings)
    assert {finding.code for finding in done.findings} <= codes
    assert (done.text == source) or done.findings


def _is_python(source):
    try:
        compile(source, "<generated>", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True
