# ruff: noqa: F401, F811  # fixtures
"""A repository's own labels in the App: set, judged in the queue, handed to `learn`, read anew when learned again."""

from __future__ import annotations

import json
import re
import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import httpx
import pytest

from distriage.base.errors import BundleError
from distriage.base.references import IssueReference
from distriage.classifier import Classifier
from distriage.model.bundle import Bundle
from distriage.model.taxonomy import default_taxonomy
from distriage.own import shelf as shelves
from distriage.own.answer import OwnLabel
from distriage.own.shelf import OwnShelf
from distriage_serving.bot.worker import Timing, Worker
from distriage_serving.configuration.names import resolve
from distriage_serving.github.app_auth import App
from distriage_serving.judging.judge import LocalJudge
from distriage_serving.judging.process import load_classifier
from distriage_serving.planning.own_plan import with_own_labels
from distriage_serving.planning.plan import make_plan
from distriage_serving.planning.types import IssueState, LeftOut, Plan
from distriage_serving.store import Job, Review, triage_job
from distriage_serving.store.review_records import review_records

from support.app_key import APP_ID, app_key
from support.bot import ISSUE, Bot, bot, github, make, store
from support.command_line import Command
from support.github import INSTALLATION, PERSON, GitHub
from support.past_issues import WORDS
from support.plans import config, state
from support.queue_server import Queue, csrf, log_in, queue, visitor
from support.queue_site import admin, stranger
from support.server import running
from support.verdicts import make_verdict

PLACE = IssueReference("owner/repo", 1)


# ---------------------------------------------------------------- the plan


def planned(applied: bool, before: Plan | None = None, text: str = "", **state: object) -> Plan:
    verdict = make_verdict().model_copy(update={"own": [OwnLabel(label="docs", probability=0.9, applied=applied)]})
    known = IssueState(issue=PLACE, title="t", author="a", repository_labels=frozenset({"Docs"}), **state)  # type: ignore[arg-type]
    return with_own_labels(before or Plan(PLACE), verdict, known, resolve(config(text), default_taxonomy()))


def test_a_person_says_which_own_labels_are_right() -> None:
    assert planned(True).labels == ("docs",) and planned(False).labels == ()
    assert planned(False, decided={"own:docs": "docs"}).labels == ("docs",)
    refused = planned(True, decided={"own:docs": None})
    assert refused.labels == refused.take_off == () and "a person says" in refused.left_out[0].why
    removed = planned(True, removed=frozenset({"Docs"}))
    assert removed.labels == () and "somebody took it off" in removed.left_out[0].why
    assert planned(True, decided={"own:docs": "docs"}, removed=frozenset({"docs"})).labels == ("docs",)
    assert planned(True, decided={"own:Docs": "Docs"}).labels == ("Docs",)
    assert planned(True, decided={"own:Docs": None}).labels == ()
    assert "no longer has" in planned(False, decided={"own:gone": "gone"}).left_out[0].why


@pytest.mark.parametrize(
    ("precision", "confidence", "said"),
    [(0.93, "high", "right in 93% of held-out ones"), (0.8, "medium", "80%"), (0.6, "low", "60%"), (None, "low", "")],
)
def test_an_own_labels_confidence_is_its_measured_precision(
    precision: float | None, confidence: str, said: str
) -> None:
    own = [OwnLabel(label="docs", probability=0.99, applied=True, precision=precision)]
    verdict = make_verdict().model_copy(update={"own": own})
    known = IssueState(issue=PLACE, title="t", author="a", repository_labels=frozenset({"docs"}))
    names = resolve(config("suggestions: perhaps"), default_taxonomy())
    made = with_own_labels(Plan(PLACE), verdict, known, names).intents["docs"].intent
    assert made.confidence == confidence and said in made.rationale
    decided = with_own_labels(Plan(PLACE), verdict, replace(known, decided={"own:docs": "docs"}), names)
    assert decided.intents["docs"].intent.confidence == "high"


def test_the_configuration_leaves_own_labels_out() -> None:
    for text in ("own-labels: false", "own-labels: [speed]"):
        made = planned(True, text=text)
        assert made.labels == () and made.left_out == (LeftOut("docs", "an own label that `own-labels` leaves out"),)
        assert planned(True, text=text, decided={"own:docs": "docs"}).labels == ("docs",)  # a person says so
    assert planned(True, text="own-labels: [DOCS]").labels == planned(True, text="own-labels: true").labels == ("docs",)
    as_sign = "own-labels: false\nsigns: {regression: docs}"
    assert planned(True, text=as_sign).labels == ("docs",)


