"""Who may import whom, read from the source."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMPAT = ROOT / "compat" / "holdover" / "compat"
MIGRATE = ROOT / "migrate" / "holdover" / "migrate"
CLASSIC = ("langchain_classic", "langchain_community", "langchain")


def modules(root):
    return sorted(root.rglob("*.py"))


def imported(node):
    """The absolute names one import statement asks for."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.level == 0:
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []


def only_for_types(node):
    if not isinstance(node, ast.If):
        return False
    return ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}


def on_import(body):
    """The import statements that run when the module is imported."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        elif only_for_types(node):
            yield from on_import(node.orelse)
        else:
            for name in ("body", "orelse", "finalbody"):
                yield from on_import(getattr(node, name, []))
            for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
                yield from on_import(part.body)


def belongs_to(name, packages):
    return any(
        name == package or name.startswith(f"{package}.") for package in packages
    )


def test_the_rules_see_every_kind_of_import():
    source = (
        "import a.b\n"
        "try:\n    from c import d\nexcept ImportError:\n    import e\n"
        "class K:\n    import f\n"
        "def g():\n    import h\n"
        "if TYPE_CHECKING:\n    import i\nelse:\n    import j\n"
    )
    found = {name for n in on_import(ast.parse(source).body) for name in imported(n)}
    assert found == {"a.b", "c", "c.d", "e", "f", "j"}


@pytest.mark.parametrize(
    "path", modules(COMPAT), ids=lambda p: str(p.relative_to(ROOT))
)
def test_compat_never_imports_migrate(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        for name in imported(node):
            assert not belongs_to(name, ["holdover.migrate"]), f"{path}:{node.lineno}"


@pytest.mark.parametrize(
    "path",
    [*modules(COMPAT), *modules(MIGRATE)],
    ids=lambda p: str(p.relative_to(ROOT)),
)
def test_only_base_imports_classic_at_module_level(path):
    if path == COMPAT / "base.py":
        pytest.skip("the one module that may")
    for node in on_import(ast.parse(path.read_text("utf-8")).body):
        for name in imported(node):
            assert not belongs_to(name, CLASSIC), f"{path}:{node.lineno}"


def test_import_is_silent_and_leaves_classic_alone(tmp_path):
    code = (
        "import sys, holdover.compat\n"
        f"print([name for name in {CLASSIC!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "[]", "")
