"""What is left of the memory classes in `langchain_community`.

Each class of `langchain_community.memory` is imported in a fresh process, with
langchain-classic as installed and with langchain-classic hidden, and told apart:
the real class, an empty placeholder (a class without one method of its own, whose
use fails later), or an error. Then every name of
`langchain_community.chat_message_histories` is asked for.

    python docs/measure/community_shims.py
"""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys

CLASSES = {
    "langchain_community.memory.kg": "ConversationKGMemory",
    "langchain_community.memory.motorhead_memory": "MotorheadMemory",
    "langchain_community.memory.zep_memory": "ZepMemory",
    "langchain_community.memory.zep_cloud_memory": "ZepCloudMemory",
}
ONE = """
import sys, warnings
warnings.simplefilter("ignore")
if {hide}:
    sys.modules["langchain_classic"] = None
try:
    from {module} import {name} as found
except Exception as error:
    print(type(error).__name__, "-", str(error).splitlines()[0][:90])
else:
    own = [n for n in vars(found) if not n.startswith("__")]
    bases = [base.__name__ for base in found.__bases__]
    print("empty placeholder" if not own and bases == ["object"] else "real class")
"""
HISTORIES = """
import warnings
warnings.simplefilter("ignore")
import langchain_community.chat_message_histories as histories
bad = []
for name in histories.__all__:
    try:
        getattr(histories, name)
    except Exception as error:
        bad.append(f"{name} ({type(error).__name__})")
print(f"{len(histories.__all__)} names, {len(bad)} fail: {', '.join(bad) or 'none'}")
"""


def run(code: str) -> str:
    """Run code in a fresh process and return the last line it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    return (done.stdout or done.stderr).strip().splitlines()[-1]


def main() -> None:
    """Print one line per class."""
    for name in ("langchain", "langchain-classic", "langchain-community"):
        try:
            print(name, importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            print(name, "is not installed")
    for module, name in CLASSES.items():
        here = run(ONE.format(hide=False, module=module, name=name))
        hidden = run(ONE.format(hide=True, module=module, name=name))
        print(f"{name}: {here}; without langchain-classic: {hidden}")
    print(f"chat_message_histories: {run(HISTORIES)}")


if __name__ == "__main__":
    main()