def test_only_what_distriage_set_is_taken_off() -> None:
    on_it = frozenset({"docs"})
    ours = {"labels": on_it, "labels_by_us": on_it}
    assert planned(True, decided={"own:docs": None}, **ours).take_off == ("docs",)
    assert planned(True, decided={"own:docs": None}, labels=on_it).take_off == ()
    assert planned(True, **ours).take_off == planned(False, **ours).take_off == planned(True, **ours).labels == ()
    other_case = {"labels": frozenset({"Docs"}), "labels_by_us": frozenset({"Docs"})}
    assert planned(True, decided={"own:docs": None}, **other_case).take_off == ("Docs",)
    assert planned(True, withdrawn={"own:docs": frozenset({"docs"})}, **other_case).take_off == ()
    undone = {"withdrawn": {"own:docs": frozenset({"docs"})}}
    assert planned(False, **undone, **ours).take_off == ("docs",)
    assert planned(True, **undone, **ours).take_off == ()
    assert planned(True, **undone, **ours, removed=on_it).take_off == ("docs",)  # taken off before that decision


def test_an_issue_that_is_ignored_gets_no_own_labels() -> None:
    own = [OwnLabel(label="docs", probability=0.9, applied=True)]
    known = state(author_is_bot=True, repository_labels=frozenset({"docs"}))
    verdict = make_verdict().model_copy(update={"own": own})
    made = make_plan(verdict, known, resolve(config(), default_taxonomy()))
    assert made.labels == () and made.left_out == (LeftOut("issue", "a bot wrote it"),)


def test_the_comment_names_own_labels_at_once() -> None:
    own = [OwnLabel(label="docs", probability=0.9, applied=True)]
    verdict = make_verdict().model_copy(update={"own": own})
    known = state(repository_labels=frozenset({"docs"}))
    settings = config("axes: {symptom: false}\ncomment: 'Labels: {{ labels }}'")
    made = make_plan(verdict, known, resolve(settings, default_taxonomy())).comment
    assert made is not None and made.body.endswith("Labels: `docs`")


def test_a_label_of_any_name_that_was_taken_off_holds_back_no_own_labels() -> None:
    before = Plan(PLACE, left_out=(LeftOut("issue", "somebody took it off this issue"),))
    assert planned(True, before).labels == ("docs",)


def test_a_label_that_the_configuration_gives_to_an_axis_is_no_own_one() -> None:
    text, on_it = "axes: {symptom: {labels: {runtime-hang: docs}}}", frozenset({"docs"})
    made = planned(True, text=text)
    assert made.labels == () and "gives to an axis" in made.left_out[0].why
    assert planned(True, text=text, decided={"own:docs": None}, labels=on_it, labels_by_us=on_it).take_off == ()


# ---------------------------------------------------------------- the bot


def use(bot: Bot, bundle: Path, own: Path) -> None:
    """The App answers with these heads from now on."""
    judge = LocalJudge(Classifier(bundle, threads=1, own=own))
    bot.worker = Worker(
        bot.store, App(APP_ID, app_key(), bot.github.url), judge, threading.Event(), Timing(debounce_s=30)
    )


@pytest.fixture
def owning(bot: Bot, keyword_bundle: Path, own_labels: Path) -> Bot:
    """The App gave the issue its own label `docs`."""
    bot.github.define("owner/repo", "docs")
    bot.github.open(ISSUE, WORDS["docs"], WORDS["docs"])
    use(bot, keyword_bundle, own_labels)
    bot.issue("opened")
    assert bot.github.labels(ISSUE) == ["docs"]
    return bot


def test_the_app_takes_off_what_a_person_refuses_and_sets_what_is_right(owning: Bot) -> None:
    owning.github.define("owner/repo", "docs", "speed")
    for label, right in (("docs", None), ("speed", "speed")):
        review = Review(
            repository="owner/repo", number=1, axis=f"own:{label}", label=right, who="x", how="queue", at=owning.clock()
        )
        owning.store.add_reviews(review)
    owning.store.put_job(triage_job(PLACE, INSTALLATION))
    owning.settle()
    assert owning.github.labels(ISSUE) == ["speed"]


@pytest.mark.parametrize("line", ["/triage wrong", "/triage wrong docs"])
def test_a_command_refuses_own_labels(owning: Bot, line: str) -> None:
    owning.say(line)
    assert owning.github.labels(ISSUE) == []
    owning.say("/triage undo")
    assert owning.github.labels(ISSUE) == ["docs"]


