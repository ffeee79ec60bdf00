"""MkDocs hook: pages made from the code and the data, and links that work on GitHub and on the site."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))

from copies import ROOT, copied_pages, relink
from labels import label_pages
from reference import reference_pages

LOOK = ROOT / "src/distriage/base/look.css"
SITE = """[data-md-color-scheme] {
  --md-default-bg-color: var(--paper); --md-default-fg-color: var(--ink); --md-default-fg-color--light: var(--muted);
  --md-primary-fg-color: var(--accent); --md-primary-bg-color: var(--on-accent); --md-typeset-a-color: var(--accent);
  --md-accent-fg-color: var(--accent); --md-code-bg-color: var(--card); --md-footer-bg-color: var(--tint);
  --md-footer-fg-color: var(--ink); --md-footer-fg-color--light: var(--muted); --md-footer-bg-color--dark: var(--tint);
}
"""


def look_of_site() -> str:
    """The colours of all our pages, by the scheme that a reader chose instead of the system's."""
    light, dark = re.findall(r":root \{([^}]*)\}", LOOK.read_text(encoding="utf-8"))
    schemes = {"default": light, "slate": light + dark}
    blocks = (f"[data-md-color-scheme={name}] {{{variables}}}\n" for name, variables in schemes.items())
    return "".join(blocks) + SITE


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that no file of `docs/` holds."""
    for name, text in (copied_pages() | label_pages() | reference_pages()).items():
        files.append(File.generated(config, name, content=text))
    files.append(File.generated(config, "look.css", content=look_of_site()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 mkdocs' names
    """Point links to files outside `docs/` at their copies, or take them off where there is none."""
    generated = page.file.generated_by is not None
    return markdown if generated else relink(markdown, ROOT / "docs" / page.file.src_uri, page.file.src_uri)
