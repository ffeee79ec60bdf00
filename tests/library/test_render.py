from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from rich.console import Console

from distriage.answer import render
from distriage.answer.playbooks import playbook_of
from distriage.answer.render import Cell, Grid, Line, plain
from distriage.answer.render import shown as shown_parts
from distriage.answer.screen import print_parts
from distriage.answer.verdict import AxisVerdict, EvidenceLine, LabelProbability, MissingFact, Verdict
from distriage.base.types import IssueReport, Mode
from distriage.classifier import Classifier
from distriage.model.taxonomy import Taxonomy, default_taxonomy

from support.reports import make_report


def shown(verdict: Verdict, taxonomy: Taxonomy, *, colour: bool = False, width: int = 100) -> str:
    out = io.StringIO()
    print_parts(
        Console(
            file=out, width=width, force_terminal=colour, color_system="standard" if colour else None, highlight=False
        ),
        render.shown(verdict, taxonomy),
    )
    return "\n".join(line.rstrip() for line in out.getvalue().split("\n"))


def axis_verdict(outcome: str = "apply", label: str = "bug", **changes: object) -> AxisVerdict:
    fields = {
        "outcome": outcome,
        "label": label,
        "probability": 0.61,
        "family": None,
        "family_probability": None,
        "reason": "below 0.70",
        "top": [LabelProbability(label=label, probability=0.61), LabelProbability(label="runner-up", probability=0.25)],
        "advice": None,
        "evidence": None,
    }
    return AxisVerdict.model_validate({**fields, **changes})


def a_verdict(axes: dict[str, AxisVerdict] | None = None, **changes: object) -> Verdict:
    fields = {
        "id": "owner/repo#1",
        "title": "It hangs",
        "model": "toy",
        "taxonomy_version": "1.0.0",
        "mode": "balanced",
        "axes": axes or {"kind": axis_verdict()},
        "environment": {},
        "missing": [],
        "checks": [],
        "known_problems": [],
    }
    return Verdict.model_validate({**fields, **changes})


def test_a_sure_label_of_an_axis_with_many_comes_with_its_meaning() -> None:
    taxonomy = default_taxonomy()
    meaning = taxonomy.axes["symptom"].label("runtime-hang").definition
    for outcome, times in (("apply", 1), ("suggest", 0)):
        axes = {"symptom": axis_verdict(outcome, "runtime-hang"), "kind": axis_verdict()}
        text = " ".join(shown(a_verdict(axes), taxonomy, width=400).split())
        assert text.count(f"runtime-hang: {meaning}") == times
        assert taxonomy.axes["kind"].label("bug").definition not in text


def longest_verdict() -> Verdict:
    """Everything that the screen can hold, each as long as it gets."""
    taxonomy = default_taxonomy()
    axes = {}
    for axis in taxonomy.axes.values():
        label = max(axis.label_ids, key=len)
        family = axis.label(label).family
        axes[axis.id] = axis_verdict(
            "suggest", label, family=family, top=[LabelProbability(label=label, probability=0.5)] * 3
        )
    facts = {
        "framework": "Colossal-AI",
        "framework_version": "0.16.8.post1.dev20240601",
        "torch": "2.4.0.dev20240601+cu124",
        "python": "3.10.12",
        "cuda": "12.4",
        "nccl": "2.20.5",
        "driver": "535.129.03",
        "gpu_model": "A100-SXM4-80GB",
        "gpu_count": 1024,
        "nodes": 128,
        "os": "Red Hat Enterprise Linux release 8.10",
        "launcher": "colossalai",
    }
    questions = [
        MissingFact(
            fact="x", question="Which NCCL version? (`python -c 'import torch; print(torch.cuda.nccl.version())'`)"
        )
    ] * 7
    checks = sorted((check for _, check in longest_checks()), key=len)[-3:]
    return a_verdict(axes, title="long title " * 60, environment=facts, missing=questions, checks=checks)