@pytest.mark.parametrize(("renamed", "labels"), [(True, []), (False, ["manual"])])
def test_a_refusal_outlives_a_new_name_on_github(
    owning: Bot, keyword_bundle: Path, own_labels: Path, tmp_path: Path, renamed: bool, labels: list[str]
) -> None:
    owning.say("/triage wrong docs")
    if renamed:
        owning.github.rename_label("owner/repo", "docs", "manual")
    else:
        owning.github.define("owner/repo", "docs", "manual")
    rename(Path(shutil.copytree(own_labels, tmp_path / "own")), "owner/repo", "manual")
    use(owning, keyword_bundle, tmp_path / "own")
    owning.issue("edited")
    assert owning.github.labels(ISSUE) == labels
    (record,), _ = review_records(owning.store)
    assert (record.axis, record.label) == ("own:manual" if renamed else "own:docs", None)


def test_of_a_tick_in_the_queue_and_a_label_taken_off_by_hand_the_later_counts(bot: Bot) -> None:
    bot.github.label(ISSUE, "docs", PERSON)
    bot.github.unlabel(ISSUE, "docs", PERSON)
    tick = Review(
        repository="owner/repo", number=1, axis="own:docs", label="docs", who="x", how="queue", at=bot.clock()
    )
    bot.store.add_reviews(tick)
    bot.issue("opened")
    assert "docs" in bot.github.labels(ISSUE)
    bot.github.unlabel(ISSUE, "docs", PERSON)
    bot.github.timelines[ISSUE][-1]["created_at"] = "2999-01-01T00:00:00Z"
    bot.issue("unlabeled")
    assert "docs" not in bot.github.labels(ISSUE)


# ---------------------------------------------------------------- the queue


@pytest.fixture(scope="module")
def site(keyword_bundle: Path, own_labels: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Queue]:
    with queue(Classifier(keyword_bundle, threads=1, own=own_labels), tmp_path_factory.mktemp("queue")) as opened:
        yield opened


def boxes(page: httpx.Response) -> dict[str, bool]:
    """Own label -> whether its box is ticked."""
    found = re.findall(r'<input type="checkbox" name="own" value="([^"]+)"( checked)?>', page.text)
    return {label: bool(ticked) for label, ticked in found}


def test_own_labels_are_judged_by_boxes_and_exported(site: Queue, admin: httpx.Client, command: Command) -> None:
    verdict_id = site.add(1, WORDS["docs"], WORDS["docs"])
    page = admin.get("/queue/owner/repo/1")
    assert boxes(page) == {"docs": True, "crash": False, "speed": False}
    assert re.findall(r'name="own-before" value="(\w+)"', page.text) == ["docs"]
    sent = {
        "csrf": csrf(page),
        "action": "accept",
        "verdict": str(verdict_id),
        "own-before": "docs",
        "own": ["speed", "x<y"],
    }
    assert admin.post("/queue/owner/repo/1", data=sent).status_code == 303
    assert site.standing(1) == {"own:docs": None, "own:speed": "speed"} and site.status(1) == "corrected"
    page = admin.get("/queue/owner/repo/1")
    assert boxes(page) == {"docs": False, "crash": False, "speed": True}
    (who,) = {row.who for row in site.store.reviews(issue=PLACE)}
    assert "docs: wrong; speed: right" in page.text and f"corrected: {who}" in page.text
    exported = command("reviews", "export", "--database", f"sqlite:///{site.file}")
    records = {item["axis"]: item for item in map(json.loads, exported.out.splitlines())}
    assert {axis: (item["predicted_label"], item["label"]) for axis, item in records.items()} == {
        "own:docs": ("docs", None),
        "own:speed": (None, "speed"),
    }
    assert records["own:docs"]["id"] == "Owner/Repo#1" and records["own:docs"]["probability"] > 0.8


def test_accepting_rows_says_nothing_of_own_labels_which_no_row_shows(site: Queue, admin: httpx.Client) -> None:
    verdict_id = site.add(2, WORDS["speed"], WORDS["speed"])
    data = {"csrf": csrf(admin.get("/queue")), "action": "accept", "issue": f"owner/repo#2@{verdict_id}"}
    assert admin.post("/queue/bulk", data=data).status_code == 303
    assert site.standing(2) and not any(axis.startswith("own:") for axis in site.standing(2))


