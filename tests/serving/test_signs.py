# ruff: noqa: F401, F811  # fixtures
"""Labels for signs: configured, planned, set by the Action, back-tested."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from distriage.answer.verdict import Verdict
from distriage.base.errors import InputError
from distriage.base.references import IssueReference
from distriage.base.types import IssueReport
from distriage.github import releases as releases_of_day
from distriage.github.client import Client
from distriage.github.releases import Release, kept_releases
from distriage.signs.kinds import Sign, kinds
from distriage.signs.table import update_table
from distriage_serving.configuration.names import resolve
from distriage_serving.judging.process import load_classifier
from distriage_serving.planning.plan import make_plan
from distriage_serving.planning.signs import with_signs
from distriage_serving.planning.types import Plan

from support import faults
from support.action import Act, act, double, outputs, runner, summary
from support.command_line import Command
from support.configurations import parse, problems
from support.faults import Trouble
from support.github import GitHub
from support.plans import TAXONOMY, config, state
from support.queue_demo import add_issue
from support.queue_server import Queue, csrf
from support.queue_site import admin, site, stranger
from support.signs import BODY, SIGNS, asked, with_releases
from support.verdicts import make_verdict

REGRESSION = Sign(name="regression", says="Worked in 1.2.3, fails in 1.3.0.", line=3)
REPORT = IssueReport("It hangs", BODY, "owner/repo#1")


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    releases_of_day._kept._values.clear()


def signed(text: str, *signs: Sign, releases: tuple[Release, ...] = ()) -> Verdict:
    verdict = make_verdict().model_copy(update={"signs": list(signs)})
    return with_signs(verdict, REPORT, resolve(config(text), TAXONOMY), releases)


def planned(text: str, **changes: object) -> Plan:
    return make_plan(signed(text, REGRESSION), state(**changes), resolve(config(text), TAXONOMY))


# ---------------------------------------------------------------- configuration and plan


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("signs: {regresion: true}", "1: unknown sign `regresion`; did you mean `regression`? known: "),
        ("signs: {regression: [a]}", "1: `signs.regression`: expected a name, true, false or a table, found a list"),
        ("signs: regression", "1: `signs`: expected a table"),
        (
            "axes: {kind: {labels: {bug: Bug}}}\nsigns: {regression: bug}",
            "2: `bug` is also the name of bug of axis kind; expected another name",
        ),
        ("signs: {old-version: no}", "1: `signs.old-version`: `no` is text here"),
    ],
)
def test_a_mistake_in_a_table_of_signs_is_one_line(text: str, message: str) -> None:
    (problem,) = problems(text)
    assert str(problem).startswith(f"distriage.yml:{message}"), problem


def test_signs_are_off_until_they_are_named() -> None:
    assert "regression" not in planned("").labels and signed("", REGRESSION).own is None
    assert planned("signs: {regression: false}").labels == planned("").labels
    assert "regression" in planned("signs: {regression: true}").labels
    assert "signs: regression, old-version" in list(
        resolve(parse("signs: {old-version: aged, regression: true}"), TAXONOMY).describe()
    )


def test_a_sign_s_label_is_created_unless_that_is_off() -> None:
    text = "signs: {regression: {name: kind/regression, color: d93f0b}}"
    made = planned(text)
    (new,) = [one for one in made.create if one.name == "kind/regression"]
    assert new.color == "d93f0b" and new.description == kinds()["regression"].says
    there = planned(text, repository_labels=frozenset({"Kind/Regression"}))
    assert "kind/regression" in there.labels and not any(one.name == "kind/regression" for one in there.create)
    off = planned(f"{text}\ncreate-labels: false")
    assert "kind/regression" not in off.labels
    assert any(one.what == "kind/regression" and "`create-labels` is off" in one.why for one in off.left_out)


def test_a_person_s_word_on_a_sign_holds() -> None:
    text = "signs: {regression: true}"
    assert "regression" not in planned(text, decided={"own:regression": None}).labels
    assert "regression" not in planned(text, removed=frozenset({"Regression"})).labels
    wrong = planned(
        text,
        decided={"own:regression": None},
        labels=frozenset({"regression"}),
        labels_by_us=frozenset({"regression"}),
    )
    assert wrong.take_off == ("regression",)


def test_the_reason_says_the_sign_and_its_measured_precision() -> None:
    text = "suggestions: all\nsigns: {regression: true}"
    (made,) = [one for one in planned(text).suggestions if one.value == "regression"]
    assert made.intent.rationale == "Worked in 1.2.3, fails in 1.3.0. Right in 98% of judged reports."
    assert made.intent.confidence == "high"


def test_two_signs_may_share_a_label() -> None:
    text = "signs: {regression: versions, unreleased: versions}"
    both = signed(text, REGRESSION, Sign(name="unreleased", says="States 1.3.0.dev1, which is not a release.", line=1))
    assert [(own.label, own.applied) for own in both.own or ()] == [("versions", True)]


# ---------------------------------------------------------------- Action and back-test


def test_releases_that_github_refuses_are_not_asked_for_again_that_day(
    github: GitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_releases(github)
    client, now = Client(github.token, github.url, max_wait_s=0.0), 0.0
    monkeypatch.setattr(releases_of_day._kept, "clock", lambda: now)
    github.troubles.append(Trouble("GET .*/releases", faults.status(403)))
    assert kept_releases(client, "owner/repo") == ()
    assert kept_releases(client, "Owner/Repo") == ()
    now += 24 * 3600.0
    assert len(kept_releases(client, "owner/repo")) == 3 and asked(github) == 2


def test_releases_that_github_could_not_give_are_asked_for_again(github: GitHub) -> None:
    with_releases(github)
    client = Client(github.token, github.url, max_wait_s=0.0)
    github.troubles.append(Trouble("GET .*/releases", faults.status(500), times=99))
    assert kept_releases(client, "owner/repo") == ()
    github.troubles.clear()
    assert len(kept_releases(client, "owner/repo")) == 3


def test_the_action_sets_labels_of_signs_and_says_them(double: GitHub, runner: Path, act: Act) -> None:
    with_releases(double)
    double.open("owner/repo#1", "It hangs", BODY)
    double.files["owner/repo/.github/distriage.yml"] = f"{SIGNS}owners: {{regression: [carol]}}\n"
    assert act() == 0
    assert "**Owners**: `carol` (`regression`)" in summary(runner)
    assert json.loads(outputs(runner)["labels-added"])[1:] == ["kind/regression", "affects-latest"]
    assert "- `regression`: `Worked in 1.2.3, fails in 1.3.0.`" in summary(runner)
    assert asked(double) == 1


def test_the_action_may_have_a_table_and_asks_nobody(
    double: GitHub, act: Act, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with_releases(double)
    table = tmp_path / "releases.json"
    update_table(table, ["owner/repo"], Client(double.token, double.url))
    double.open("owner/repo#1", "It hangs", BODY)
    double.files["owner/repo/.github/distriage.yml"] = SIGNS
    assert act(releases=str(table)) == 0
    assert "affects-latest" in double.labels("owner/repo#1") and asked(double) == 1
    act(releases="none.json")
    assert (
        "none.json: not found or not readable; expected a file of `distriage releases update`"
        in capsys.readouterr().out
    )
    assert asked(double) == 2


def test_the_backtest_says_how_often_signs_are_set_and_right(
    github: GitHub, command: Command, keyword_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", github.token)
    monkeypatch.setenv("GITHUB_API_URL", github.url)
    monkeypatch.chdir(tmp_path)
    with_releases(github)
    github.open("owner/repo#1", "It hangs", BODY)
    github.open("owner/repo#2", "It hangs", BODY, ("Kind/Regression",), created_at="2024-07-01T00:00:00Z")
    github.open("owner/repo#3", "It hangs", "repo 1.2.3 hangs", ("kind/regression",))
    (tmp_path / "c.yml").write_text(SIGNS, encoding="utf-8")
    done = command("backtest", "owner/repo", "--model", keyword_bundle, "--config", "c.yml")
    assert "regression: label kind/regression on 2 of 3 issues, 1 of them carry it today\n" in done.out, done
    assert "old-version: label old-version on 2 of 3 issues, nobody set it by hand\n" in done.out
    assert "affects-latest: label affects-latest on 1 of 3 issues" in done.out
    page = " ".join((tmp_path / "backtest.html").read_text(encoding="utf-8").split())
    assert "<th>regression</th><td><bdi>kind/regression</bdi></td><td>2 of 3</td>" in page and "1 of 2" in page


# ---------------------------------------------------------------- the queue


def test_the_queue_shows_signs_and_takes_reviews_of_their_labels(site: Queue, admin: httpx.Client) -> None:
    names = resolve(config("signs: {regression: kind/regression}"), TAXONOMY)
    report = IssueReport("It hangs", BODY, "Owner/Repo#81")
    verdict = with_signs(site.classifier.classify(report), report, names)
    verdict_id = add_issue(site.store, "Owner/Repo", 81, report.title, report.body, verdict, 1_700_000_000.0)
    page = admin.get("/queue/owner/repo/81")
    assert "<strong>regression</strong> Worked in 1.2.3, fails in 1.3.0." in page.text
    assert 'name="own" value="kind/regression" checked' in page.text
    wrong = {"csrf": csrf(page), "action": "accept", "verdict": str(verdict_id), "own-before": "kind/regression"}
    assert admin.post("/queue/owner/repo/81", data=wrong).status_code == 303
    assert site.standing(81)["own:kind/regression"] is None
    site.store.undo_reviews(*(row.id for row in site.store.reviews(issue=IssueReference("owner/repo", 81))))
    assert "own:kind/regression" not in site.standing(81)


def test_the_server_holds_versions_against_a_table(github: GitHub, keyword_bundle: Path, tmp_path: Path) -> None:
    with_releases(github)
    table = tmp_path / "releases.json"
    update_table(table, ["owner/repo"], Client(github.token, github.url))
    classifier = load_classifier(str(keyword_bundle), 1, None, "INFO", table)
    (sign,) = classifier.classify(IssueReport("It hangs", "repo 1.2.3 hangs", "owner/repo#1")).signs or ()
    assert (sign.name, sign.says) == ("old-version", "States 1.2.3; 1.4.0 was out.")
    table.write_text("{}")
    with pytest.raises(InputError, match=r"releases\.json: repositories: missing"):
        load_classifier(str(keyword_bundle), 1, None, "INFO", table)
