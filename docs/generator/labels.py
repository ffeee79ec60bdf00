"""What each label means: its definition, its playbook, and an example from the restated reports."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from functools import cache

from copies import ROOT

from distriage.answer.playbooks import Playbook, playbook_of
from distriage.model.label import Label
from distriage.model.taxonomy import Axis, default_taxonomy

PAGES: Mapping[str, tuple[str, ...]] = {
    "kinds-and-stages": ("kind", "distributed", "stage"),
    "symptoms": ("symptom",),
    "causes": ("cause",),
    "fixes": ("fix",),
}
_INTRODUCTION = {
    "kinds-and-stages": "Is it a bug at all, does it concern several processes, and where in a run does it show?",
    "symptoms": "What the reporter observes: one symptom a report, the one that ends or spoils the run.",
    "causes": "Why it happens. Often the report does not say; then Distriage says *not sure*.",
    "fixes": "What resolves it, as the end of the thread tells.",
}
_TITLES = {
    "kinds-and-stages": "Kinds, scope and stages",
    "symptoms": "Symptoms",
    "causes": "Root causes",
    "fixes": "Fix patterns",
}
_SOURCES = {"paper": "Ma et al., arXiv 2512.20345", "sister": "a sister study", "ours": "this project"}
EXAMPLE_CHARS = 700


def label_pages() -> dict[str, str]:
    """Page of the site -> Markdown."""
    taxonomy = default_taxonomy()
    return {
        f"labels/{page}.md": "\n\n".join(
            [
                f"# {_TITLES[page]}",
                _INTRODUCTION[page],
                *(part for axis in axes for part in _axis(taxonomy.axes[axis], heading=len(axes) > 1)),
            ]
        )
        + "\n"
        for page, axes in PAGES.items()
    }


def _axis(axis: Axis, *, heading: bool) -> Iterator[str]:
    if heading:
        yield f"## {axis.name}\n\n{axis.question}"
    level = "###" if heading else "##"
    for label in axis.labels:
        if label.retired is None:
            yield f"{level} {label.id} {{ #{_anchor(axis.id, label.id)} }}"
            yield from _label(axis, label)


def _anchor(axis: str, label: str) -> str:
    return f"distributed-{label}" if axis == "distributed" else label


def _label(axis: Axis, label: Label) -> Iterator[str]:
    yield label.definition
    facts = ([f"family *{label.family}*"] if label.family else []) + (
        [f"taken from {_SOURCES[label.source]}"] if label.source else []
    )
    if facts:
        yield f"<small>{', '.join(facts)}</small>"
    book = playbook_of(default_taxonomy(), axis.id, label.id)
    if book is not None:
        yield from _playbook(book)
    example = _examples().get((axis.id, label.id))
    if example is not None:
        name, title, body = example
        listing = textwrap.indent(f"{title}\n\n{body}", "    ", lambda _: True)
        yield f'??? example "A report, restated from {name}"\n\n    ````text\n{listing}\n    ````'


def _playbook(book: Playbook) -> Iterator[str]:
    checks = "\n".join(f"- {check.say}" for check in book.checks)
    yield f"**Check first.** The first of these that fits the report.\n\n{checks}"
    yield f"**In a log.** {book.looks}"
    yield "**Confirm it.**\n\n" + "\n".join(f"{number}. {step}" for number, step in enumerate(book.confirm, 1))
    yield f"**Not to be confused.** {_linked(book.unlike)}"
    yield f"**What usually fixes it.** {book.fixes}"
    yield "**Ask for.**\n\n" + "\n".join(f"- {question}" for question in book.ask)
    if book.sources:
        yield "<small>Checked against " + ", ".join(f"<{source}>" for source in book.sources) + "</small>"


def _linked(text: str) -> str:
    """Names of other labels become links."""
    places = {
        label: f"{page}.md#{label}"
        for page, axes in PAGES.items()
        for axis in axes
        if axis != "distributed"
        for label in default_taxonomy().axes[axis].label_ids
    }
    return re.sub(
        r"`([a-z-]+)`", lambda match: f"[{match[0]}]({places[match[1]]})" if match[1] in places else match[0], text
    )


@cache
def _examples() -> Mapping[tuple[str, str], tuple[str, str, str]]:
    """(axis, label) -> id, title and body of a short restated report whose annotator was sure."""
    folder = ROOT / "training" / "corpus"
    texts = {record["id"]: record for record in _lines(folder / "restated.jsonl")}
    examples: dict[tuple[str, str], tuple[str, str, str]] = {}
    for record in _lines(folder / "annotations.jsonl"):
        text = texts.get(record["id"])
        if text is None or record["split"] != "train" or record.get("confidence") != "high":
            continue
        body = (text["body"] or "").strip()
        if not 150 <= len(body) <= EXAMPLE_CHARS or not body.isascii():
            continue
        for axis in ("kind", "stage", "symptom", "cause", "fix"):
            if record.get(axis) and (axis not in {"cause", "fix"} or record.get(f"{axis}_evidence") == "stated"):
                best = examples.get((axis, record[axis]))
                if best is None or (len(body), record["id"]) < (len(best[2]), best[0]):
                    examples[axis, record[axis]] = (record["id"], text["title"].strip(), body)
    return examples


def _lines(file):  # type: ignore[no-untyped-def]
    with file.open(encoding="utf-8") as stream:
        yield from map(json.loads, stream)