def longest_checks() -> Iterator[tuple[str, str]]:
    """The longest check of each symptom and each cause."""
    taxonomy = default_taxonomy()
    for axis in ("symptom", "cause"):
        for label in taxonomy.axes[axis].label_ids:
            book = playbook_of(taxonomy, axis, label)
            assert book is not None
            yield label, max((check.say for check in book.checks), key=len, default="")


@pytest.mark.parametrize("width", [100, 132])  # as a list, and as a table
def test_the_longest_verdict_fits_a_screen_of_24_lines(width: int) -> None:
    lines = shown(longest_verdict(), default_taxonomy(), width=width).splitlines()
    assert len(lines) <= 24
    assert all(len(line) <= width for line in lines)


def test_the_longest_verdict_shows_every_label_in_full() -> None:
    text = shown(longest_verdict(), default_taxonomy())
    for axis in default_taxonomy().axes.values():
        label = max(axis.label_ids, key=len)
        assert ("probably no" if axis.id == "distributed" else f"perhaps {label}") in text


@pytest.mark.parametrize("mode", list(Mode))
def test_a_real_verdict_fits_a_screen(tiny_classifier: Classifier, mode: Mode) -> None:
    report = make_report()
    text = shown(
        tiny_classifier.classify(report, mode),
        tiny_classifier.bundle.taxonomy,
    )
    assert len(text.splitlines()) <= 24
    assert text.splitlines()[0] == "NCCL timeout in all_reduce"
    assert text.splitlines()[-1] == f"tiny, taxonomy 1.0.0, mode {mode.value}"
    for name in ("Kind", "Distributed", "Stage", "Symptom", "Root cause", "Fix pattern"):
        assert f"\n{name}" in text
    assert "\nEnvironment  repo, torch 2.3.0, gpu model A100, gpu count 16, gpus per node 8, nodes 2," in text


HOSTILE = (
    "[red]a[/red] [link=http://evil]b[/link] [/] :bug: \x1b[31mred\x1b[0m \x1b]0;title\x07 \x07 \r over "
    "\x9b2J \u202e drawkcab"
)


@pytest.mark.parametrize("colour", [False, True])
def test_text_of_the_report_is_shown_as_text(colour: bool) -> None:
    axis = axis_verdict(evidence=[EvidenceLine(line=HOSTILE, weight=1.0)])
    verdict = a_verdict({"kind": axis}, title=HOSTILE, environment={"os": HOSTILE})
    clean = shown(a_verdict(), default_taxonomy(), colour=colour)
    hostile = shown(verdict, default_taxonomy(), colour=colour, width=400)
    assert hostile.count("[red]a[/red] [link=http://evil]b[/link] [/] :bug:") == 3
    for forbidden in ("\x07", "\r", "\x9b", "\u202e", "\x1b]", "\x1b[31m"):
        assert forbidden not in hostile
    assert ("\x1b" in hostile) is ("\x1b" in clean) is colour


@pytest.mark.parametrize(
    ("axis", "line"),
    [
        (axis_verdict("apply", "bug"), "Kind  bug"),
        (axis_verdict("suggest", "bug"), "Kind  perhaps bug"),
        (axis_verdict("suggest", "bug", family="memory"), "Kind  perhaps bug; family: memory"),
        (axis_verdict("abstain", "bug"), "Kind  not sure (best guess bug)"),
        (axis_verdict("abstain", "bug", family="memory"), "Kind  not sure; family: memory (best guess bug)"),
        (axis_verdict("not-applicable", "bug", reason="kind is question"), "Kind  - (kind is question)"),
    ],
)
def test_how_an_outcome_is_said(axis: AxisVerdict, line: str) -> None:
    text = shown(a_verdict({"kind": axis}), default_taxonomy())
    row = text.splitlines()[2]
    assert row.startswith(line)
    assert row[len(line) :].split() == ([] if axis.outcome == "not-applicable" else ["0.61", "runner-up", "0.25"])


