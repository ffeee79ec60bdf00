"""docs/benchmarks.md, its figures and README's lines, made from the JSON of `bench`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from distriage.base.errors import InputError
from distriage.base.extras import needs_extra
from distriage_research.bench.layout import BUILDERS
from distriage_research.bench.run import SECTIONS
from distriage_training.bench.layout import Table, tables
from distriage_training.bench.run import FORMAT

FIGURES, PAGE, README = Path("docs/benchmarks.json"), Path("docs/benchmarks.md"), Path("README.md")
COMMAND = (
    "python training/research bench --reports training/corpus/restated.jsonl --infinity venv/bin/infinity_emb \\\n"
    "  --equal 2000 --database postgresql:///queue --page ."
)
_MARKED = re.compile(r"(?<=<!-- bench -->\n).*?(?=<!-- /bench -->)", re.S)


def check_checkout(folder: Path) -> None:
    """Refuse a folder that is not a checkout of ours, before an hour of measuring.

    Raises:
        InputError: README.md has no place for the figures.
        MissingExtraError: matplotlib is not installed.
    """
    with needs_extra("train"):
        import matplotlib  # noqa: F401
    try:
        found = _MARKED.search((folder / README).read_text(encoding="utf-8"))
    except OSError:
        found = None
    if found is None:
        raise InputError(f"--page {folder}: expected a checkout of Distriage; its README.md has no `<!-- bench -->`")


def read_figures(file: Path) -> dict[str, Any]:
    """The figures of an earlier run.

    Raises:
        InputError: unreadable file, or another kind of file.
    """
    try:
        figures = json.loads(file.read_text(encoding="utf-8").splitlines()[-1])
        if figures["format"] == FORMAT:
            return dict(figures)
    except (OSError, ValueError, LookupError, TypeError):
        pass
    raise InputError(f"--figures {file}: expected the JSON that `bench` prints last, format {FORMAT}")


def write_page(figures: Mapping[str, Any], checkout: Path) -> None:
    """Write docs/benchmarks.json, docs/benchmarks.md, docs/images/bench-*.svg and README's lines.

    Raises:
        InputError: a section that the page shows was not measured.
    """
    if absent := [section for section in SECTIONS if not figures.get(section)]:
        raise InputError(f"--page: not measured: {', '.join(absent)}; leave --only out")
    from distriage_research.bench.plots import draw

    draw(figures, checkout / "docs" / "images")
    (checkout / FIGURES).write_text(json.dumps(figures) + "\n", encoding="utf-8")
    (checkout / PAGE).write_text(page_of(figures), encoding="utf-8")
    text = (checkout / README).read_text(encoding="utf-8")
    (checkout / README).write_text(_MARKED.sub(lambda _: readme_of(figures), text), encoding="utf-8")


def readme_of(figures: Mapping[str, Any]) -> str:
    """README's lines."""
    classify, text, many = figures["start"]["classify"], figures["text"]["1"]["all"], figures["many"]
    cores, pipeline = figures["machine"]["cores"], text.get("transformers pipeline")
    beside = f": {pipeline['ratio']:.2f} of what a transformers pipeline takes to its logits" if pipeline else ""
    lines = [
        f"- **{figures['parts']['whole']['p50']:.0f} ms a report** on one core, median, from text to verdict{beside}",
        f"- **{classify['wall_s']:.2f} s and {classify['peak_mib']:.0f} MiB** for `distriage classify` of one report, "
        "start and all",
        f"- **{many['distriage']['reports_per_s']:.0f} reports a second** on {cores} cores"
        + (f", {many['ratio']:.1f} times a pipeline's best" if "ratio" in many else ""),
        "",
        f"Measured with {figures['model']} on {figures['machine']['cpu']}: [all figures](docs/benchmarks.md)",
    ]
    return "".join(f"{line}\n" for line in lines)


def page_of(figures: Mapping[str, Any]) -> str:
    """The page."""
    machine, versions = figures["machine"], figures["versions"]
    parts = [
        "# Benchmarks",
        "<!-- Made by `python training/research bench --page .`; do not edit. -->",
        f"Model {figures['model']}, measured {figures['made']} on {machine['cpu']} "
        f"({', '.join(machine['instructions']) or 'no vector instructions known'}), {machine['cores']} cores, "
        f"{machine['memory_gib']} GiB, {machine['system']}, Python {machine['python']}. Other work on the machine when "
        f"it began: a load of {machine['load']:.1f}. Reports: {figures['reports']['count']} of "
        f"`{figures['reports']['file']}`, each measured {figures['rounds']} times.",
        "Contestants take turns on each report; the figures are medians, and ratios are ratios of medians. The peers "
        "run all-MiniLM-L6-v2, from which the model was fine-tuned: other weights, the same work. They read the text "
        "that our recipe leaves of a report, which is shorter than the report, cut at the same number of tokens; "
        "cleaning it is counted on our side only.",
        f"```sh\n{COMMAND}\n```",
        "The peers need `pip install -r training/research/requirements.txt`; infinity-emb needs an environment of its "
        "own: `python -m venv venv "
        "&& venv/bin/pip install 'infinity-emb[server,torch]'`.",
    ]
    plots = {"By length": "latency", "A verdict, part": "parts", "Over HTTP": "clients"}
    for table in tables(figures, BUILDERS):
        parts += [f"## {table.title.partition(':')[0]}", _markdown(table)]
        if table.note:
            parts.append(table.note)
        parts += [
            f"![{table.title}](images/bench-{plot}.svg)"
            for begin, plot in plots.items()
            if table.title.startswith(begin)
        ]
    parts.append("Versions: " + ", ".join(f"{name} {version}" for name, version in versions.items()) + ".")
    return "\n\n".join(_wrapped(part) for part in parts) + "\n"


def _markdown(table: Table) -> str:
    unit = table.title.partition(": ")[2]
    rows = [
        f"| {' | '.join(table.columns)} |",
        f"|---|{'---:|' * (len(table.columns) - 1)}",
        *(f"| {' | '.join(row)} |" for row in table.rows),
    ]
    return (f"{unit[0].upper()}{unit[1:]}.\n\n" if unit else "") + "\n".join(rows)


def _wrapped(part: str) -> str:
    import textwrap

    if part.startswith(("|", "#", "```", "<!--", "![")) or "\n|" in part:
        return part
    return textwrap.fill(" ".join(part.split()), 120, break_long_words=False, break_on_hyphens=False)