# ---------------------------------------------------------------- read anew


@pytest.fixture
def shelf(tmp_path: Path, own_labels: Path) -> Path:
    """A folder with the heads of two repositories."""
    shutil.copytree(own_labels, tmp_path / "shelf" / "owner" / "repo")
    rename(Path(shutil.copytree(own_labels, tmp_path / "shelf" / "another")), "A/b", "guide")
    return tmp_path / "shelf"


def rename(folder: Path, repository: str, docs: str) -> None:
    """Heads of another repository, which calls `docs` otherwise; put there as `distriage learn` does."""
    manifest = json.loads((folder / "own.json").read_text())
    manifest["repository"] = repository
    for head in manifest["labels"]:
        head["name"] = docs if head["name"] in {"docs", "guide", "manual"} else head["name"]
    (folder / ".new").write_text(json.dumps(manifest))
    (folder / ".new").replace(folder / "own.json")


def test_each_repository_has_its_heads(shelf: Path, keyword_bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelves, "LOOK_S", 60)
    heads = OwnShelf(shelf, Bundle(keyword_bundle), pytest.fail)
    assert set(heads.heads) == {"owner/repo", "a/b"}
    assert heads.of("A/B#3") is heads.heads["a/b"] and heads.of("c/d#3") is None
    assert heads.of("report.md") is None, "nobody knows of which repository it is"
    shutil.rmtree(shelf / "another")
    assert heads.of("a/b#3") is heads.heads["a/b"], "the folder is not looked into for every report"
    monkeypatch.setattr(shelves, "LOOK_S", 0)
    assert heads.of("a/b#3") is None and heads.of("report.md") is heads.heads["owner/repo"]


def test_of_two_folders_with_one_repositorys_heads_the_named_one_counts(
    shelf: Path, keyword_bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelves, "LOOK_S", 0)
    problems: list[BundleError] = []
    for copy in ("owner/repo.bak", "owner/a-copy"):
        rename(Path(shutil.copytree(shelf / "owner" / "repo", shelf / copy)), "owner/repo", "guide")
    heads = OwnShelf(shelf, Bundle(keyword_bundle), problems.append)

    def docs(identifier: str) -> bool:
        found = heads.of(identifier)
        return found is not None and "docs" in {head.name for head in found.manifest.labels}

    assert docs("owner/repo#1") and len(problems) == 2
    assert all("not used for owner/repo: other heads" in str(problem) for problem in problems)
    shutil.move(shelf / "owner" / "repo", shelf / "owner" / "renamed")  # as the repository was on GitHub
    assert docs("owner/renamed#1")


def test_heads_that_cannot_be_used_leave_those_before_them(
    shelf: Path, keyword_bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelves, "LOOK_S", 0)
    problems: list[BundleError] = []
    heads = OwnShelf(shelf, Bundle(keyword_bundle), problems.append)
    before = heads.of("a/b#1")
    (shelf / "another" / "own.json").write_text("{}")
    assert heads.of("a/b#1") is before and heads.of("a/b#1") is before
    assert len(problems) == 1 and str(shelf / "another" / "own.json") in str(problems[0])
    anew = OwnShelf(shelf, Bundle(keyword_bundle), problems.append)
    assert set(anew.heads) == {"owner/repo"} and len(problems) == 2, "one repository's keep no other from its own"
    with pytest.raises(BundleError, match=r"own\.json"):
        OwnShelf(shelf / "another", Bundle(keyword_bundle), pytest.fail)
    with pytest.raises(BundleError, match="no such folder"):
        OwnShelf(shelf / "none", Bundle(keyword_bundle), pytest.fail)


def test_a_server_reads_the_heads_anew_when_they_change(shelf: Path, keyword_bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with running(partial(load_classifier, str(keyword_bundle), 1, str(tmp_path / "empty"), "INFO")) as server:

        def own() -> list[str] | None:
            time.sleep(shelves.LOOK_S)
            report = {"id": "a/b#7", "title": WORDS["docs"], "body": WORDS["docs"]}
            labels = server.client.post("/v1/classify", json=report).json()["own"]
            return None if labels is None else [label["label"] for label in labels if label["applied"]]

        assert own() is None, "nothing is learned yet"
        (shelf / "another").rename(tmp_path / "empty" / "another")
        assert own() == ["guide"]
        rename(tmp_path / "empty" / "another", "a/b", "manual")
        assert own() == ["manual"]
