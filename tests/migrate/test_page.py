"""The report's page, opened, filtered and read in a real Chromium."""

from __future__ import annotations

import json
import os
import re
import shutil
from itertools import pairwise
from pathlib import Path

import pytest
from moving import run_cli, write_old_file

CHROMIUM = next(
    filter(
        None,
        (
            os.environ.get("HOLDOVER_CHROMIUM"),
            *map(
                shutil.which,
                ("chromium", "chromium-browser", "google-chrome", "chrome"),
            ),
        ),
    ),
    None,
)
HOSTILE = [
    "<script>window.hacked=1</script>",
    '"><img src=x onerror=window.hacked=1>',
    "</script><script>window.hacked=1</script>",
    "<!--<script>",
    "\u202egnp.exe",
    "a\u2028b\x00c",
    "{{constructor.constructor('window.hacked=1')()}}",
    "x" * 5000,
]


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("no Chromium on the path; name one with HOLDOVER_CHROMIUM")
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield opened
        opened.close()


@pytest.fixture
def opened(browser):
    """`opened(path, **options)`: the page, which must ask for nothing and not fail."""
    contexts = []

    def open_it(path, **options):
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.asked, page.failed = [], []
        page.on("request", lambda request: page.asked.append(request.url))
        page.on("pageerror", lambda error: page.failed.append(str(error)))
        page.on(
            "console",
            lambda said: page.failed.append(said.text) if said.type == "error" else 0,
        )
        page.goto(Path(path).as_uri())
        return page

    yield open_it
    for context in contexts:
        context.close()


def report_of(folder, source, *words):
    done = run_cli(
        "migrate", source, folder / "memory.db", "--report", "run.html", *words,
        cwd=folder,
    )  # fmt: skip
    return done, folder / "run.html"


def message(text):
    return {"type": "human", "data": {"content": text}}


@pytest.fixture
def hostile(tmp_path):
    """A run whose sessions, names and rejects are all chosen by somebody hostile."""
    lines = [{"session": name, **message(f"secret {name}")} for name in HOSTILE]
    source = tmp_path / "chats.jsonl"
    with source.open("w") as file:
        for line in lines:
            file.write(json.dumps(line) + "\n")
        file.write('<img src=x onerror="window.hacked=1">\n')
    done, page = report_of(tmp_path, source)
    assert done.returncode == 1, done.stdout + done.stderr
    return page


def test_hostile_names_are_text(hostile, opened):
    page = opened(hostile)
    assert page.failed == []
    assert page.asked == [hostile.as_uri()]
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    names = page.locator("#sessions-body th").all_inner_texts()
    assert len(names) == len(HOSTILE)
    assert any("<script>window.hacked=1</script>" in name for name in names)
    assert not any("\u202e" in name for name in names)


def test_no_content_unless_it_is_asked_for(hostile):
    assert "secret" not in hostile.read_text()


def test_what_runs_is_only_its_own_script(hostile, opened, tmp_path):
    """Even where something got in, the policy would stop it."""
    text = hostile.read_text().replace(
        "</main>", "<script>window.hacked=1</script><b onclick='window.hacked=1'>x</b>"
    )
    broken = tmp_path / "broken.html"
    broken.write_text(text)
    page = opened(broken)
    page.locator("b", has_text="x").last.dispatch_event("click")
    assert page.evaluate("window.hacked") is None


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """10,000 sessions; some of them differ in the target."""
    folder = tmp_path_factory.mktemp("large")
    source = folder / "chats.jsonl"
    with source.open("w") as file:
        for at in range(10_000):
            line = {"session": f"user_{at:05}", **message("hello")}
            file.write(json.dumps(line) + "\n")
    done, page = report_of(folder, source)
    assert done.returncode == 0, done.stdout + done.stderr
    return page


def test_ten_thousand_sessions(large, opened):
    assert large.stat().st_size < 3_000_000
    page = opened(large)
    assert page.failed == []
    said = page.locator("#sessions-said")
    assert said.inner_text() == "10,000 of 10,000 shown, page 1 of 100"
    assert page.locator("#sessions-body tr").count() == 100

    page.get_by_label("Session", exact=True).fill("user_0123")
    assert said.inner_text() == "10 of 10,000 shown, page 1 of 1"
    page.get_by_label("missing or different only").check()
    assert said.inner_text().startswith("0 of 10,000")
    page.get_by_label("missing or different only").uncheck()
    page.get_by_label("Session", exact=True).fill("")
    page.get_by_role("button", name="Next").click()
    assert "page 2 of 100" in said.inner_text()

    header = page.locator("th[data-column='0']")
    header.get_by_role("button").click()
    header.get_by_role("button").click()
    assert header.get_attribute("aria-sort") == "descending"
    first = page.locator("#sessions-body th").first
    assert first.inner_text() == "message_store / user_09999"
    page.get_by_label("Kind").select_option("messages")
    assert "10,000 of" in said.inner_text()


