from __future__ import annotations

import re

import pytest
from starlette.datastructures import QueryParams

from distriage.answer.verdict import EvidenceLine, Verdict
from distriage.base.texts import packaged
from distriage.base.types import Mode
from distriage.classifier import Classifier
from distriage.model.taxonomy import default_taxonomy
from distriage.recipe.text import prepare
from distriage_serving.queue.charts import figures as charts
from distriage_serving.queue.issue_view import NONE, OPEN, default_choice, view_axes
from distriage_serving.queue.listing import age, issue_href, list_href, read_filters
from distriage_serving.queue.many.views import VIEWS
from distriage_serving.queue.report.evidence import mark, strongest
from distriage_serving.queue.report.looked import view_report
from distriage_serving.queue.report.rendered import render
from distriage_serving.queue.visible import plain, visible, with_code
from distriage_serving.store import WEEK_S, AxisCount, Review

from support.linear_time import in_time
from support.reports import make_report
from support.verdicts import make_verdict

MONDAY = 1_699_833_600  # 13 November 2023


def verdict_of(classifier: Classifier, title: str) -> Verdict:
    report = make_report(title=title, body="")
    return classifier.classify(report, Mode.BALANCED)


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_is_an_address_that_the_list_reads(view: str) -> None:
    assert read_filters(QueryParams(VIEWS[view]), default_taxonomy(), {})[0].chosen == VIEWS[view]


def test_the_help_shows_every_key() -> None:
    script = packaged("distriage_serving.queue", "static/queue.js")
    acts = script.partition("const onList =")[2].partition("const keys =")[0]
    menus = re.search(r'\[\.\.\."(\w+)"\]', acts)
    assert menus is not None
    shown = re.findall(r"<kbd>([^\d<])</kbd>", packaged("distriage_serving.queue", "templates/help.html"))
    assert {*re.findall(r'[{,]\s*"?([A-Za-z/?])"?:', acts), *menus[1]} == {*shown}


def test_text_of_others_is_escaped_and_nothing_in_it_stays_hidden() -> None:
    shown = visible("<b>&\u202egnp.exe\x1b[31m\u200b\ttab\r\nline")
    assert "&lt;b&gt;&amp;" in shown and "\ttab\nline" in shown
    for point, name in (
        ("U+202E", "right-to-left override"),
        ("U+001B", "control character"),
        ("U+200B", "zero width space"),
    ):
        assert f'title="{name}">{point}</span>' in shown
    assert not {"\u202e", "\x1b", "\u200b"} & set(shown)
    assert plain('"\u2066x') == '"[U+2066]x'
    assert (
        visible("\u4f60\u597d \U0001f469\u200d\U0001f4bb") == "\u4f60\u597d \U0001f469\u200d\U0001f4bb"
    )  # emoji are joined by a zero-width joiner


def test_a_check_shows_its_commands_as_code_and_nothing_else_as_markup() -> None:
    assert with_code("Run `a < b` **now**.") == "Run <code>a &lt; b</code> **now**."
    assert with_code("<i> `open") == "&lt;i&gt; `open"


def test_evidence_is_found_by_its_words_though_the_model_read_it_without_prefix_and_path() -> None:
    log = (
        "2024-01-01 10:00:00 [rank3]: RuntimeError: NCCL communicator was aborted on rank 3\n"
        '  File "/opt/x/y/engine.py", line 7, in step'
    )
    body = f"It hangs.\n\n```\n{log}\n```\nThanks"
    evidence = {
        "symptom": [EvidenceLine(line="RuntimeError: NCCL communicator was aborted on rank 3", weight=2.0)],
        "stage": [
            EvidenceLine(line="x/y/engine.py step", weight=1.0),
            EvidenceLine(line="words that stand nowhere at all", weight=1.0),
        ],
    }
    report = mark("A title", body, evidence)
    assert report.lines == {3: ["symptom"], 4: ["stage"]} and report.title == []


MARKDOWN = """It **hangs**
on two ranks of <kbd>8</kbd>.

| a | b |
|---|---|
| 1 | 2 |

```python
one
two <b>
```
<details><summary>Log</summary>

- inside

</details>
"""


