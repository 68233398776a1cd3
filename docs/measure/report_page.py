"""Make the screenshots of docs/report.md, and measure the page of a large run.

    python docs/measure/report_page.py

Needs Chromium and `pip install playwright`. It prints the size of the page of a run of
10,000 sessions, and how long Chromium takes to load and draw it.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

DOCS = Path(__file__).parents[1]
SESSIONS = 10_000
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def holdover(folder: Path, *words: str) -> None:
    """Run a command; its exit code 1 only says that something was rejected."""
    done = subprocess.run(
        [sys.executable, "-m", "holdover.migrate.cli", *words], cwd=folder, check=False
    )
    if done.returncode not in (0, 1):
        raise SystemExit(done.returncode)


def write(path: Path, chance: random.Random) -> None:
    """A JSONL form of many sessions, with some lines that cannot be read."""
    with path.open("w", encoding="utf-8") as lines:
        for at in range(SESSIONS):
            for number in range(chance.randint(1, 12)):
                said = {
                    "session": f"user-{at:05}@example.com",
                    "type": "ai" if number % 2 else "human",
                    "data": {"content": f"message {number}"},
                }
                lines.write(json.dumps(said) + "\n")
            if at % 1_700 == 0:
                lines.write('{"session": "user"\n')


def main() -> None:
    """Make the run, then look at its page."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "chats.jsonl", random.Random(1))
        holdover(folder, "migrate", "chats.jsonl", "memory.db", "--report", "run.html")
        page_file = folder / "run.html"
        print(f"{page_file.stat().st_size / 1e6:.2f} MB")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=FLAGS
            )
            for scheme, width, height, image in (
                ("light", 1000, 1150, "report-light.png"),
                ("dark", 390, 844, "report-phone.png"),
            ):
                page = browser.new_page(
                    color_scheme=scheme, viewport={"width": width, "height": height}
                )
                page.goto(page_file.as_uri())
                page.wait_for_selector("#sessions-body tr")
                spent = page.evaluate(
                    "performance.getEntriesByType('navigation')[0].duration"
                )
                print(f"{image}: loaded and drawn in {spent:.0f} ms")
                page.screenshot(path=DOCS / image)
                page.close()
            browser.close()


if __name__ == "__main__":
    main()
