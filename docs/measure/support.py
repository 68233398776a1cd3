"""What langchain-classic says about the end of its memory classes.

For every name in `langchain_classic.memory.__all__`: whether it can be had at all,
which release its own deprecation note says will drop it, and where the note points.
Then whether the three durable entity stores can be constructed.

    python docs/measure/support.py
"""

from __future__ import annotations

import importlib.metadata
import re
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import langchain_classic.memory as classic
from langchain_classic.memory import entity

REMOVAL = re.compile(r"removed in\s+([\w.-]+)==([\w.]+\w)")
LINK = re.compile(r"https?://[^\s`\"]+[\w/]")


def names() -> None:
    """Print the fate of every exported name."""
    removals: Counter[str] = Counter()
    links: Counter[str] = Counter()
    silent, broken, moving = [], [], []
    for name in sorted(classic.__all__):
        try:
            found = getattr(classic, name)
        except (AttributeError, ImportError) as error:
            broken.append(f"{name} ({type(error).__name__})")
            continue
        notes = [c.__doc__ or "" for c in found.__mro__ if c is not object]
        note = notes[0]
        removal = REMOVAL.search(note)
        if removal:
            removals[f"{removal[1]} {removal[2]}"] += 1
            links.update(set(LINK.findall(note)))
        else:
            silent.append(name)
        if re.search(r"migrat|stored data|existing data", note, re.IGNORECASE):
            moving.append(name)
    print(f"langchain-classic {importlib.metadata.version('langchain-classic')}")
    print(f"names exported          {len(classic.__all__)}")
    print(f"removal announced       {dict(removals)}")
    print(f"no removal in the note  {len(silent)}")
    print(f"cannot be imported      {len(broken)}: {', '.join(broken)}")
    print(f"notes that mention moving data: {len(moving)} {moving or ''}")
    for link, count in links.most_common():
        print(f"  {count:3} notes point to {link}")


def stores() -> None:
    """Print which durable entity stores can be constructed with their defaults."""
    with tempfile.TemporaryDirectory() as folder:
        attempts = {
            "SQLiteEntityStore": {"db_file": str(Path(folder) / "entities.db")},
            "RedisEntityStore": {},
            "UpstashRedisEntityStore": {"url": "https://localhost", "token": "t"},
        }
        for name, arguments in attempts.items():
            try:
                getattr(entity, name)(**arguments)
            except Exception as error:  # noqa: BLE001 - whatever it raises is the answer
                reason = str(error).splitlines()
                print(f"{name}: {type(error).__name__}: {' / '.join(reason[:3])}")
            else:
                print(f"{name}: constructed")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    names()
    stores()
