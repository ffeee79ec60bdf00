"""A study on disk: a self-contained HTML page; tables as CSV and LaTeX; figures as SVG and PDF; where it comes from."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from distriage import __version__
from distriage.base.errors import MissingExtraError
from distriage.base.pages import page_environment
from distriage_training.study.faults import Source
from distriage_training.study.figures import COLUMN, INCHES
from distriage_training.study.sections import Figure, Section, Table

_PRINT = (  # colours of the files for print; the page has its own, for light and dark
    "svg{background:#fff}text{font:12px Helvetica,Arial,sans-serif;fill:#1b1f24}.tick{font-size:11px;fill:#444}"
    ".number{font-size:11px}.heading{font-weight:bold}.halo{fill:none;stroke:#fff;stroke-width:3;stroke-linejoin:round}"
    ".track{fill:#eceff2}.whisker{fill:none;stroke:#1b1f24;stroke-width:1.2}.grid{stroke:#d0d7de}.node{fill:#1b1f24}"
    + "".join(
        f".c{i}{{fill:{colour}}}.line.c{i}{{fill:none;stroke:{colour}}}"
        for i, colour in enumerate(
            ("#0072b2", "#d55e00", "#009e73", "#a8518a", "#8a6d00", "#2b8cbe", "#6a3d9a", "#555555"), 1
        )
    )
    + ".ribbon{fill-opacity:.4}.band{fill-opacity:.15}.line{stroke-width:2}"
)
_OF_A_STUDY = re.compile(
    r"(?:(?:frequency|corrected|distributed-by|trend|release|framework|origin)-(?:stage|symptom|cause|fix)"
    r"|(?:contingency-)?(?:symptom-cause|cause-fix|stage-symptom)|flow|published|folded-\w+)"
    r"(?:-column)?\.(?:csv|tex|svg|pdf)"
)
_LATEX = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "\\": r"\textbackslash{}",
        "\n": " ",
    }
)
_PDF_DATE = re.compile(rb"/CreationDate \(D:\d{14}")


def load_pdf_writer() -> None:
    """So that its lack is said before the work.

    Raises:
        ModuleNotFoundError: CairoSVG is missing.
        MissingExtraError: it is here, but not the library cairo.
    """
    try:
        import cairosvg  # noqa: F401
    except OSError:
        raise MissingExtraError("--pdf needs the library cairo; type: apt-get install libcairo2") from None


def write_study(
    source: Source,
    sections: Sequence[Section],
    folder: Path,
    provenance: Mapping[str, Any] | None = None,
    *,
    pdf: bool = False,
) -> Path:
    """Write index.html, study.json, tables and figures, in place of those of a study that was here before.

    Returns:
        The page.
    """
    for name in ("tables", "figures"):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for old in (folder / name).iterdir():
            if _OF_A_STUDY.fullmatch(old.name):  # keep other files
                old.unlink()
    for figure in (figure for section in sections for figure in section.figures):
        for table in (figure.table, figure.whole):
            if table is not None:
                _write_table(table, folder / "tables")
        for width in figure.widths if figure.picture else ():
            _write_picture(figure, width, folder / "figures", pdf)
    made = {"distriage": __version__, "commit": "unknown", **(provenance or {})}
    (folder / "study.json").write_text(json.dumps(made, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    page = folder / "index.html"
    template = page_environment("distriage_training.study").get_template("study.html")
    page.write_text(template.render(source=source, sections=sections, made=made), encoding="utf-8")
    return page


def _write_table(table: Table, folder: Path) -> None:
    with (folder / f"{table.name}.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(table.headings)
        writer.writerows([_harmless(cell) for cell in row] for row in table.rows)
    lines = [" & ".join(str(cell).translate(_LATEX) for cell in row) + r" \\" for row in (table.headings, *table.rows)]
    first = table.rows[0] if table.rows else table.headings
    columns = "".join("r" if re.fullmatch(r"[\d.,]+", str(cell)) else "l" for cell in first)
    body = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule"]
    text = "\n".join(["% needs the package booktabs", *body, r"\end{tabular}", ""])
    (folder / f"{table.name}.tex").write_text(text, encoding="utf-8")


def _harmless(cell: object) -> object:
    """A spreadsheet takes a cell that begins so for a formula (OWASP, CSV injection)."""
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in {"=", "+", "@", "\t", "\r"} else cell


def _write_picture(figure: Figure, width: int, folder: Path, pdf: bool) -> None:
    assert figure.picture is not None
    picture = str(figure.picture(width))
    (high,) = re.findall(r'viewBox="0 0 \d+ (\d+)"', picture)
    size = f'width="{INCHES[width]}in" height="{int(high) * INCHES[width] / width:.2f}in"'
    start = f'<svg xmlns="http://www.w3.org/2000/svg" {size} '
    picture = picture.replace("<svg ", start, 1).replace(">", f"><style>{_PRINT}</style>", 1) + "\n"
    file = folder / f"{figure.table.name}{'-column' if width == COLUMN else ''}.svg"
    file.write_text(picture, encoding="utf-8")
    if pdf:
        import cairosvg

        written = cairosvg.svg2pdf(bytestring=picture.encode())
        # The same bytes whenever they are written; cairo 1.16 sets no date but that of now.
        file.with_suffix(".pdf").write_bytes(_PDF_DATE.sub(b"/CreationDate (D:19700101000000", written))