def test_evidence_in_chinese_is_found_though_the_model_read_it_in_english() -> None:
    (line,) = prepare("", body := "谢谢\n报错:RuntimeError: NCCL 通信超时").errors
    evidence = {"fix": [EvidenceLine(line=line, weight=1)]}
    assert "communication timeout" in line and mark("", body, evidence).lines == {1: ["fix"]}


def test_a_report_is_rendered_as_github_does_with_its_lines_marked_wherever_they_stand() -> None:
    html, _ = render(MARKDOWN, {0: ["symptom"], 1: ["cause", "fix"], 9: ["stage"], 13: ["<i>"]})
    symptom, causes, stage, hostile = (
        f'<mark data-carries="{ids}">' for ids in ("symptom", "cause fix", "stage", "&lt;i&gt;")
    )
    assert f"{symptom}It <strong>hangs</strong></mark><br>" in html  # one line feed, one line, as there
    assert f"{causes}on two ranks of <kbd>8</kbd>.</mark>" in html
    assert "<table>" in html and f"one\n{stage}two &lt;b&gt;</mark>" in html
    assert "<details><summary>Log</summary>" in html and f"<li>{hostile}inside</mark></li>" in html


def test_boxes_of_task_lists_are_shown_as_boxes() -> None:
    html, _ = render("- [ ] a **b**\n- [x] c\n- [y] d\n\n[x] e", {0: ["fix"]})
    assert '<mark data-carries="fix">☐ a <strong>b</strong></mark>' in html and "<li>☑ c</li>" in html
    assert "<li>[y] d</li>" in html and "<p>[x] e</p>" in html


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("x <script>alert(1)</script>", "<p>x &lt;script&gt;alert(1)&lt;/script&gt;</p>"),
        ("a <b onclick=alert(1) style=x id=y class=z>b</b>", "<p>a <b>b</b></p>"),
        ("a <form action=/x><button>OK</button></form>", "<p>a </p>OK"),
        ("[a](javascript:alert(1)) [b](/logout)", '<p>[a](javascript:alert(1)) <a rel="noreferrer'),
        ("<mark>mine</mark>", "<p>mine</p>"),
        ("gnp.\u202eexe", "<p>gnp.[U+202E]exe</p>"),
        ("<bdo dir=rtl>exe.gnp</bdo>", "<p>exe.gnp</p>"),
    ],
)
def test_nothing_in_a_report_acts_or_pretends(hostile: str, shown: str) -> None:
    html, _ = render(hostile, {})
    assert html.strip().startswith(shown) and "/logout" not in html


def test_no_report_forges_an_evidence_mark_or_carries_one_out_of_an_attribute() -> None:
    for forged in ("&#xE001;5&#xE002;", "&#xE000;x&#xE001;0&#xE002;", '[x](https://a.org "&#xE001;0&#xE002;")'):
        html, _ = render(f"It hangs.\n\n{forged}", {0: ["symptom"]})
        assert html.count("<mark ") == html.count("data-carries=") == 1, forged
    html, _ = render('<div title="\n\nIt hangs.\n\n<div a=">\n', {2: ["symptom"]})
    assert "It hangs." in html and "mark>" not in html and "carries" not in html


def test_no_picture_reaches_the_page_unasked() -> None:
    for hostile in (
        '<img alt="<" src="https://x.org/1.png">',
        "<img alt='>' src=https://x.org/1.png>",
        '<image alt="&lt;" src="https://x.org/1.png">',
    ):
        html, count = render(hostile, {})
        assert count == 1 and "<img" not in html and '<a href="https://x.org/1.png"' in html, hostile
    html, count = render('<b title="<img src=https://x.org/1.png>">b</b>', {})
    assert count == 0 and "Picture" not in html


def test_pictures_are_links_until_they_are_asked_for() -> None:
    body = '![a "b"](https://x.org/1.png) <IMG alt=c src="https://x.org/2.png" onerror=x> ![d](http://x.org/3.png)'
    html, count = render(body, {})
    assert count == 3 and "<img" not in html
    assert [f">Picture: {name}</a>" in html for name in ("a &#34;b&#34;", "c", "d")] == [True] * 3
    html, count = render(body, {}, pictures=True)
    assert count == 3 and html.count('src="https://x.org/') == 2 and "onerror" not in html
    assert "3.png" not in html  # only over https


