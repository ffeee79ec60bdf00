"""The pictures of README and docs, made from what the program shows.

python -m support.pictures   make docs/images/verdict.svg, and queue-*.png if playwright, chromium and a font with
                             Chinese characters (Debian's fonts-wqy-zenhei) are there;
                             path-*.png come with their page from `python -m support.whole_path`
"""

from __future__ import annotations

import argparse
import io
import re

from rich.console import Console

from distriage.answer import render
from distriage.answer.screen import print_parts
from distriage.classifier import Classifier
from distriage.reports.sources import read_report

from support import chromium
from support.checkout import REPOSITORY

IMAGES = REPOSITORY / "docs" / "images"
BADGES = {"python": ("Python", "3.11+"), "licence": ("licence", "Apache-2.0"), "runs": ("runs on", "a CPU, offline")}
CHAR_WIDTH = 7  # of the badges' font, with some air
EXAMPLE = "examples/report.md"
WIDTH = 90


def verdict_picture() -> str:
    """The terminal after `distriage classify examples/report.md`, as SVG."""
    classifier = Classifier()
    report = read_report(str(REPOSITORY / EXAMPLE))
    verdict = classifier.classify(report)
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, highlight=False)
    print_parts(console, render.shown(verdict, classifier.bundle.taxonomy))
    picture = console.export_svg(title=f"distriage classify {EXAMPLE}", unique_id="verdict")
    # Rich's fonts come from another host; without them the viewer's own monospace font is taken.
    return re.sub(r"\s*@font-face \{.*?\}", "", picture, flags=re.DOTALL)


def badge(name: str, value: str) -> str:
    """A small sign of two words, as SVG; no request to another host."""
    left, right = (CHAR_WIDTH * len(text) + 14 for text in (name, value))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" '
        f'aria-label="{name}: {value}"><g font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" fill="#fff" '
        f'text-anchor="middle"><rect width="{left + right}" height="20" rx="3" fill="#4a4d5c"/>'
        f'<path d="M{left} 0h{right - 3}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3H{left}z" fill="#3f51b5"/>'
        f'<text x="{left / 2}" y="14">{name}</text><text x="{left + right / 2}" y="14">{value}</text></g></svg>\n'
    )


def main() -> None:
    """Write all of them."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter).parse_args()
    for file, (name, value) in BADGES.items():
        (IMAGES / f"badge-{file}.svg").write_text(badge(name, value), encoding="utf-8")
    (IMAGES / "verdict.svg").write_text(verdict_picture(), encoding="utf-8")
    if chromium.IS_HERE:
        from support.queue_demo import pictures

        pictures(IMAGES)


if __name__ == "__main__":
    main()