@pytest.mark.parametrize(("label", "said"), [("true", "yes"), ("false", "no")])
def test_distributed_is_said_as_yes_or_no(label: str, said: str) -> None:
    assert shown(a_verdict({"distributed": axis_verdict("apply", label)}), default_taxonomy()).splitlines()[2].split()[
        :2
    ] == ["Distributed", said]


def test_the_checks_stand_under_each_other() -> None:
    lines = shown(a_verdict({}, checks=["Run `py-spy dump`.", "Wait."]), default_taxonomy()).splitlines()
    first = lines.index("Check first  1. Run `py-spy dump`.")
    assert lines[first + 1] == "             2. Wait."


def test_evidence_and_questions_are_shown() -> None:
    axis = axis_verdict(
        label="rank-desynchronization",
        evidence=[EvidenceLine(line="it hangs", weight=1.234), EvidenceLine(line="y" * 400, weight=0.5)],
    )
    questions = [MissingFact(fact=str(i), question=f"Question {i}?") for i in range(6)]
    lines = shown(a_verdict({"cause": axis}, missing=questions), default_taxonomy()).splitlines()
    assert "Environment  none found" in lines
    assert "Missing      Question 0? Question 1? Question 2? Question 3? Question 4? Question 5?" in lines
    assert "Why root cause rank-desynchronization (log-odds lost without the line):" in lines
    assert "  +1.23  it hangs" in lines
    assert max(map(len, lines)) <= 100
    assert [line for line in lines if line.strip("y ") == ""][-1].startswith("         y")  # wraps below the line


def test_a_report_without_a_title_is_named_by_its_id() -> None:
    assert shown(a_verdict(title=""), default_taxonomy()).splitlines()[0] == "owner/repo#1"
    assert shown(a_verdict(title="", id=""), default_taxonomy()).splitlines()[0] == "(no title)"


def test_a_chinese_report_is_shown(keyword_classifier: Classifier) -> None:
    report = IssueReport("训练卡住", "多机训练时卡住，8 张 A100")
    verdict = keyword_classifier.classify(report, Mode.BALANCED)
    lines = shown(verdict, keyword_classifier.bundle.taxonomy).splitlines()
    assert lines[0] == "训练卡住"
    assert "Environment  gpu model A100, gpu count 8" in lines


def test_similar_issues_stand_with_their_labels_a_line_each() -> None:
    known = [
        {
            "id": "a/b#1",
            "url": "https://github.com/a/b/issues/1",
            "title": "It waits",
            "labels": {"kind": "bug", "symptom": "runtime-hang", "fix": "distributed-tuning"},
            "similarity": 0.5,
        },
        {
            "id": "a/b#2\x1b[31m",
            "url": "",
            "title": "x" * 300 + "\x1b]0;evil\x07[bold]",
            "labels": {},
            "similarity": 0.25,
        },
    ]
    lines = shown(a_verdict(similar=known), default_taxonomy()).split("\n")
    start = lines.index("Similar issues:")
    assert lines[start + 1 : start + 4] == [
        "  distributed-tuning  https://github.com/a/b/issues/1",
        "    It waits",
        "    -, runtime-hang, -  (similarity 0.50)",
    ]
    assert "\x1b" not in "".join(lines) and lines[start + 4] == "  -  a/b#2 [31m"
    assert "https://github.com/a/b/issues/1" in shown(a_verdict(similar=known), default_taxonomy(), colour=True)
    assert "Similar" not in shown(a_verdict(similar=[]), default_taxonomy()) + shown(a_verdict(), default_taxonomy())


@pytest.mark.parametrize("width", [40, 80])
def test_a_narrow_terminal_shows_every_label_in_full(width: int) -> None:
    text = shown(longest_verdict(), default_taxonomy(), width=width)
    assert all(len(line) <= width for line in text.splitlines())
    for axis in default_taxonomy().axes.values():
        label = "no" if axis.id == "distributed" else max(axis.label_ids, key=len)
        assert label in text


