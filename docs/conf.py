"""Sphinx configuration: Markdown in, HTML out, no network."""

from importlib.metadata import version as installed

project = "Holdover"
author = "The Holdover authors"
release = installed("holdover")
version = release

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "measure"]

html_theme = "alabaster"
html_theme_options = {
    "description": "Classic memory on LangGraph stores, and its data moved there.",
    "fixed_sidebar": True,
    "page_width": "1080px",
}
html_show_sourcelink = False
nitpicky = True
