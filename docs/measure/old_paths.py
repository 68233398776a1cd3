"""Write what became of each import path of LangChain before 1.0, for shim and codemod.

    python docs/measure/old_paths.py

It takes wheels from the package index and reads, without importing them, the sources
of langchain 0.3.27, of older releases, of langchain-classic 1.0.8 and of what they
point to; and `tests/corpus/import_paths.json`, a record of which paths around memory
imported in which release. What these cannot tell is decided by hand in
`compat/holdover/compat/shim/data/reviewed.json`. It writes `homes.json` beside it;
`import_paths.py` makes the page of it.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "compat" / "holdover" / "compat" / "shim" / "data"
HOMES = DATA / "homes.json"
PROBED = ROOT / "tests" / "corpus" / "import_paths.json"
OLD = "langchain==0.3.27"
CLASSIC = "langchain-classic==1.0.8"
#: What those two hand names out from; the last releases when this was written.
BEHIND = (
    "langchain-community==0.4.2",
    "langchain-core==1.8.3",
    "langchain-experimental==0.4.2",
    "langchain-text-splitters==1.1.3",
)
#: Where the modules and names are that LangChain 1.x still has: its first and last.
PRESENT = ("langchain==1.0.0", "langchain==1.5.2")
#: Packages that were made of parts of langchain, and kept the paths below.
SPLIT_OFF = {
    "langchain.memory.chat_message_histories": (
        "langchain_community.chat_message_histories"
    ),
    "langchain.experimental": "langchain_experimental",
    "langchain": "langchain_community",
}
#: Names that were public once and had gone by 0.3.27.
OLDER = tuple(f"langchain==0.0.{number}" for number in (100, 150, 187, 200, 300, 354))
#: The last releases before 1.0 of packages that lost names themselves.
BEFORE = ("langchain-community==0.3.31", "langchain-core==0.3.86")
#: What `langchain_core.pydantic_v1` handed out, of what applications use.
PYDANTIC = (
    "BaseModel", "BaseSettings", "ConfigDict", "Extra", "Field", "PrivateAttr",
    "SecretStr", "ValidationError", "conint", "constr", "create_model", "parse_obj_as",
    "root_validator", "validator",
)  # fmt: skip
#: Names that memory has here, and the module they are served from.
OURS = "holdover.compat"
CONVERTERS = ("BaseMessageConverter", "DefaultMessageConverter")
#: Old modules that define what is ours now, as prefixes.
MEMORY = (
    "langchain_classic.memory",
    "langchain_classic.base_memory",
    "langchain_classic.agents.openai_functions_agent.agent_token_buffer_memory",
    "langchain_community.chat_message_histories",
    "langchain_community.memory",
)
GONE = "GONE"
UNCHANGED = "unchanged"

#: What is below such a condition does not run on import.
NOT_RUN = re.compile("TYPE_CHECKING|__name__")
#: Shorter names say too little to be looked for by name alone.
LONG = 8
#: What modules call the tables their `__getattr__` asks.
LOOKUP = re.compile("lookup|_dynamic_imports", re.IGNORECASE)

Home = tuple[str, str]


class Module:
    """What one source file binds at its top level.

    Attributes:
        bound: Each name, with where it is taken from; `None` if it is made here.
        public: Its `__all__`, or `None` where it has none that can be read.
    """

    def __init__(self, name: str, source: bytes, *, package: bool) -> None:
        self.name = name
        self.package = package
        self.bound: dict[str, Home | None] = {}
        self.public: list[str] | None = None
        #: A module that is asked for whatever is not here.
        self.behind: str | None = None
        tree = ast.parse(source)
        for statement in _unconditional(tree.body):
            self._read(statement)
        for node in ast.walk(tree):
            if isinstance(node, ast.keyword) and node.arg == "fallback_module":
                self.behind = str(ast.literal_eval(node.value))
            if isinstance(node, ast.FunctionDef) and node.name == "__getattr__":
                self._read_getattr(node)
            elif isinstance(node, ast.FunctionDef) and node.name.startswith("_import_"):
                self._read_loader(node)

    def _read(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.ImportFrom):
            source = self._absolute(statement)
            for alias in statement.names:
                self.bound[alias.asname or alias.name] = (source, alias.name)
        elif isinstance(
            statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        ):
            self.bound[statement.name] = None
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = (
                statement.targets
                if isinstance(statement, ast.Assign)
                else [statement.target]
            )
            for target in targets:
                if isinstance(target, ast.Name):
                    self._read_assignment(target.id, statement.value)

    def _read_assignment(self, name: str, value: ast.expr | None) -> None:
        if name == "__all__":
            self.public = _strings(value)
        elif isinstance(value, ast.Dict) and LOOKUP.search(name):
            for key, module in zip(value.keys, value.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(module, ast.Constant):
                    self._look_up(str(key.value), str(module.value))
        elif isinstance(value, ast.Name) and value.id in self.bound:
            self.bound[name] = self.bound[value.id] or (self.name, value.id)
        elif not name.startswith("__"):
            self.bound[name] = None

    def _look_up(self, name: str, module: str) -> None:
        """Read one line of a table that a module's `__getattr__` asks."""
        if module == "__module__":
            self.bound.setdefault(name, (self.name, name))
        elif module.startswith("langchain"):
            self.bound.setdefault(name, (module, name))
        else:  # langchain-core writes names of its submodules
            self.bound.setdefault(name, (f"{self.name}.{module}", name))

    def _read_getattr(self, function: ast.FunctionDef) -> None:
        """Read `if name == "X": from somewhere import X`."""
        for node in ast.walk(function):
            if not (isinstance(node, ast.If) and isinstance(node.test, ast.Compare)):
                continue
            try:
                asked = ast.literal_eval(node.test.comparators[0])
            except ValueError:
                continue
            for inner in node.body:
                if isinstance(inner, ast.ImportFrom):
                    home = (self._absolute(inner), inner.names[0].name)
                    for name in asked if isinstance(asked, set | tuple) else (asked,):
                        self.bound.setdefault(str(name), home)

    def _read_loader(self, function: ast.FunctionDef) -> None:
        """Read a function that imports one public name when it is asked for."""
        for node in function.body:
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    self.bound.setdefault(
                        alias.asname or alias.name, (self._absolute(node), alias.name)
                    )

    def _absolute(self, statement: ast.ImportFrom) -> str:
        if not statement.level:
            return statement.module or ""
        parts = self.name.split(".")
        cut = statement.level - (1 if self.package else 0)
        parts = parts[: len(parts) - cut]
        return ".".join([*parts, *([statement.module] if statement.module else [])])


