"""`distriage past`: an index of a repository's own issues. Imports nothing heavy before a command runs."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from distriage.base.errors import InputError
from distriage.base.terminal import counted

if TYPE_CHECKING:
    from distriage.answer.verdict import LikelyDuplicate
    from distriage.past.index import Match

past_app = typer.Typer(
    name="past",
    help="Have we had this issue before? Index a repository's own issues, and find those near a new one.",
    no_args_is_help=True,
)
ModelOption = Annotated[str | None, typer.Option("--model", help="A bundle's folder or the name of a shipped model.")]


@past_app.command("index")
def index_(
    issues: Annotated[
        str,
        typer.Argument(metavar="ISSUES.jsonl", help="GitHub's issues, one a line, or the file of `backtest --cache`."),
    ],
    output: Annotated[Path, typer.Option("--output", metavar="INDEX", help="The file to write (.npz).")],
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; default: one a core.")] = None,
    model: ModelOption = None,
) -> None:
    """Index a repository's own issues: title, words, vector, state, address, and what closed them."""
    from distriage.base.disk import check_writable
    from distriage.classifier import Classifier
    from distriage.engine.output import check_apart
    from distriage.past.build import build_index
    from distriage.past.issue import read_issues

    check_apart(str(output), [issues])
    check_writable(output)
    begun = time.monotonic()
    index = build_index(read_issues(issues), Classifier(model, threads=1), workers)
    if not index.issues:
        raise InputError(f"{issues}: no issue; expected one a line")
    index.save(output)
    took_s = max(1e-9, time.monotonic() - begun)
    typer.echo(
        f"{output}: {counted(len(index.issues), 'issue')}, {output.stat().st_size / 1e6:,.1f} MB, "
        f"{len(index.issues) / took_s:,.0f} a second",
        err=True,
    )


@past_app.command("find")
def find_(
    index: Annotated[Path, typer.Argument(metavar="INDEX", help="Index written by `past index`.")],
    report: Annotated[str, typer.Argument(metavar="REPORT", help="Markdown, text or JSON; `-` is standard input.")],
    title: Annotated[str | None, typer.Option(help="The title, where REPORT holds only the body.")] = None,
    top: Annotated[int, typer.Option(min=1, max=100, help="How many.")] = 5,
    releases: Annotated[
        Path | None,
        typer.Option(metavar="TABLE", help="Also say which release has a fix; `distriage releases update` writes it."),
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
    model: ModelOption = None,
) -> None:
    """Name the past issues that are nearest to a report, and whether the first one is likely the same."""
    from distriage.base.references import repository_of
    from distriage.classifier import Classifier
    from distriage.past.answer import named
    from distriage.past.build import query_of
    from distriage.past.file import load_index
    from distriage.reports.sources import read_report

    past = load_index(index)
    asked = read_report(report, title)
    classifier = Classifier(model)
    past = past.made_with(classifier.bundle.manifest.name, index)
    if releases is not None:
        from distriage.signs.table import read_table

        classifier.releases = read_table(releases).releases
    is_named = repository_of(asked.id) is not None or not past.issues
    query = query_of(classifier.examine(asked if is_named else replace(asked, id=f"{past.issues[0].place}#0")))
    found = past.find(query, top)
    same = [named(past, query, match) for match in found]
    if json_:
        issues = [_as_json(match, one) for match, one in zip(found, same, strict=True)]
        typer.echo(json.dumps({"report": asked.id, "issues": issues}, indent=2))
        return
    for match, one in zip(found, same, strict=True):
        typer.echo(_line(match, one))
    if not found:
        typer.echo("No past issue is near.")


@past_app.command("clusters")
def clusters_(
    index: Annotated[Path, typer.Argument(metavar="INDEX", help="Index written by `past index`.")],
    json_: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Gather open issues of one cause: with the same error, raised at the same place, in reports that are alike."""
    from distriage.base.terminal import printable
    from distriage.past.clusters import clusters
    from distriage.past.file import load_index

    past = load_index(index)
    found = clusters(past.issues, past.vectors)
    if json_:
        typer.echo(json.dumps([one.as_json for one in found], indent=2))
        return
    for one in found:
        numbers = ", ".join(f"#{issue.number}" for issue in one.open)
        typer.echo(printable(f"{len(one.open)} open, {len(one.closed)} closed  {numbers}  {one.open[0].title}"))
    if not found:
        typer.echo("No two open issues have the same error and are alike.")


def _as_json(match: Match, same: LikelyDuplicate | None) -> dict[str, object]:
    issue = match.issue
    return {
        "id": issue.id,
        "title": issue.title,
        "url": issue.url,
        "state": issue.state,
        "closed_by": issue.closed_by,
        "similarity": round(match.similarity, 4),
        "same_probability": None if match.same is None else round(match.same, 4),
        "likely_duplicate": same is not None,
        "duplicate_of": None if same is None else same.id,
        "fixed_in": None if same is None else same.fixed_in,
        "possible_regression": same is not None and same.possible_regression,
    }


def _line(match: Match, same: LikelyDuplicate | None) -> str:
    from distriage.base.terminal import printable
    from distriage.past.same import HOW_OFTEN

    issue = match.issue
    state = f" ({issue.state}{', ' + issue.closed_by if issue.closed_by else ''})" if issue.state else ""
    said = ""
    if same is not None:
        of = [f"as {same.id}, of which it is a duplicate"] if same.closed_duplicate else []
        said = f"  likely the same, {'; '.join([HOW_OFTEN, *of, *same.notes])}"
    return printable(f"{match.similarity:5.2f}  {issue.id}{state}  {issue.title}{said}")
