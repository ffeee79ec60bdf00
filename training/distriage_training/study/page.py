"""A study on disk: one self-contained HTML page, a CSV file per table and an SVG file per figure."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from distriage import __version__
from distriage.base.pages import page_environment
from distriage_training.study.faults import Source
from distriage_training.study.sections import Figure, Section, Table

_PRINT = (  # colours of the files for print; the page has its own, for light and dark
    "svg{font:12px sans-serif;background:#fff}.track{fill:#eceff2}.whisker{stroke:#1b1f24;stroke-width:1.5}"
    ".grid{stroke:#d0d7de}.ribbon{fill-opacity:.4}.line{fill:none;stroke-width:2}.node{fill:#1b1f24}"
    + "".join(
        f".c{i}{{fill:{colour}}}.line.c{i}{{fill:none;stroke:{colour}}}"
        for i, colour in enumerate(
            ("#0072b2", "#d55e00", "#009e73", "#a8518a", "#8a6d00", "#2b8cbe", "#6a3d9a", "#555555"), 1
        )
    )
)
_OF_A_STUDY = re.compile(
    r"(?:(?:frequency|corrected|distributed-by|trend|release|framework)-(?:stage|symptom|cause|fix)"
    r"|symptom-cause|cause-fix|stage-symptom|flow|published)\.(?:csv|svg)"
)
_SVG = re.compile(r"<svg.*?</svg>", re.DOTALL)


def write_study(source: Source, sections: Sequence[Section], folder: Path) -> Path:
    """Write index.html, tables/*.csv and figures/*.svg, in place of those of a study that was here before.

    Returns:
        The page.
    """
    for name in ("tables", "figures"):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for old in (folder / name).iterdir():
            if _OF_A_STUDY.fullmatch(old.name):  # keep other files
                old.unlink()
    for figure in (figure for section in sections for figure in section.figures):
        _write_table(figure.table, folder / "tables")
        _write_picture(figure, folder / "figures")
    page = folder / "index.html"
    page.write_text(render_study(source, sections), encoding="utf-8")
    return page


def render_study(source: Source, sections: Sequence[Section]) -> str:
    """The page; all text of the source is escaped."""
    template = page_environment("distriage_training.study").get_template("study.html")
    return template.render(
        source=source,
        sections=sections,
        made=datetime.now(UTC).strftime("%Y-%m-%d"),
        version=__version__,
    )


def _write_table(table: Table, folder: Path) -> None:
    with (folder / f"{table.name}.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(table.headings)
        writer.writerows([_harmless(cell) for cell in row] for row in table.rows)


def _harmless(cell: object) -> object:
    """A spreadsheet takes a cell that begins so for a formula (OWASP, CSV injection)."""
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in {"=", "+", "@", "\t", "\r"} else cell


def _write_picture(figure: Figure, folder: Path) -> None:
    found = _SVG.search(str(figure.picture))
    if found is None:
        return
    picture = found[0].replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    picture = picture.replace('width="100%" height', 'width="640" height', 1)
    start = picture.index(">") + 1
    styled = f"{picture[:start]}<style>{_PRINT}</style>{picture[start:]}"
    (folder / f"{figure.table.name}.svg").write_text(styled + "\n", encoding="utf-8")
