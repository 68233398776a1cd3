"""Read migrated memory with LangGraph's own store. Holdover is not imported.

python examples/read_with_langgraph.py memory.db
"""

from __future__ import annotations

import sys

from langgraph.store.sqlite import SqliteStore

PAGE = 100


def main(path: str) -> None:
    """Print every entity of every session."""
    with SqliteStore.from_conn_string(path) as store:
        for namespace in store.list_namespaces(suffix=("entities",), limit=1_000):
            if namespace[0].startswith("~"):  # not current items: history and runs
                continue
            print("/".join(namespace))
            # A search also returns what lies below a namespace, so compare.
            for item in store.search(namespace, limit=PAGE):
                if item.namespace == namespace:
                    content = item.value["content"]
                    print(f"  {content['name']!r}: {content['summary']}")

        ana = ("memory_store", "ana_example", "entities")
        item = store.get(ana, "New York")
        if item is not None:
            print(f"\n{ana} 'New York':\n{item.value['content']['summary']}")


if __name__ == "__main__":
    if len(sys.argv) != 2:  # noqa: PLR2004
        sys.exit("usage: python examples/read_with_langgraph.py FILE")
    main(sys.argv[1])
