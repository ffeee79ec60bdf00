from __future__ import annotations

import json
from dataclasses import FrozenInstanceError
from typing import Any

import jsonschema
import pytest
from pydantic import ValidationError

from distriage.answer.differential import with_labels
from distriage.answer.playbooks import checks_for
from distriage.answer.policy import WHY_SILENT
from distriage.answer.verdict import FailedRecord, LabelProbability, Verdict, verdict_schema
from distriage.base.types import IssueReport, Mode, Silence
from distriage.classifier import Classifier
from distriage.reading.report import read

from support.checkout import REPOSITORY
from support.cut import set_cut
from support.reports import make_report
from support.verdicts import axis_verdict, make_verdict

SCHEMA_FILE = REPOSITORY / "schemas" / "verdict.schema.json"


def verdict_of(
    classifier: Classifier, report: IssueReport, mode: Mode = Mode.BALANCED, *, with_evidence: bool = False
) -> Verdict:
    return classifier.classify(report, mode, explain=with_evidence)


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return dict(json.loads(SCHEMA_FILE.read_text(encoding="utf-8")))


def test_the_published_schema_is_the_generated_one(schema: dict[str, Any]) -> None:
    assert schema == verdict_schema(), (
        "after a change of the models: python -m distriage.answer.verdict > schemas/verdict.schema.json"
    )
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("with_evidence", [False, True])
def test_a_verdict_is_valid_by_the_published_schema(
    tiny_classifier: Classifier, schema: dict[str, Any], mode: Mode, with_evidence: bool
) -> None:
    verdict = verdict_of(tiny_classifier, make_report(), mode, with_evidence=with_evidence)
    document = json.loads(verdict.model_dump_json())
    jsonschema.validate(document, schema)
    jsonschema.validate([document, json.loads(FailedRecord(id="x", error="y").model_dump_json())], schema)
    assert Verdict.model_validate(document) == verdict


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document.pop("schema_version"),
        lambda document: document.update(schema_version=2),
        lambda document: document.update(colour="red"),
        lambda document: document["axes"]["symptom"].update(outcome="maybe"),
        lambda document: document["axes"]["symptom"].update(probability=1.5),
        lambda document: document["axes"]["symptom"].pop("family"),
    ],
)
def test_the_schema_refuses_what_is_no_verdict(
    keyword_classifier: Classifier, schema: dict[str, Any], change: Any
) -> None:
    document = json.loads(verdict_of(keyword_classifier, make_report()).model_dump_json())
    jsonschema.validate(document, schema)
    change(document)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema)


def test_scores_decisions_facts_and_questions_are_put_together(keyword_classifier: Classifier) -> None:
    verdict = verdict_of(
        keyword_classifier,
        IssueReport(" It\n hangs ", "segfault, and it hangs with a timeout on 8 A100, torch 2.3.0", "owner/repo#5"),
    )
    assert (verdict.id, verdict.title, verdict.model, verdict.taxonomy_version, verdict.mode) == (
        "owner/repo#5",
        "It hangs",
        "toy",
        "1",
        "balanced",
    )
    assert verdict.environment == {"framework": "repo", "torch": "2.3.0", "gpu_model": "A100", "gpu_count": 8}
    assert verdict.sources is not None
    assert verdict.sources["torch"].model_dump() == {"segment": "prose", "line": 1}
    assert [item.fact for item in verdict.missing] == ["error"]  # it is thin
    symptom = verdict.axes["symptom"]
    assert (symptom.outcome, symptom.label, symptom.family, symptom.advice, symptom.evidence) == (
        "apply",
        "hang",
        None,
        None,
        None,
    )
    assert [item.label for item in symptom.top] == ["hang", "crash", "oom"]
    assert symptom.top[0].probability == symptom.probability
    assert symptom.family_probability is not None and symptom.probability < symptom.family_probability <= 1
    assert (verdict.axes["fix"].label, verdict.axes["fix"].advice) == ("tuning", "Look at the settings.")
    assert verdict.axes["fix"].family_probability is None


def test_the_checks_are_those_of_the_labels_that_are_likely_enough(tiny_classifier: Classifier) -> None:
    report = make_report()
    verdict = verdict_of(tiny_classifier, report, Mode.BEST)
    labels = {axis: said.label for axis, said in verdict.axes.items() if said.outcome == "apply"}
    taxonomy = tiny_classifier.bundle.taxonomy
    assert verdict.checks == checks_for(taxonomy, labels, with_labels(read(report).situation, verdict.axes, taxonomy))
    sure = verdict_of(tiny_classifier, report, Mode.PRECISE)
    likely = {axis for axis, said in sure.axes.items() if said.outcome in {"apply", "suggest"}}
    assert bool(sure.checks) == bool(likely & {"symptom", "cause", "fix"})


def test_a_taxonomy_of_ones_own_gives_its_advice_as_checks(keyword_classifier: Classifier) -> None:
    verdict = verdict_of(keyword_classifier, IssueReport("", "it hangs with a timeout"), Mode.BEST)
    assert verdict.axes["fix"].advice is not None and verdict.checks == [verdict.axes["fix"].advice]


