"""MkDocs hook: pages made from the code and the data, and links that work on GitHub and on the site."""

from __future__ import annotations

import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))

from copies import ROOT, copied_pages, relink
from labels import label_pages
from reference import reference_pages


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that no file of `docs/` holds."""
    for name, text in (copied_pages() | label_pages() | reference_pages()).items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 mkdocs' names
    """Point links to files outside `docs/` at their copies, or take them off where there is none."""
    generated = page.file.generated_by is not None
    return markdown if generated else relink(markdown, ROOT / "docs" / page.file.src_uri, page.file.src_uri)