@pytest.mark.parametrize("width", [76, 77, 80, 81, 90])
def test_the_table_is_shown_wherever_it_fits(width: int) -> None:
    """The example's: 81 columns, or 77 with narrower gaps; a terminal mostly has 80."""
    sure, unsure = "rank-desynchronization", "perhaps distributed-tuning"
    rows = [
        [Cell(cell) for cell in ("Distributed", said, "0.92", "communication-library-defect", "0.01")]
        for said in (sure, unsure)
    ]
    out = io.StringIO()
    grid = Grid(rows, ("", "verdict", "p", "second guess", "p"), right=(2, 4), else_lines=[Line([Cell("a list")])])
    print_parts(Console(file=out, width=width), [grid])
    assert ("a list" in out.getvalue()) == (width < 77)
    assert all(len(line) <= width for line in out.getvalue().splitlines())


def test_a_pipe_gets_lines_that_are_neither_cut_nor_padded() -> None:
    lines = list(plain(shown_parts(longest_verdict(), default_taxonomy())))
    assert all(line == line.rstrip() and "…" not in line for line in lines)
    assert any(max(default_taxonomy().axes["symptom"].label_ids, key=len) in line for line in lines)


def test_a_pipe_gets_the_lines_of_a_terminal_of_any_width() -> None:
    kind = axis_verdict(evidence=[EvidenceLine(line=HOSTILE, weight=1.0), EvidenceLine(line="卡住", weight=-12.5)])
    similar = [{"id": "a/b#1", "url": "https://x.y", "title": "卡", "note": "n", "labels": {}, "similarity": 0.5}]
    own = [
        {"label": "one", "probability": 0.9, "applied": True},
        {"label": "two", "probability": 0.4, "applied": False},
    ]
    more = {"similar": similar, "own": own, "missing": [MissingFact(fact="x", question="Which?")], "title": "卡" * 90}
    for verdict in (longest_verdict(), a_verdict({"kind": kind}, **more), a_verdict(in_domain=False, title="")):
        taxonomy = default_taxonomy()
        assert list(plain(shown_parts(verdict, taxonomy))) == shown(verdict, taxonomy, width=10_000).splitlines()


def test_what_is_outside_the_domain_is_said_in_words_and_only_its_kind_shown() -> None:
    axes = {
        axis: axis_verdict("apply" if axis == "kind" else "abstain", default_taxonomy().axes[axis].label_ids[0])
        for axis in default_taxonomy().axes
    }
    for width in (100, 40):
        text = shown(a_verdict(axes, in_domain=False, domain_probability=0.01), default_taxonomy(), width=width)
        why = "This does not read like a report about distributed deep learning; no labels but its kind."
        assert why in " ".join(text.split())
        assert "Kind" in text and "Symptom" not in text and "best guess" not in text


def test_the_causes_to_tell_apart_are_shown_with_how_often_one_of_them_is_right() -> None:
    causes = [
        {"label": "network-misconfiguration", "probability": 0.41, "check": "Run `ping`."},
        {"label": "deadlock", "probability": 0.2, "check": "Look at the \x1b[31mstacks."},
    ]
    found = {"causes": causes, "right_among": 0.7}
    text = shown(a_verdict(differential=found), default_taxonomy())
    assert "Which cause" in text and "network-misconfiguration 0.41: Run `ping`." in text
    assert "deadlock 0.20: Look at the  [31mstacks." in text and "\x1b" not in text
    assert "(among the three likeliest in 70% of held-out reports)" in text
    unmeasured = shown(a_verdict(differential={**found, "right_among": None}), default_taxonomy())
    assert "network-misconfiguration" in unmeasured and "held-out" not in unmeasured


@pytest.mark.parametrize("outcome", ["apply", "not-applicable"])
def test_an_axis_of_the_user_s_own_may_have_any_name(outcome: str) -> None:
    name = "Area [new] | [/x]"
    kind = default_taxonomy().axes["kind"].model_copy(update={"name": name})
    own = Taxonomy(name="own", version="1", axes={"kind": kind})
    assert name in shown(a_verdict({"kind": axis_verdict(outcome)}), own)
