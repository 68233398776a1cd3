"""The page of old paths is what the data says."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_up_to_date():
    script = ROOT / "docs" / "measure" / "import_paths.py"
    spec = importlib.util.spec_from_file_location("import_paths", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    assert module.PAGE.read_text("utf-8") == module.page(), f"run python {script}"