@pytest.mark.parametrize(
    "text",
    ["[a]: http://" + "x" * 9000 + "\n\n" + "[a]" * 9000, "[" * 9000, "> " * 9000, "|a" * 300 + "\n" + "|-" * 300],
    ids=["one definition used often", "brackets", "quotes", "a wide table"],
)
def test_a_hostile_report_stays_small(text: str) -> None:
    html, _ = render(text, {})
    assert len(html) < 60 * len(text)


def test_only_lines_that_weigh_about_as_much_as_the_heaviest_are_marked() -> None:
    lines = [EvidenceLine(line="a", weight=2.0), EvidenceLine(line="b", weight=1.1), EvidenceLine(line="c", weight=0.9)]
    assert [item.line for item in strongest(lines)] == ["a", "b"]


def test_a_report_of_a_hundred_thousand_lines_is_cut_and_says_so() -> None:
    assert mark("", "it\n" * 100_000, {"symptom": [EvidenceLine(line="it", weight=1.0)]}).lines == {0: ["symptom"]}
    shown = view_report("", "x\n" * 100_000, None)
    assert shown.cut == 130_000 and shown.html.count("x") == 35_000


def test_choices_are_numbered_and_an_unsure_axis_is_left_open(keyword_classifier: Classifier) -> None:
    taxonomy = keyword_classifier.bundle.taxonomy
    unsure = view_axes(verdict_of(keyword_classifier, "memory"), taxonomy, {})
    symptom = next(axis for axis in unsure if axis.id == "symptom")
    assert [choice.value for choice in symptom.choices[:2]] == ["oom", "leak"] and [
        choice.number for choice in symptom.choices[-2:]
    ] == [8, 9]
    assert [choice.value for choice in symptom.choices[-2:]] == [NONE, OPEN]
    verdict = verdict_of(keyword_classifier, "exhausted")
    assert default_choice(verdict.axes["symptom"]) == "oom"
    person = Review(repository="o/r", number=1, axis="symptom", label="crash", who="a", how="queue", at=1.0)
    corrected = next(axis for axis in view_axes(verdict, taxonomy, {"symptom": person}) if axis.id == "symptom")
    assert corrected.shown == "Crash" and [choice.value for choice in corrected.choices if choice.chosen] == ["crash"]
    question = view_axes(verdict_of(keyword_classifier, "how"), taxonomy, {})
    assert {axis.id: axis.shown for axis in question} == {
        "kind": "Question",
        "symptom": "Does not apply",
        "fix": "Does not apply",
    }


def test_precision_counts_the_latest_verdict_of_an_issue_that_stands() -> None:
    def said(number: int, label: str | None, at: float = 1.0, *, undone: bool = False) -> Review:
        row = Review(
            repository="o/r",
            number=number,
            axis="symptom",
            label=label,
            predicted_label="oom",
            who="a",
            how="queue",
            at=at,
        )
        row.undone_at = 9.0 if undone else None
        return row

    ((label, right),) = charts.precision(
        [said(1, "oom"), said(2, "leak"), said(3, None), said(3, "oom", 2.0), said(4, None, undone=True)], "symptom"
    )
    assert (label, right.hits, right.n) == ("oom", 2, 3)
    assert right.interval == pytest.approx((0.2077, 0.9385), abs=1e-4)  # R: binom::binom.wilson(2, 3)
    assert charts.precision([said(1, "oom")], "fix") == []


def test_coverage_leaves_out_axes_that_do_not_apply() -> None:
    counts = [
        AxisCount(MONDAY, "symptom", "oom", outcome, count)
        for outcome, count in (("apply", 6), ("suggest", 3), ("abstain", 1), ("not-applicable", 90))
    ]
    (found,) = charts.coverage(counts)
    assert (found.count, list(found.shares)) == (10, [0.6, 0.3, 0.1])


