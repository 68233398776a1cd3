"""Which files a command is about, in one order whatever the file system's is."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

from holdover.migrate.codemod.naming import short
from holdover.migrate.errors import UsageError

SUFFIXES = (".py", ".pyi", ".ipynb")
#: Folders of tools and of other people's code. A path that is named is taken anyway.
LEFT_OUT = frozenset(
    {"__pycache__", "build", "dist", "node_modules", "site-packages", "venv"}
)

Complain = Callable[[str, str], None]


def find(
    paths: Sequence[str],
    *,
    exclude: Iterable[str] = (),
    complain: Complain | None = None,
) -> Iterator[str]:
    """The source files at and below some paths, each once.

    Links that a folder holds are not followed: what they lead to is either in the
    tree, and found there, or somebody else's.

    Args:
        paths: Files and folders; a file is taken whatever it is called.
        exclude: Globs of file and folder names, or of paths.
        complain: Told of folders that cannot be listed: the path, and why.

    Raises:
        UsageError: A path does not exist; before anything is given.
    """
    refuse_missing(paths)
    found = _found(paths, tuple(exclude), complain or _silent)
    return _once(found, several=len(paths) > 1)


def refuse_missing(paths: Sequence[str]) -> None:
    """Refuse paths of which one does not exist.

    Raises:
        UsageError: It names the first.
    """
    for path in paths:
        if not os.path.lexists(path):
            raise UsageError(f"{short(path)}: no such file or folder.")
        if not Path(path).exists():
            raise UsageError(f"{short(path)}: a link that leads nowhere.")


def _found(
    paths: Sequence[str], exclude: tuple[str, ...], complain: Complain
) -> Iterator[str]:
    for path in paths:
        if not Path(path).is_dir():
            # None of the folders it is said to be in, either.
            if not any(_excluded(str(one), exclude) for one in _with_parents(path)):
                yield path
            continue
        yield from _below(path, exclude, complain)


def _below(folder: str, exclude: tuple[str, ...], complain: Complain) -> Iterator[str]:
    # No recursion: folders may lie in each other deeper than Python's stack goes.
    under_way = [_listed(folder, complain)]
    while under_way:
        entry = next(under_way[-1], None)
        if entry is None:
            under_way.pop()
            continue
        path = entry.path.removeprefix(f".{os.sep}")
        if entry.is_symlink() or _excluded(path, exclude):
            continue
        if entry.is_dir():
            if not _left_out(entry):
                under_way.append(_listed(entry.path, complain))
        elif entry.name.endswith(SUFFIXES):
            yield path


def _listed(folder: str, complain: Complain) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return iter(sorted(entries, key=lambda entry: entry.name))
    except OSError as error:
        complain(folder, f"cannot be listed: {error.strerror}")
        return iter(())


def _left_out(entry: os.DirEntry[str]) -> bool:
    return (
        entry.name.startswith(".")
        or entry.name in LEFT_OUT
        # Unlike a path object, it only says no where it may not look.
        or os.path.exists(f"{entry.path}{os.sep}pyvenv.cfg")  # noqa: PTH110
    )


def _with_parents(path: str) -> Iterable[Path]:
    named = Path(path)
    return (named, *(one for one in named.parents if one.name))


def _silent(path: str, reason: str) -> None:
    """Who does not ask about folders is not told."""


def _excluded(path: str, exclude: tuple[str, ...]) -> bool:
    name = os.path.basename(path)  # noqa: PTH119 - not for a path object per file
    return any(
        fnmatch(name, one.rstrip("/")) or fnmatch(path, one.rstrip("/"))
        for one in exclude
    )


def _once(found: Iterator[str], *, several: bool) -> Iterator[str]:
    """Leave out what was given: the same path again, or another name of one file."""
    seen: set[object] = set()
    for path in found:
        try:
            about = Path(path).stat()
        except OSError:
            yield path  # who reads it says why it cannot be read
            continue
        if several or about.st_nlink > 1:
            # Only where it can happen, or a big tree would be kept in memory.
            identity = (about.st_dev, about.st_ino) if about.st_ino else path
            if identity in seen:
                continue
            seen.add(identity)
        yield path


def package_of(path: str) -> str:
    """The dotted package a file lies in, as far up as there is an `__init__.py`.

    The package's own file has `.__init__` after it.
    """
    file = Path(path).resolve()
    folder, names = file.parent, ["__init__"] if file.stem == "__init__" else []
    while folder.name and any(
        (folder / f"__init__{suffix}").is_file() for suffix in (".py", ".pyi")
    ):
        names.append(folder.name)
        folder = folder.parent
    return ".".join(reversed(names))


def is_regular(path: str) -> bool:
    """Whether it is a file, and not a pipe or device that might never end."""
    return stat.S_ISREG(Path(path).stat().st_mode)