def test_the_family_is_named_where_siblings_share_the_mass(keyword_classifier: Classifier) -> None:
    symptom = verdict_of(keyword_classifier, IssueReport("", "memory memory memory")).axes["symptom"]
    assert symptom.outcome == "suggest"
    assert (symptom.family, symptom.probability, symptom.family_probability) == ("memory", 0.4763, 0.9526)


def test_a_question_is_not_asked_back_and_has_no_symptom(keyword_classifier: Classifier) -> None:
    verdict = verdict_of(keyword_classifier, IssueReport("how", "how to resume"), with_evidence=True)
    assert verdict.axes["kind"].label == "question"
    assert verdict.missing == []
    assert (verdict.axes["symptom"].outcome, verdict.axes["symptom"].reason, verdict.axes["symptom"].evidence) == (
        "not-applicable",
        "kind is question",
        None,
    )
    assert verdict.axes["kind"].evidence is not None


def test_a_report_without_an_error_is_asked_for_it(keyword_classifier: Classifier) -> None:
    assert verdict_of(keyword_classifier, IssueReport("slow", "It is slow.")).missing[0].fact == "error"
    shown = IssueReport("slow", "It is slow.\n```\nValueError: 3\n```")
    assert "error" not in {item.fact for item in verdict_of(keyword_classifier, shown).missing}


def test_a_failed_installation_is_asked_for_the_version(
    shipped_classifier: Classifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_cut(monkeypatch, 0.0)
    report = IssueReport(
        "cannot build", "```\nfatal error: cuda_runtime.h: No such file or directory\n```\npip install deepspeed fails"
    )
    verdict = verdict_of(shipped_classifier, report, Mode.BEST)
    assert verdict.axes["stage"].label == "build-import"
    assert [item.fact for item in verdict.missing] == ["framework_version"]


def test_evidence_comes_only_when_it_is_wanted(keyword_classifier: Classifier) -> None:
    report = IssueReport("Trouble", "first\nit hangs")
    assert all(axis.evidence is None for axis in verdict_of(keyword_classifier, report).axes.values())
    evidence = verdict_of(keyword_classifier, report, with_evidence=True).axes["symptom"].evidence
    assert evidence is not None
    assert [(item.line, item.weight) for item in evidence] == [("it hangs", 3.0)]


def test_the_mode_decides_the_outcome(keyword_classifier: Classifier) -> None:
    report = IssueReport("", "it hangs")  # p = 0.87: above 0.70 and below 0.90
    outcomes = {mode: verdict_of(keyword_classifier, report, mode).axes["symptom"].outcome for mode in Mode}
    assert outcomes == {Mode.BEST: "apply", Mode.BALANCED: "apply", Mode.PRECISE: "suggest"}


@pytest.mark.parametrize(
    "title",
    [
        "\x1b[1;31mNCCL timeout\x1b[0m\r\nafter  [10m]\x1b[K",
        "\x1b[1;38:2::255:100:100;48:2::0:0:0mNCCL timeout\x1b(B\x1b[m after [10m]",
        "\x1b]8;;https://example.org\x07NCCL timeout\x1b]8;;\x1b\\ after [10m]",
    ],
    ids=["colours", "any colours", "a link"],
)
def test_a_title_has_one_line_and_nothing_that_a_terminal_obeys(keyword_classifier: Classifier, title: str) -> None:
    """As the first line of a log that a terminal showed in red."""
    assert verdict_of(keyword_classifier, IssueReport(title, "it hangs")).title == "NCCL timeout after [10m]"


def test_lone_surrogates_do_not_break_the_json(keyword_classifier: Classifier) -> None:
    """JSON input may bring them into a title, and a file's name that is not UTF-8 into the id."""
    verdict = verdict_of(
        keyword_classifier, IssueReport("hang \ud83d", "it hangs \udcff", "report-\udcff.md"), with_evidence=True
    )
    document = json.loads(verdict.model_dump_json())
    assert (document["title"], document["id"]) == ("hang ?", "report-?.md")
    assert json.loads(FailedRecord(id="\udcff", error="\udcff: empty").model_dump_json()) == {
        "schema_version": 1,
        "id": "?",
        "error": "?: empty",
    }


def test_a_stored_verdict_is_silent_for_the_same_reason_whatever_the_words() -> None:
    said = axis_verdict("cause", outcome="abstain").model_copy(
        update={"silence": Silence.THIN, "reason": WHY_SILENT[Silence.THIN]}
    )
    stored = make_verdict(said).model_copy(update={"in_domain": False}).model_dump_json()
    for text in (
        stored,
        stored.replace("; ask for what is missing", ". Ask for more"),
    ):
        read = Verdict.model_validate_json(text)
        assert read.is_thin and read.why_silent.startswith("The report says too little")
    assert not Verdict.model_validate_json(stored.replace('"silence":"thin"', '"silence":null')).is_thin


def test_verdicts_are_frozen_and_strict() -> None:
    item = LabelProbability(label="bug", probability=0.5)
    with pytest.raises(FrozenInstanceError):
        item.probability = 0.6  # type: ignore[misc]
    with pytest.raises(ValidationError):
        LabelProbability.model_validate({"label": "bug", "probability": 1.01})
    with pytest.raises(ValidationError):
        LabelProbability.model_validate({"label": "bug", "probability": 0.5, "weight": 1})
