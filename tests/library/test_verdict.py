from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from pydantic import ValidationError

from distriage.bundle import Bundle
from distriage.classifier import Classifier
from distriage.findings import Findings
from distriage.playbooks import check_for, checks_for
from distriage.reading import read
from distriage.taxonomy import default_taxonomy, parse_taxonomy
from distriage.types import AxisScores, IssueReport, Mode, Prediction
from distriage.verdict import FailedRecord, LabelProbability, Verdict, verdict_schema

from support.checkout import REPOSITORY
from support.reports import make_report

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
        "after a change of the models: python -m distriage.verdict > schemas/verdict.schema.json"
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
    assert verdict.environment == {"torch": "2.3.0", "gpu_model": "A100", "gpu_count": 8}
    assert [item.fact for item in verdict.missing] == ["error", "reproduction", "framework_version"]  # it is thin
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
    assert verdict.checks == checks_for(tiny_classifier.bundle.taxonomy, labels)
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
    assert "error" not in {item.fact for item in verdict_of(keyword_classifier, make_report()).missing}


@pytest.mark.parametrize(
    "line",
    [
        "ERROR 01-09 03:11:18 engine.py:366] ValueError: No room for a cache block",
        "csrc/aio/common/utils.h:16:10: fatal error: libaio.h: No such file or directory",
        "node-1:412:412 [1] misc/shmutils.cc:72 NCCL WARN Call to posix_fallocate failed : No space left on device",
    ],
)
def test_an_error_that_the_recipe_takes_for_a_frame_is_not_asked_for(bundle: Bundle, line: str) -> None:
    prediction = hang(0.4)
    crash = Prediction("shipped", {**prediction.scores, "symptom": scores_of("symptom", launch_failure=0.97)})
    body = "Two nodes with 8 H100 each, our own image, started by the scheduler as every day.\n```\n{}\n```"
    known, silent = read(IssueReport("It ends at once", body.format(line))), read(IssueReport("It ends", body))
    assert known.input.errors == (), "the recipe finds it by now"
    assert "error" not in {item.fact for item in Findings(bundle, known, crash).verdict().missing}
    assert Findings(bundle, silent, crash).verdict().missing[0].fact == "error"
    assert read(IssueReport("x", '```\n  File "/a/b.py", line 3, in raise_error\n```')).framed_errors() == []


def test_a_hang_is_asked_for_its_stacks_unless_they_are_there(bundle: Bundle) -> None:
    body = "Training hangs after a thousand steps on two nodes with eight H100 each, in our own image, every time."
    known = read(IssueReport("It hangs", body))
    assert known.input.errors, "the line that says so is an error to the recipe"
    first = Findings(bundle, known, hang(0.4)).verdict().missing[0]
    assert first.fact == "error" and "py-spy" in first.question
    for added in ("py-spy dump: all ranks in all_reduce", "RuntimeError: collective operation timeout"):
        shown = Findings(bundle, read(IssueReport("It hangs", f"{body}\n{added}")), hang(0.4)).verdict()
        assert "error" not in {item.fact for item in shown.missing}


def test_a_sure_stage_decides_what_is_asked_for(shipped_classifier: Classifier) -> None:
    report = IssueReport(
        "cannot build", "```\nfatal error: cuda_runtime.h: No such file or directory\n```\npip install deepspeed fails"
    )
    verdict = verdict_of(shipped_classifier, report, Mode.BEST)
    assert verdict.axes["stage"].label == "build-import"
    assert [item.fact for item in verdict.missing] == ["framework_version", "torch", "cuda", "os"]


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


def test_verdicts_are_frozen_and_strict() -> None:
    item = LabelProbability(label="bug", probability=0.5)
    with pytest.raises(ValidationError):
        item.probability = 0.6  # type: ignore[misc]
    with pytest.raises(ValidationError):
        LabelProbability(label="bug", probability=1.01)


@pytest.fixture(scope="module")
def bundle(shipped_classifier: Classifier) -> Bundle:
    return shipped_classifier.bundle


def scores_of(axis: str, **likely: float) -> AxisScores:
    labels = default_taxonomy().axes[axis].label_ids
    named = {name.replace("_", "-"): p for name, p in likely.items()}
    rest = (1 - sum(named.values())) / (len(labels) - len(named))
    return AxisScores(axis, {label: named.get(label, rest) for label in labels})


def hang(cause: float, **changes: Any) -> Prediction:
    scores = {
        axis: AxisScores(axis, {label: 1 / len(known.label_ids) for label in known.label_ids})
        for axis, known in default_taxonomy().axes.items()
    }
    scores["kind"] = scores_of("kind", bug=0.95)
    scores["symptom"] = scores_of("symptom", runtime_hang=0.97)
    scores["cause"] = scores_of("cause", rank_desynchronization=cause, network_misconfiguration=0.02, deadlock=0.01)
    return Prediction("shipped", scores, **changes)


def test_where_no_cause_is_sure_the_three_likeliest_come_with_their_checks(bundle: Bundle) -> None:
    verdict = Findings(bundle, read(make_report()), hang(0.4)).verdict(Mode.PRECISE)
    assert verdict.axes["cause"].outcome != "apply" and verdict.differential is not None
    causes = verdict.differential.causes
    assert [item.label for item in causes] == [item.label for item in verdict.axes["cause"].top]
    assert [item.probability for item in causes] == [item.probability for item in verdict.axes["cause"].top]
    taxonomy = default_taxonomy()
    symptom = "runtime-hang" if verdict.axes["symptom"].outcome == "apply" else None
    assert [item.check for item in causes] == [check_for(taxonomy, item.label, symptom) for item in causes]
    assert not {item.check for item in causes} & set(verdict.checks)


@pytest.mark.parametrize("changes", [{"in_domain": False, "domain_probability": 0.0}, {}])
def test_a_sure_cause_and_a_foreign_report_need_no_differential(bundle: Bundle, changes: dict[str, Any]) -> None:
    prediction = hang(0.4, **changes)
    mode = Mode.PRECISE if changes else Mode.BEST  # in which each cause is sure
    assert Findings(bundle, read(make_report()), prediction).verdict(mode).differential is None


def test_a_report_that_says_too_little_or_may_be_foreign_has_no_differential(bundle: Bundle) -> None:
    thin = read(make_report("It hangs", "Please help."))
    assert Findings(bundle, thin, hang(0.4)).verdict(Mode.PRECISE).differential is None
    perhaps = hang(0.4, surely_in_domain=False)
    assert Findings(bundle, read(make_report()), perhaps).verdict(Mode.PRECISE).differential is None


def test_a_question_has_no_differential(bundle: Bundle) -> None:
    prediction = hang(0.4)
    asked = Prediction("shipped", {**prediction.scores, "kind": scores_of("kind", question=0.9)})
    assert Findings(bundle, read(make_report()), asked).verdict(Mode.PRECISE).differential is None


def test_each_cause_has_a_check_and_its_definition_stands_in_for_it() -> None:
    taxonomy = default_taxonomy()
    for cause in taxonomy.axes["cause"].label_ids:
        assert check_for(taxonomy, cause).endswith((".", "?"))
    assert check_for(taxonomy, "rank-desynchronization", "runtime-hang") != check_for(
        taxonomy, "rank-desynchronization"
    )
    own = parse_taxonomy(OWN, "own.toml")
    assert check_for(own, "dust") == "The fan is full of it."


OWN = """
name = "own"
version = "1"
[axis.cause]
[[cause]]
id = "dust"
definition = "The fan is full of it."
[[cause]]
id = "age"
definition = "It is old."
"""