def _unconditional(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Give the statements that run on import, and not those for type checkers."""
    for statement in body:
        if isinstance(statement, ast.If):
            if not NOT_RUN.search(ast.dump(statement.test)):
                yield from _unconditional(statement.body)
        elif isinstance(statement, ast.Try):
            yield from _unconditional(statement.body)
        else:
            yield statement


def _strings(value: ast.expr | None) -> list[str] | None:
    try:
        found = ast.literal_eval(value) if value is not None else None
    except ValueError:
        return None
    return [str(one) for one in found] if isinstance(found, list | tuple) else None


def modules_of(wheel: Path) -> dict[str, Module]:
    """Every module of a wheel, by its dotted name."""
    found = {}
    with zipfile.ZipFile(wheel) as archive:
        for path in archive.namelist():
            if not path.endswith(".py"):
                continue
            parts = path.removesuffix(".py").split("/")
            package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if package else parts)
            found[name] = Module(name, archive.read(path), package=package)
    return found


def fetch(folder: Path, *requirements: str) -> dict[str, Module]:
    """Download wheels and read them."""
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "download", "-q", "--no-deps"),
            *("-d", folder, *requirements),
        ],
        check=True,
    )
    found: dict[str, Module] = {}
    for wheel in sorted(folder.glob("*.whl")):
        found |= modules_of(wheel)
    return found


class Trees:
    """The releases together: where does a name of classic really come from?"""

    def __init__(self, old: dict[str, Module], new: dict[str, Module]) -> None:
        self.old = old
        self.new = new
        self.ours, self.prompts = _our_names()
        self.reviewed = json.loads((DATA / "reviewed.json").read_text("utf-8"))

    def home(self, module: str, name: str) -> Home | None:
        """Where an old name lives now; `None` if it cannot be told."""
        classic = _classic(module)
        defined = self._definition(classic, name)
        if defined is None:
            return None
        ours = self.ours_of(*self._last_in_memory(classic, name))
        if ours is not None:
            return ours
        where, what = defined
        if not where.startswith("langchain_classic."):
            return self._shortest(where, what)
        return self._within_classic(classic, name) or (where, what)

    def same_place(self, module: str, name: str) -> Home | None:
        """Where another package has a module of that path with that name."""
        for old, new in SPLIT_OFF.items():
            there = new + module.removeprefix(old)
            here = self.new.get(there) if module.startswith(f"{old}.") else None
            if here and name in here.bound:
                return self.home_of_present(there, name)
        return None

    def only_one_called(self, name: str) -> Home | None:
        """Where community has the only class of that name, in another module."""
        if name in self.reviewed["removed"] or not name[0].isupper() or name.isupper():
            return None
        made = {
            (module.name, name)
            for module in self.new.values()
            if module.name.startswith("langchain_community.")
            and name in module.bound
            and module.bound[name] is None
        }
        return self._shortest(*made.pop()) if len(made) == 1 else None

    def home_of_present(self, module: str, name: str) -> Home | None:
        """Where to import a present name from, as `home` says it for an old one."""
        ours = self.ours_of(*self._last_in_memory(module, name))
        defined = self._definition(module, name)
        return ours or (self._shortest(*defined) if defined else None)

    def ours_of(self, module: str, name: str) -> Home | None:
        """What a name of a memory module that still exists has moved to."""
        if not module.startswith(MEMORY):
            return None
        if name == "ChatMessageHistory":  # an alias of core's class there
            return (OURS, name)
        defined = self._definition(module, name)
        here = defined is not None and defined[0].startswith(MEMORY)
        return self._named_ours(name) if here else None

    def _named_ours(self, name: str) -> Home | None:
        if name in self.ours:
            return (OURS, name)
        if name in self.prompts:
            return (f"{OURS}.prompt", name)
        if name in CONVERTERS:
            return (f"{OURS}.chat_message_histories.sql_converters", name)
        return None

    def _last_in_memory(self, module: str, name: str) -> Home:
        """Follow a name to the innermost memory module that it comes from."""
        last, seen = (module, name), set()
        while (module, name) not in seen and module in self.new:
            seen.add((module, name))
            if module.startswith(MEMORY):
                last = (module, name)
            source = self.new[module].bound.get(name)
            if source is None:
                break
            module, name = source
        return last

    def _definition(self, module: str, name: str) -> Home | None:
        """Follow imports and lookups to the module that makes the object."""
        seen = set()
        while (module, name) not in seen:
            seen.add((module, name))
            here = self.new.get(module)
            if here is None:
                return None
            if name not in here.bound and here.behind is not None:
                module = here.behind
                continue
            if name not in here.bound:
                return self._from_community(here, name)
            source = here.bound[name]
            if source is None:
                return (module, name)
            module, name = source
        return None

    def _from_community(self, here: Module, name: str) -> Home | None:
        """Some modules ask community for whatever their `__all__` names."""
        there = here.name.replace("langchain_classic.", "langchain_community.", 1)
        if there == here.name or name not in (here.public or ()):
            return None
        return self._definition(there, name)

    def _within_classic(self, module: str, name: str) -> Home | None:
        """The path in classic to write: the old one, but not through memory or root."""
        seen = set()
        while module not in seen:
            seen.add(module)
            leaving = module == "langchain_classic" or module.startswith(MEMORY[:1])
            source = self.new[module].bound.get(name)
            if not leaving or source is None:
                return (module, name)
            module, name = source
        return None

    def _shortest(self, module: str, name: str) -> Home | None:
        """The outermost package that makes this name public, else where it is made."""
        parts = module.split(".")
        # Classic's root warns of what it hands out.
        first = 2 if parts[0] == "langchain_classic" else 1
        for count in range(first, len(parts) + 1):
            package = self.new.get(".".join(parts[:count]))
            if package is None or name not in (package.public or ()):
                continue
            if self._definition(package.name, name) == (module, name):
                return (package.name, name)
        return (module, name) if module in self.new else None


def _classic(module: str) -> str:
    return "langchain_classic" + module.removeprefix("langchain")


def _our_names() -> tuple[set[str], set[str]]:
    import holdover.compat  # noqa: PLC0415
    from holdover.compat import prompt  # noqa: PLC0415

    own = {"HoldoverError", "PlainRedisStore", "Repository", "Scope", "configure"}
    own |= {
        "StoreChatMessageHistory",
        "close_stores",
        "configured",
        "open_store",
        "probe",
    }
    # These live on in langchain-core.
    own |= {"BaseChatMessageHistory"}
    return set(holdover.compat.__all__) - own, set(prompt.__all__)


class Table:
    """What became of each name, as it is written down."""

    def __init__(self, trees: Trees, present: dict[str, Module]) -> None:
        self.trees = trees
        self.present = present
        self.reviewed = trees.reviewed
        self.homes: dict[str, dict[str, Home]] = defaultdict(dict)
        self.removed: dict[str, dict[str, str]] = defaultdict(dict)

    def add_vanished(self, module: Module, name: str, release: str) -> None:
        """Decide about a name of a module that 0.3 had no more."""
        if self._stays(module.name, name):
            return
        if name not in self.homes[module.name] and name not in self.reviewed["names"]:
            home = self._home_of_vanished(module, name)
            if (
                home is not None
                and f"{module.name}.{name}" not in self.reviewed["paths"]
            ):
                self.homes[module.name][name] = home
        self.add(module.name, name, release)

    def _home_of_vanished(self, module: Module, name: str) -> Home | None:
        source = module.bound.get(name)
        if source is not None:
            return self.homes.get(source[0], {}).get(source[1])
        there = self.trees.same_place(module.name, name)
        if there is not None or len(name) < LONG or name.isupper():
            return there
        homes = {held[name] for held in self.homes.values() if name in held}
        if name[0].islower() and len(homes) > 1:
            return None  # functions of that name, which do different things
        return min(homes, key=lambda home: (len(home[0]), home), default=None)

    def add(self, module: str, name: str, release: str, probed: str = "") -> None:
        """Decide about one name that a release had."""
        if name in self.homes[module] or self._stays(module, name):
            return
        home = (
            self._home(module, name)
            or self._of_probed(probed)
            or self.trees.same_place(module, name)
            or self.trees.only_one_called(name)
        )
        if home is not None:
            self.homes[module][name] = home
            self.removed[module].pop(name, None)
        elif name not in self.removed[module]:
            reason = self.reviewed["removed"].get(name)
            last = f"It was last in {release}; Holdover knows no package that has it."
            self.removed[module][name] = reason or last

    def _home(self, module: str, name: str) -> Home | None:
        path = f"{module}.{name}"
        if module in self.reviewed["modules"]:
            return (self.reviewed["modules"][module], name)
        if path in self.reviewed["paths"]:
            return _split(self.reviewed["paths"][path])
        if module.startswith(("langchain_community", "langchain_core")):
            return self._of_community(module, name)
        found = (
            self.trees.home(module, name)
            if module.startswith("langchain.") or module == "langchain"
            else None
        )
        # Community has kept files of classes that it no longer makes public.
        left = found is None or found[0].startswith("langchain_community.")
        if left and name in self.reviewed["names"]:
            return _split(self.reviewed["names"][name])
        return found

    def _of_community(self, module: str, name: str) -> Home | None:
        ours = self.trees.ours_of(module, name)
        return ours or (
            _split(self.reviewed["names"][name])
            if name in self.reviewed["names"]
            else None
        )

    def _of_probed(self, now: str) -> Home | None:
        """What the record says, where the sources say nothing."""
        if now in ("", GONE, UNCHANGED):
            return None
        return self.trees.home_of_present(*_split(now))

    def _stays(self, module: str, name: str) -> bool:
        here = self.present.get(module)
        if here is None:
            return False
        if module.startswith(("langchain_community", "langchain_core")):
            return name in here.bound and not self._of_community(module, name)
        return name in (here.public or ()) or name == "__version__"

    def document(self) -> dict[str, object]:
        """The table as plain data, the same path in classic written as `=`."""
        modules = {}
        for module in sorted({*self.homes, *self.removed}):
            homes: dict[str, list[str]] = defaultdict(list)
            for name, (where, what) in sorted(self.homes[module].items()):
                key = "=" if where == _classic(module) else where
                homes[key].append(name if what == name else f"{name}={what}")
            if not homes and not self.removed[module]:
                continue
            entry: dict[str, object] = {"homes": dict(sorted(homes.items()))}
            if self.removed[module]:
                entry["removed"] = dict(sorted(self.removed[module].items()))
            hidden = self._hidden(module)
            if hidden is not None:
                entry["hidden"] = hidden
            if module in self.present:
                entry["stays"] = True
            modules[module] = entry
        return {
            "about": "Made by docs/measure/old_paths.py; do not edit. Of each old "
            "module: the names by the module they are in now (`=`: the same path in "
            "langchain_classic; `a=b`: it is called b there), those that are gone, "
            "what a star left out, and whether LangChain 1.x has the module still.",
            "modules": modules,
        }

    def _hidden(self, module: str) -> list[str] | None:
        """The names a star left out; `None` where these are the private ones."""
        known = {*self.homes[module], *self.removed[module]}
        here = self.trees.old.get(module)
        if here is None or here.public is None:
            return None
        hidden = sorted(known.difference(here.public))
        private = sorted(name for name in known if name.startswith("_"))
        return None if hidden == private else hidden


def _split(path: str) -> Home:
    module, _, name = path.rpartition(".")
    return module, name


def names_in(module: Module, everything: dict[str, Module]) -> Iterator[str]:
    """The names of an old module that somebody may have imported."""
    yield from module.public or ()
    behind = module.behind and everything.get(module.behind)
    if behind:
        yield from (name for name, one in behind.bound.items() if one is None)
    for name, source in module.bound.items():
        if name.startswith("__") or name == "logger":
            continue
        if source is None:
            if not name.startswith("_"):
                yield name
        elif source[0].startswith("langchain") and not _is_tool(source, everything):
            yield name


def _is_tool(source: Home, everything: dict[str, Module]) -> bool:
    """Whether it is how a module does its work: a decorator, or a module."""
    where, what = source
    if "._api" in where or what in ("pre_init", "create_importer"):
        return True
    return f"{where}.{what}" in everything


def build(folder: Path) -> dict[str, object]:
    """Read all releases and decide about every name."""
    old = fetch(folder / "old", OLD)
    new = fetch(folder / "new", CLASSIC, *BEHIND)
    present = {**new}
    for release in PRESENT:
        present |= fetch(folder / release, release)
    table = Table(Trees(old, new), present)
    for module, where in sorted(table.reviewed["modules"].items()):
        table.homes[module].update({name: (where, name) for name in PYDANTIC})
    for module in old.values():
        for name in names_in(module, {**old, **new}):
            table.add(module.name, name, _said(OLD))
    for release in reversed(OLDER):
        _add_older(table, fetch(folder / release, release), _said(release))
    for release in BEFORE:
        _add_before(table, fetch(folder / release, release), _said(release))
    _add_probed(table)
    return table.document()


def _said(release: str) -> str:
    return release.replace("==", " ")


def _add_older(table: Table, older: dict[str, Module], last: str) -> None:
    for module in older.values():
        if module.name in table.trees.old:
            for name in _own_names(module):
                table.add_vanished(module, name, last)
        elif module.name.startswith("langchain"):
            for name in names_in(module, older):
                table.add_vanished(module, name, last)


def _own_names(module: Module) -> Iterator[str]:
    """What a module that lived on made, or handed out."""
    yield from module.public or ()
    for name, source in module.bound.items():
        of_langchain = source is not None and source[0].startswith("langchain")
        if name[0] == "_" or name.isupper() or name == "logger":
            continue
        if source is None or (module.package and of_langchain):
            yield name


def _add_before(table: Table, before: dict[str, Module], last: str) -> None:
    """Add what packages that still exist have lost."""
    for module in before.values():
        here = table.trees.new.get(module.name)
        for name in module.public or ():
            if here is None or name not in {*here.bound, *(here.public or ())}:
                table.add(module.name, name, last)


def _add_probed(table: Table) -> None:
    """Add what was seen to be imported, wherever it came from."""
    for path, held in json.loads(PROBED.read_text("utf-8"))["symbols"].items():
        module, name = _split(path)
        root = path.partition(".")[0]
        if root == "langchain" or (
            root != "langchain_classic" and _gone(held, table.trees, module, name)
        ):
            table.add(module, name, held["releases"][-1], held["now"])


def _gone(held: dict[str, str], trees: Trees, module: str, name: str) -> bool:
    return held["now"] != UNCHANGED or trees.ours_of(module, name) is not None


def as_text(document: dict[str, object]) -> str:
    """JSON with one line for each home of a module's names."""
    text = json.dumps(document, indent=1, ensure_ascii=False)
    return re.sub(r"\[\s+([^\]]*?)\s+\]", _on_one_line, text) + "\n"


def _on_one_line(found: re.Match[str]) -> str:
    return "[" + re.sub(r",\s+", ", ", found[1]) + "]"


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--wheels", type=Path, help="keep the wheels in this folder")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        document = build(chosen.wheels or Path(scratch))
    HOMES.write_text(as_text(document), "utf-8")
    print(f"{len(document['modules'])} modules in {HOMES.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
