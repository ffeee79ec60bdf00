from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from distriage.base.errors import BundleError
from distriage.base.types import IssueReport, Prediction
from distriage.classifier import Classifier
from distriage.model.bundle import Bundle
from distriage.model.shipped import sha256_of
from distriage.own.features import (
    AXES_WEIGHT,
    OPENING,
    OPENING_CHARS,
    TITLE,
    VIEW_WEIGHTS,
    OwnFeatures,
    Scales,
    form_answers,
    own_features,
    title_grams,
)
from distriage.own.labels import ARRAYS, MANIFEST, OWN_FORMAT, SHOWN, OwnLabels
from distriage.recipe.features import HASH_BUCKETS
from distriage.recipe.text import prepare

from support.command_line import Command, assert_one_line
from support.files import mark_encrypted, spoil

REPORT = IssueReport("A typo", "The page of the manual has a typo.")


def features(ids: list[int], vector: list[float], axes: list[float]) -> OwnFeatures:
    return OwnFeatures(
        np.array(ids, np.int64), np.ones(len(ids)), np.array(vector, np.float32), np.array(axes, np.float32)
    )


FEATURES = [
    features([1, 5, HASH_BUCKETS + 1], [1, 0], [-1, -2]),
    features([1, 5, HASH_BUCKETS + 1], [0, 1], [-3, -2]),
    features([1, 9], [0.5, 0.5], [-2, -1]),
]


def test_only_buckets_of_several_reports_count_and_each_view_has_unit_length() -> None:
    scales = Scales.fitted(FEATURES)
    assert scales.buckets.tolist() == [1, 5, HASH_BUCKETS + 1] and scales.width == 3 + 2 + 2
    columns, values = scales.words(FEATURES[0])
    assert columns.tolist() == [0, 1, 2]
    assert np.linalg.norm(values[:2]) == pytest.approx(1) and values[2] == pytest.approx(1)
    assert values[1] > values[0]  # the rarer one
    assert scales.words(features([2, 2 * HASH_BUCKETS - 1], [0, 0], [0, 0]))[0].tolist() == []


def test_the_title_s_characters_are_a_view_that_weighs_less_than_the_words() -> None:
    assert {*title_grams("a [BUG]: b")} >= {*title_grams("[bug]:")} and len(title_grams("[bug]:")) == 11
    assert not {*title_grams("feature")} & {*title_grams("bug")}
    assert len(title_grams("a")) == 1 and not title_grams("")  # " a " is the one run of a word of one letter
    scales = Scales.fitted([features([1, TITLE * HASH_BUCKETS + 3], [0, 1], [0, 1])] * 2)
    _, values = scales.words(features([1, TITLE * HASH_BUCKETS + 3], [0, 1], [0, 1]))
    assert values == pytest.approx([1, VIEW_WEIGHTS[TITLE]])


@pytest.mark.parametrize(
    ("filed", "same"),
    [
        ("### Issue type\n\nBug\n\n### Version\n\n2.1", "### issue type\nBUG"),
        ("**Kind:**\nquestion\n" + "a long line of prose " * 9, "**kind:**\nquestion"),
        ("Kind: bug", "- **kind:** bug"),
        ("- [ ] docs\n- [x] a bug of the API", "- [X] A bug of the API"),
    ],
)
def test_a_form_s_answers_count_whole_however_they_are_written(filed: str, same: str) -> None:
    assert form_answers(filed).keys() >= form_answers(same).keys() and len(form_answers(same)) == 1


@pytest.mark.parametrize(
    "filed",
    ["", "### What happened\n\n### Version", "### What happened\n" + "w" * 61, "- [ ] docs", "key:", "in a/b.py:3: x"],
)
def test_what_is_no_short_answer_is_not_taken_for_one(filed: str) -> None:
    assert not form_answers(filed)