def test_drift_is_measured_against_the_weeks_before_and_against_chance() -> None:
    weeks = [MONDAY + place * WEEK_S for place in range(-2, 1)]
    counts = [
        AxisCount(weeks[0], "symptom", "oom", "apply", 30),
        AxisCount(weeks[1], "symptom", "leak", "suggest", 30),
        AxisCount(weeks[2], "symptom", "hang", "apply", 30),
    ]
    found = charts.weeks(counts, "symptom", {"oom": "memory", "leak": "memory"}, MONDAY + 3600, 4)
    assert [week.day for week in found] == ["23 Oct", "30 Oct", "06 Nov", "13 Nov"]
    assert [week.covered for week in found] == [None, 1.0, 0.0, 1.0]
    assert [week.drift for week in found] == [None, None, 0.0, 1.0]  # the same family, then another
    assert found[2].chance == 0.0 and 0 < (found[3].chance or 0) < 0.2
    assert charts.distance({"a": 1, "b": 1}, {"a": 1, "b": 1}) == 0.0
    plot = charts.plot("Coverage", [week.day for week in found], [week.covered for week in found], "{:.0%}")
    assert plot.count("<circle") == 3 and plot.count("<polyline") == 1 and "week of 13 Nov: 100%" in plot
    assert charts.plot("Coverage", ["23 Oct"], [None], "{:.0%}") == ""


def test_addresses_and_ages() -> None:
    assert issue_href("o/r", 3, "a=b") == "/queue/o/r/3?a=b"
    assert list_href("a=b", {"after": "x"}) == "/queue?a=b&after=x" and list_href() == "/queue"
    assert [age(seconds) for seconds in (5, 60, 7200, 86400 * 45)] == [
        "just now",
        "1 minute ago",
        "2 hours ago",
        "1 month ago",
    ]


def test_a_report_from_outside_is_said_to_be_one() -> None:
    outside = make_verdict().model_copy(update={"in_domain": False})
    assert outside.why_silent.startswith("This does not read like a report about distributed deep learning")
    assert make_verdict().why_silent == ""


@pytest.mark.parametrize("unit", ["http://[", "http://a.b", "<http://", "http://a.b/(", "http:// ", "[http:// "])
def test_a_report_full_of_addresses_is_rendered_in_linear_time(unit: str) -> None:
    assert in_time(lambda body: render(body, {}), unit * (32_768 // len(unit)))


@pytest.mark.parametrize(("columns", "tables"), [(2000, 1), (100, 38)])
def test_wide_tables_are_bounded_though_each_short_row_is_filled_up(columns: int, tables: int) -> None:
    rows = (60_000 // tables - 4 * columns) // 2
    body = ("|a" * columns + "\n" + "|-" * columns + "\n" + "|\n" * rows + "\n") * tables
    shown: list[str] = []
    assert in_time(lambda text: shown.append(render(text, {})[0]), "|b|\n|-|\n|c|\n\n" + body)
    html = shown[0]
    assert html.startswith("<table>") and html.count("<td") <= 10_000 and html.rstrip().endswith("</p>")


def test_addresses_become_links_wherever_they_stand() -> None:
    text = "see " + "word " * 50 + "https://a.example/x_y_z and **http://b.example** and www.c.org"
    html, _ = render(text, {})
    assert html.startswith("<p>see word") and 'word <a href="https://a.example/x_y_z"' in html
    assert 'href="http://b.example"' in html and 'href="http://www.c.org"' in html


def test_confusions_are_counted_by_the_latest_review_of_each_issue() -> None:
    def said(number: int, label: str | None, at: float) -> Review:
        place = {"repository": "o/r", "number": number, "axis": "symptom", "who": "x", "how": "queue"}
        return Review(**place, label=label, at=at, predicted_label="hang")  # type: ignore[arg-type]

    reviews = [said(1, "oom", 1), said(1, "leak", 2), said(2, "leak", 3), said(3, None, 4), said(4, "hang", 5)]
    assert charts.confusions(reviews, "symptom") == [("hang", "leak", 2)]
    assert charts.confusions(reviews, "stage") == []
