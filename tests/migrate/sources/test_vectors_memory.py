"""A large dump is read in the memory of a batch."""

from __future__ import annotations

import json
import tracemalloc
from contextlib import closing

from sampling import EVERYTHING

from holdover.migrate.sources import open_source
from holdover.migrate.sources.base import ReadOptions

COUNT = 40_000 if EVERYTHING else 4_000


def test_of_any_length(tmp_path):
    path = tmp_path / "memories.json"
    with path.open("w") as file:
        file.write("{\n")
        for at in range(COUNT):
            held = {
                "id": str(at),
                "vector": [at + n / 64 for n in range(64)],
                "text": f"input: {at}\noutput: {'x' * 500}",
                "metadata": {},
            }
            file.write(f'{"," if at else ""}"{at}": {json.dumps(held)}\n')
        file.write("}\n")
    assert path.stat().st_size > COUNT * 1_000
    with closing(open_source(str(path), ReadOptions())) as source:
        tracemalloc.start()
        try:
            inventory = source.inventory()
            (partition,) = source.partitions()
            count = sum(len(one.items) for one in source.read(partition, size=200))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert (inventory.groups[0].items, count) == (COUNT, COUNT)
    assert peak < 5 << 20