def test_the_words_that_a_report_opens_with_are_a_view() -> None:
    opened = [
        {*own_features(prepare("t", body), Prediction("m", {}, vector=np.ones(2, np.float32))).ids.tolist()}
        for body in ("enhancement: " + "x" * OPENING_CHARS, "x" * OPENING_CHARS + " enhancement: x")
    ]
    first, later = ({bucket for bucket in ids if bucket // HASH_BUCKETS == OPENING} for ids in opened)
    assert len(first) == 3 and len(later) == 1  # two words and their pair; one


def test_the_dense_blocks_are_centred_and_weighed() -> None:
    scales = Scales.fitted(FEATURES)
    dense = scales.dense(FEATURES[0])
    assert np.linalg.norm(dense[:2]) == pytest.approx(1)
    mean = np.mean([scales.dense(item)[2:] for item in FEATURES], axis=0)
    assert mean == pytest.approx(np.zeros(2), abs=1e-6) and abs(dense[2]) < 2 * AXES_WEIGHT
    words_alone = Scales.fitted(FEATURES, views=[1], dense=False)
    assert words_alone.buckets.tolist() == [HASH_BUCKETS + 1] and words_alone.dense(FEATURES[0]).tolist() == []


def test_labels_of_another_format_are_refused_with_what_to_do(
    keyword_bundle: Path, own_labels: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(own_labels, tmp_path / "own"))
    manifest = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps({**manifest, "format": OWN_FORMAT - 1}))
    with pytest.raises(BundleError, match=f"format {OWN_FORMAT - 1}; .* run `distriage learn` again"):
        OwnLabels(folder, Bundle(keyword_bundle))


def test_the_vector_is_the_last_layer_s_but_one() -> None:
    both = Prediction("m", {}, vector=np.ones(2, np.float32), penultimate=np.zeros(2, np.float32))
    assert own_features(prepare("t", "b"), both).vector.tolist() == [0, 0]


def test_own_labels_follow_from_the_words(keyword_bundle: Path, own_labels: Path) -> None:
    classifier = Classifier(keyword_bundle, threads=1, own=own_labels)
    found = classifier.classify(REPORT).own
    assert found is not None and [item.label for item in found if item.applied] == ["docs"]
    assert found[0].probability > 0.8 and {item.label for item in found} == {"docs", "crash", "speed"}
    assert [item.probability for item in found] == sorted((item.probability for item in found), reverse=True)
    assert Classifier(keyword_bundle, threads=1).classify(REPORT).own is None


def test_a_label_is_given_at_its_threshold_and_not_below(
    keyword_bundle: Path, own_labels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = OwnLabels(own_labels, Bundle(keyword_bundle))
    report = prepare(REPORT.title, REPORT.body)
    (prediction,) = Classifier(keyword_bundle, threads=1).predict_inputs([report])
    least = [head.threshold for head in own.manifest.labels]
    assert None not in least
    for moved, given in ((0.0, True), (-1e-9, False)):
        monkeypatch.setattr(own, "probabilities", lambda _, moved=moved: np.array(least) + moved)
        assert [item.applied for item in own(report, prediction)] == [given] * len(least)


@pytest.mark.parametrize(
    ("identifier", "answered"), [("", True), ("x.md", True), ("Owner/Repo#3", True), ("a/b#3", False)]
)
def test_an_issue_of_another_repository_gets_none(
    keyword_bundle: Path, own_labels: Path, identifier: str, answered: bool
) -> None:
    classifier = Classifier(keyword_bundle, threads=1, own=own_labels)
    verdict = classifier.classify(IssueReport(REPORT.title, REPORT.body, identifier))
    assert (verdict.own is not None) == answered


@pytest.mark.parametrize("form", [("--json",), (), ("--output", "out.jsonl")])
def test_the_command_says_that_a_report_of_another_repository_gets_none(
    command: Command, keyword_bundle: Path, own_labels: Path, tmp_path: Path, form: tuple[str, ...]
) -> None:
    """As after a transfer, or in a fork."""
    file, rows = tmp_path / "in.jsonl", ["a/b#3", "Owner/Repo#3", "a/b#4"]
    file.write_text("".join(json.dumps({"title": "t", "body": "b", "id": one}) + "\n" for one in rows))
    options = [tmp_path / option if option.startswith("out") else option for option in form]
    done = command("classify", file, *options, "--own", own_labels, "--model", keyword_bundle)
    assert done.code == 0
    said = "distriage: own labels are of owner/repo; none for 2 reports of another repository"
    assert done.err.splitlines()[-1] == said
    file.write_text(json.dumps({"title": "t", "body": "b"}))
    done = command("classify", file, *options, "--own", own_labels, "--model", keyword_bundle)
    assert done.code == 0 and "another repository" not in done.err


def test_many_labels_are_cut_short(keyword_bundle: Path, own_labels: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(own_labels, tmp_path / "own"))
    manifest = json.loads((folder / MANIFEST).read_text())
    head = manifest["labels"][0]
    manifest["labels"] = [{**head, "name": f"{number}", "threshold": None} for number in range(50)]
    with np.load(folder / ARRAYS) as arrays:
        values = dict(arrays)
    for name in ("words", "dense", "bias"):
        values[name] = np.repeat(values[name][:1], 50, 0)
    np.savez(folder / ARRAYS, **values)
    (folder / MANIFEST).write_text(json.dumps({**manifest, "arrays_sha256": sha256_of(folder / ARRAYS)}))
    found = Classifier(keyword_bundle, threads=1, own=folder).classify(REPORT).own
    assert found is not None and len(found) == SHOWN


def test_heads_of_a_model_that_was_calibrated_anew_are_refused(
    keyword_bundle: Path, own_labels: Path, tmp_path: Path
) -> None:
    """They read its log-probabilities, which are others then."""
    bundle = Path(shutil.copytree(keyword_bundle, tmp_path / "anew"))
    manifest = json.loads((bundle / "bundle.json").read_text())
    manifest["axes"]["symptom"]["temperature"] *= 1.5
    (bundle / "bundle.json").write_text(json.dumps(manifest))
    assert Classifier(bundle, threads=1).classify(REPORT).own is None
    with pytest.raises(BundleError, match="another graph or calibration: run `distriage learn` again"):
        Classifier(bundle, threads=1, own=own_labels)


def damage(folder: Path, what: str) -> str:
    """Damage a folder; returns what the message must name."""
    manifest = json.loads((folder / MANIFEST).read_text())
    if what != "another learning":  # else the digest alone would refuse the arrays
        (folder / MANIFEST).write_text(json.dumps({**manifest, "arrays_sha256": ""}))
    match what:
        case "no manifest":
            (folder / MANIFEST).unlink()
        case "unknown key":
            (folder / MANIFEST).write_text(json.dumps({**manifest, "surprise": 1}))
        case "format":
            (folder / MANIFEST).write_text(json.dumps({**manifest, "format": 99}))
        case "not JSON":
            (folder / MANIFEST).write_bytes(b"\xff")
        case "other model":
            (folder / MANIFEST).write_text(json.dumps({**manifest, "model_sha256": "0"}))
            return "distriage learn"
        case "no arrays":
            (folder / ARRAYS).unlink()
            return ARRAYS
        case "truncated":
            (folder / ARRAYS).write_bytes((folder / ARRAYS).read_bytes()[:1000])
            return ARRAYS
        case "a byte":
            with np.load(folder / ARRAYS) as arrays:
                values = dict(arrays)
            np.savez_compressed(folder / ARRAYS, **values)
            spoil(folder / ARRAYS, "words.npy")
            return ARRAYS
        case "encrypted":
            mark_encrypted(folder / ARRAYS)
            return ARRAYS
        case "another learning":
            with np.load(folder / ARRAYS) as arrays:
                values = dict(arrays)
            for name in ("words", "dense", "bias"):
                values[name] = values[name][::-1]
            np.savez_compressed(folder / ARRAYS, **values)
            return f"another learning than {MANIFEST}"
        case "pickled":
            np.savez(folder / ARRAYS, buckets=np.array([{}], object))
            return ARRAYS
        case "fewer labels":
            fewer = {**manifest, "labels": manifest["labels"][1:], "arrays_sha256": ""}
            (folder / MANIFEST).write_text(json.dumps(fewer))
            return ARRAYS
        case "out of range" | "out of order" | "infinite" | "no scale":
            with np.load(folder / ARRAYS) as arrays:
                values = dict(arrays)
            values["buckets"] = {
                "out of range": values["buckets"] - values["buckets"][0] - 1,
                "out of order": values["buckets"][::-1],
            }.get(what, values["buckets"])
            values["bias"] = values["bias"] + (np.inf if what == "infinite" else 0)
            values["scale"] = values["scale"] * (what != "no scale")
            np.savez(folder / ARRAYS, **values)
            return ARRAYS
    return MANIFEST


@pytest.mark.parametrize(
    "what",
    [
        "no manifest",
        "unknown key",
        "format",
        "not JSON",
        "other model",
        "no arrays",
        "truncated",
        "a byte",
        "encrypted",
        "another learning",
        "pickled",
        "fewer labels",
        "out of range",
        "out of order",
        "infinite",
        "no scale",
    ],
)
def test_a_damaged_folder_is_refused_in_one_line(
    keyword_bundle: Path, own_labels: Path, tmp_path: Path, what: str
) -> None:
    folder = Path(shutil.copytree(own_labels, tmp_path / "own"))
    named = damage(folder, what)
    with pytest.raises(BundleError) as refused:
        OwnLabels(folder, Bundle(keyword_bundle))
    assert named in str(refused.value) and str(folder) in str(refused.value) and "\n" not in str(refused.value)


def test_the_command_line_says_own_labels(
    command: Command, keyword_bundle: Path, own_labels: Path, tmp_path: Path
) -> None:
    report = tmp_path / "report.md"
    report.write_text(f"{REPORT.title}\n{REPORT.body}\n", encoding="utf-8")
    shown = command("classify", report, "--model", keyword_bundle, "--own", own_labels)
    assert shown.code == 0 and "Own labels:\n  docs" in shown.out
    found = json.loads(command("classify", report, "--model", keyword_bundle, "--own", own_labels, "--json").out)["own"]
    probability, precision = found[0]["probability"], found[0]["precision"]
    assert found[0] == {"label": "docs", "probability": probability, "applied": True, "precision": precision}
    assert 0.8 < precision <= 1 and found[-1]["precision"] is None
    lines = tmp_path / "all.jsonl"
    lines.write_text(json.dumps({"title": REPORT.title, "body": REPORT.body}) + "\n", encoding="utf-8")
    batch = command("classify", lines, "--model", keyword_bundle, "--own", own_labels, "--workers", 1)
    assert json.loads(batch.out)["own"] == found
    assert_one_line(
        command("classify", report, "--model", keyword_bundle, "--own", tmp_path), MANIFEST, "distriage learn"
    )


def test_a_label_that_nothing_speaks_for_is_not_shown(command: Command, keyword_bundle: Path, own_labels: Path) -> None:
    shown = command("classify", "-", "--model", keyword_bundle, "--own", own_labels, stdin=b"Zebra\nQuagga okapi.\n")
    assert "Own labels: not sure of any\n" in shown.out
