"""Run scripts with the classic package, or with ours in its place.

    python tests/cases/running.py ours NAME...

Prints a JSON object: what each script printed last, or how it ended.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
import traceback
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPTS = HERE / "scripts"
_AGENT = "langchain_classic.agents.openai_functions_agent.agent_token_buffer_memory"
#: What a user changes to switch.
REPLACED = {
    _AGENT: "holdover.compat",
    "langchain_classic.memory": "holdover.compat",
    "langchain_community.memory.kg": "holdover.compat",
    "langchain_community.chat_message_histories": (
        "holdover.compat.chat_message_histories"
    ),
}


def names() -> list[str]:
    """Every script."""
    return sorted(path.stem for path in SCRIPTS.glob("*.py") if path.stem != "helping")


def source(name: str, library: str) -> str:
    """The text of a script, for one of the two libraries."""
    text = (SCRIPTS / f"{name}.py").read_text("utf-8")
    if library == "classic":
        return text
    for old, new in REPLACED.items():
        text = re.sub(rf"\b{re.escape(old)}\b", new, text)
    return text


def run(name: str, library: str) -> str:
    """What a script prints last, or how it ends."""
    printed = io.StringIO()
    code = compile(source(name, library), name, "exec")
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(code, {"__name__": "__main__"})
        except Exception:
            return f"FAILED: {traceback.format_exc()[-600:]}"
    return (printed.getvalue().strip().splitlines() or ["silent"])[-1]


def main() -> None:
    library, *chosen = sys.argv[1:]
    sys.path.insert(0, str(SCRIPTS))
    empty = lambda: None  # noqa: E731 - unless there is a server
    if url := os.environ.get("CASE_REDIS_URL"):
        import redis

        empty = redis.Redis.from_url(url).flushall
    found = {}
    for name in chosen or names():
        empty()
        found[name] = run(name, library)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