def test_it_is_read_on_a_phone_in_the_dark(large, opened):
    page = opened(large, viewport={"width": 360, "height": 740}, color_scheme="dark")
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 360
    narrow = page.evaluate(
        "Math.min(...[...document.querySelectorAll('td:not(.n)')]"
        ".map((cell) => cell.getBoundingClientRect().width))"
    )
    assert narrow > 100
    paper, ink = page.evaluate(
        "[getComputedStyle(document.body).backgroundColor,"
        " getComputedStyle(document.body).color]"
    )
    assert contrast(paper, ink) > 7


def luminance(colour):
    def linear(part):
        part = int(part) / 255
        return part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4

    red, green, blue = re.findall(r"\d+", colour)[:3]
    return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_contrast_and_every_control_a_name(hostile, opened, scheme):
    page = opened(hostile, color_scheme=scheme)
    pairs = page.evaluate(
        """() => {
          const seen = new Set();
          const paperOf = (node) => {
            for (; node; node = node.parentElement) {
              const paper = getComputedStyle(node).backgroundColor;
              if (!paper.startsWith("rgba(0, 0, 0, 0")) return paper;
            }
            return getComputedStyle(document.body).backgroundColor;
          };
          for (const node of document.querySelectorAll("main *"))
            if ([...node.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))
              if (!["SCRIPT", "TITLE"].includes(node.tagName))
                seen.add(JSON.stringify([paperOf(node), getComputedStyle(node).color]));
          return [...seen].map(JSON.parse);
        }"""
    )
    assert pairs
    for paper, ink in pairs:
        assert contrast(paper, ink) >= 4.5, (paper, ink)
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("input, select, button, svg[role]")]
          .filter((node) => !(node.labels?.length || node.textContent.trim()
            || node.getAttribute("aria-label"))).length"""
    )
    assert unnamed == 0
    levels = page.evaluate(
        "[...document.querySelectorAll('h1,h2,h3')].map((h) => Number(h.tagName[1]))"
    )
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))


def test_rejects_conflicts_and_the_way_back_are_told(tmp_path, opened):
    source = write_old_file(tmp_path / "a.db", {"s": {"Ana": "one", "Bo": "two"}})
    report_of(tmp_path, source)
    other = write_old_file(tmp_path / "b.db", {"s": {"Ana": "other", "Cy": "three"}})
    done, path = report_of(tmp_path, other, "--on-conflict", "skip")
    assert done.returncode == 1
    page = opened(path)
    text = page.locator("main").inner_text()
    run = re.search(r"holdover rollback \S+memory\.db (\S+)", text).group(1)
    assert run in done.stdout
    conflicts = page.locator("h2", has_text="Conflicts")
    assert conflicts.locator("xpath=following::td[1]").inner_text() == "skipped"
    assert page.locator(".verdict.bad").count() == 1
    page.get_by_label("missing or different only").check()
    assert page.locator("#sessions-body tr").count() == 1

    undone = run_cli("rollback", tmp_path / "memory.db", run, cwd=tmp_path)
    assert undone.returncode == 0


def test_the_plan_alone_and_a_blocked_one(tmp_path, opened):
    source = write_old_file(tmp_path / "a.db", {"s": {"Ana": "one"}})
    _, path = report_of(tmp_path, source, "--dry-run")
    page = opened(path)
    assert "nothing was written" in page.locator(".verdict").inner_text()
    assert "rollback" not in page.locator("main").inner_text()

    write_old_file(tmp_path / "a.db", {"s": {"Ana": "one"}}, root="elsewhere")
    done, path = report_of(tmp_path, source)
    assert done.returncode == 3
    page = opened(path)
    assert "--root" in page.locator("main").inner_text()


def test_contents_only_where_asked_for(tmp_path, opened):
    source = write_old_file(tmp_path / "a.db", {"s": {"Ana": "one <b>secret</b>"}})
    report_of(tmp_path, source)
    other = write_old_file(tmp_path / "b.db", {"s": {"Ana": "another secret"}})
    words = ("--on-conflict", "skip")
    _, path = report_of(tmp_path, other, *words)
    assert "secret" not in path.read_text()
    _, path = report_of(tmp_path, other, *words, "--show-content")
    page = opened(path)
    page.locator("summary", has_text="b.db").first.click()
    assert "one <b>secret</b>" in page.locator("main").inner_text()
    assert page.locator("main b", has_text="secret").count() == 0


def test_a_page_that_cannot_be_written_stops_before_anything_is_done(tmp_path):
    source = write_old_file(tmp_path / "a.db", {"s": {"Ana": "one"}})
    for name in ("missing/run.html", "."):
        done = run_cli(
            "migrate", source, tmp_path / "m.db", "--report", name, cwd=tmp_path
        )
        assert done.returncode == 2
        assert "report" in done.stderr
        assert not (tmp_path / "m.db").exists()
