from __future__ import annotations

import io
import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from sklearn.metrics import f1_score

from distriage.base.references import RENAMED
from distriage.classifier import Classifier
from distriage.model.bundle import Bundle, thread_digest
from distriage.model.shipped import default_model
from distriage_training.config import load_config
from distriage_training.corpus.load import load_splits
from distriage_training.corpus.records import thread_key
from distriage_training.measure import scoring
from distriage_training.release.promote import AxisComparison, worse_axes

from support import keyword_model
from support.command_line import Command, Finished, assert_one_line
from support.toys import QUESTION, REPOSITORY, annotation, review, write_corpus, write_lines

WORDS = {"oom": "memory exhausted", "leak": "memory grows", "hang": "hangs", "crash": "segfault"}
DEAF: Mapping[str, Mapping[int, float]] = {
    word: logits for word, logits in keyword_model.WORDS.items() if word != "hangs"
}
Promote = Callable[..., Finished]
Make = Callable[..., Path]


@pytest.fixture
def make(keyword_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Builds a toy model that hears `words` and says what it was trained on; one that hears all of them is a copy."""

    def build(
        name: str, words: Mapping[str, Mapping[int, float]] = keyword_model.WORDS, trained_on: Sequence[str] | None = ()
    ) -> Path:
        if words is keyword_model.WORDS:
            folder = Path(shutil.copytree(keyword_bundle, tmp_path / name))
        else:
            with monkeypatch.context() as patch:
                patch.setattr(keyword_model, "WORDS", words)
                folder = keyword_model.build(tmp_path / name)
        if trained_on is not None:
            (folder / "trained-on.txt").write_text(
                "".join(f"{thread_digest(identifier)}\n" for identifier in trained_on), encoding="ascii"
            )
        manifest = json.loads((folder / "bundle.json").read_text(encoding="utf-8")) | {"name": name}
        return keyword_model.seal(folder, manifest, () if trained_on is None else ("trained-on.txt",))

    return build


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A corpus whose validation split has 40 reports of memory and 40 that hang."""
    rows: list[dict[str, Any]] = [
        annotation("a/b#1", **QUESTION),
        annotation("a/b#2", symptom="oom", fix="tuning"),
        annotation("a/b#3", symptom="hang", fix="patch"),
    ]
    texts = [{"id": f"a/b#{number}", "title": "t", "body": "b"} for number in (1, 2, 3)]
    for number in range(10, 90):
        symptom = "oom" if number % 2 else "hang"
        rows.append(annotation(f"a/b#{number}", symptom=symptom, fix="tuning", split="validation"))
        texts.append({"id": f"a/b#{number}", "title": WORDS[symptom], "body": ""})
    write_corpus(tmp_path / "corpus", rows)
    write_lines(tmp_path / "texts.jsonl", texts)
    (tmp_path / "toy.toml").write_text(keyword_model.TAXONOMY, encoding="utf-8")
    file = tmp_path / "run.toml"
    file.write_text(
        'name = "toy-run"\ntaxonomy = "toy.toml"\n[data]\ncorpus = "corpus"\ntexts = "texts.jsonl"\n', encoding="utf-8"
    )
    return file


@pytest.fixture
def promote(command: Command, config: Path, make: Make, tmp_path: Path) -> Promote:
    """`distriage promote` against a current model that hears every word."""
    current = make("current")
    (tmp_path / "models").mkdir()
    return lambda candidate, *options: command(
        "promote", candidate, config, "--current", current, "--models", tmp_path / "models", *options
    )


def crashes(tmp_path: Path, count: int) -> Path:
    """Verdicts on reports of crashes, which the validation split has none of."""
    rows = [review(f"x/y#{number}", "symptom", "crash", title="segfault", body="") for number in range(1, count + 1)]
    return write_lines(tmp_path / "verdicts.jsonl", rows)


def test_a_candidate_that_is_no_worse_becomes_the_default(promote: Promote, make: Make, tmp_path: Path) -> None:
    candidate = make("candidate", trained_on=["a/b#1"])
    done = promote(candidate)
    assert (
        done.code == 0
        and "no difference" in done.out
        and f"promoted: {tmp_path / 'models' / 'candidate'} is the default model of" in done.out
        and done.out.endswith(f"; commands use it with --model {tmp_path / 'models' / 'candidate'}\n")
    )
    assert "no review of a maintainer" in done.out
    assert (tmp_path / "models" / "DEFAULT").read_text(encoding="utf-8") == "candidate\n"
    assert Bundle(tmp_path / "models" / "candidate").trained_on == Bundle(candidate).trained_on
    assert {path.name for path in (tmp_path / "models").iterdir()} == {"DEFAULT", "candidate"}
    assert promote(candidate).code == 0  # once more is the same


def test_the_one_promoted_before_is_the_one_to_compare_with(
    command: Command, config: Path, promote: Promote, make: Make, tmp_path: Path
) -> None:
    """Else each new model of one's own would be compared with the packaged one, which answers other questions."""
    assert promote(make("first")).code == 0
    done = command("promote", make("deaf", DEAF), config, "--models", tmp_path / "models")
    assert done.code == 1 and re.search(r"reports +axis +n +first +deaf", done.out), done.err


def test_a_default_model_of_other_labels_is_not_replaced(
    command: Command, promote: Promote, make: Make, config: Path, tmp_path: Path
) -> None:
    """As by a model of one's own axes in a checkout, whose default model the server and the App use."""
    candidate, models = make("candidate"), tmp_path / "models"
    default = make("models/shipped")
    file = default / "taxonomy.toml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace('requires = { axis = "kind", label = "bug" }', "", 1), encoding="utf-8")
    keyword_model.seal(default, None, ("trained-on.txt",))
    (models / "DEFAULT").write_text("shipped\n", encoding="utf-8")
    said = f"axis symptom: another `requires`; expected the axes and labels of {default}, the default model of {models}"
    assert_one_line(promote(candidate), said)
    assert_one_line(command("promote", candidate, config, "--models", models), said)
    assert promote(candidate, "--dry-run").code == 0  # replaces nothing
    assert promote(candidate, "--models", tmp_path / "promoted").code == 0
    (models / "DEFAULT").write_text("gone\n", encoding="utf-8")
    assert_one_line(promote(candidate), f"{models / 'DEFAULT'} names gone: ")


def test_a_candidate_that_is_worse_on_one_axis_is_refused(promote: Promote, make: Make, tmp_path: Path) -> None:
    done = promote(make("deaf", DEAF))
    assert done.code == 1 and done.out.endswith("refused: deaf is worse on symptom\n")
    assert list((tmp_path / "models").iterdir()) == []


def test_a_bundle_that_does_not_say_what_it_was_trained_on_is_refused(promote: Promote, make: Make) -> None:
    done = promote(make("silent", trained_on=None))
    assert done.code == 2
    assert "silent: no trained-on.txt; expected a bundle that says what it was trained on" in done.err


def test_a_dry_run_installs_nothing(promote: Promote, make: Make, tmp_path: Path) -> None:
    done = promote(make("candidate"), "--dry-run")
    assert done.code == 0 and "not shown to be worse on any axis" in done.out
    assert list((tmp_path / "models").iterdir()) == []


def test_verdicts_decide_too_but_not_those_that_a_model_was_trained_on(
    promote: Promote, make: Make, tmp_path: Path
) -> None:
    words = {word: logits for word, logits in keyword_model.WORDS.items() if word != "segfault"}
    file = crashes(tmp_path, 25)
    done = promote(make("no-crash", words), "--reviews", file)
    assert done.code == 1 and "refused: no-crash is worse on symptom" in done.out
    done = promote(make("trained", words, [f"x/y#{number}" for number in range(1, 26)]), "--reviews", file)
    assert done.code == 0 and "25 reviews left out" in done.out


def test_a_few_verdicts_decide_nothing(promote: Promote, make: Make, tmp_path: Path) -> None:
    words = {word: logits for word, logits in keyword_model.WORDS.items() if word != "segfault"}
    done = promote(make("no-crash", words), "--reviews", crashes(tmp_path, 5))
    assert done.code == 0 and "too few" in done.out


def test_no_evidence_promotes_nothing(promote: Promote, make: Make, tmp_path: Path) -> None:
    done = promote(make("candidate", trained_on=[f"a/b#{number}" for number in range(10, 80)]))
    assert done.code == 2 and "too few" in done.out
    assert done.err == (
        "distriage: validation and reviews: at most 10 reports on an axis are new to both models; expected 20 or more "
        "on one, to decide by\n"
    )
    assert list((tmp_path / "models").iterdir()) == []


def test_verdicts_of_annotated_threads_are_left_out(promote: Promote, make: Make, tmp_path: Path) -> None:
    rows = [review(f"A/b#{number}", "symptom", "crash", title="segfault", body="") for number in range(10, 40)]
    done = promote(make("candidate"), "--reviews", write_lines(tmp_path / "v.jsonl", rows), "--dry-run")
    assert "30 reviews left out" in done.out and "no review of a maintainer" in done.out


def test_validation_reports_that_a_model_was_trained_on_are_left_out(promote: Promote, make: Make) -> None:
    candidate = make("leaky", trained_on=[f"a/b#{number}" for number in range(10, 50)])
    assert "40 validation reports left out" in promote(candidate, "--dry-run").out
    knowing = make("knowing", trained_on=[f"a/b#{number}" for number in range(50, 90)])
    assert "every report of split validation" in promote(candidate, "--current", knowing).err
    everything = make("all", trained_on=[f"a/b#{number}" for number in range(10, 90)])
    done = promote(everything)
    assert done.code == 2 and "every report of split validation was trained on by one of the models" in done.err


def test_a_model_from_before_its_repository_moved_still_knows_what_it_was_trained_on(
    promote: Promote, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = make("old", trained_on=[f"a/b#{number}" for number in range(10, 50)])
    monkeypatch.setitem(RENAMED, "a/b", "c/b")
    assert "40 validation reports left out" in promote(old, "--dry-run").out


def test_validation_reports_of_other_groups_decide_nothing(promote: Promote, make: Make, config: Path) -> None:
    annotations = config.parent / "corpus" / "annotations.jsonl"
    rows = [json.loads(line) for line in annotations.read_text(encoding="utf-8").splitlines()]
    hangs = [row["id"] for row in rows if row["split"] == "validation" and row["symptom"] == "hang"]
    write_lines(annotations, [{**row, "framework": "other"} if row["id"] in hangs else row for row in rows])
    deaf = make("deaf", DEAF)
    assert promote(deaf, "--dry-run").code == 1
    with config.open("a", encoding="utf-8") as stream:
        stream.write('[domain]\ngroups = ["deepspeed"]\n')
    assert promote(deaf, "--dry-run").code == 0


def test_the_test_figures_of_a_bundle_are_printed(promote: Promote, make: Make) -> None:
    candidate = make("candidate")
    symptom = {"n": 4, "accuracy": 0.5, "macro_f1": 0.25, "weighted_f1": 0.5, "ece": 0.1, "brier": 0.5, "coverage": {}}
    symptom |= {"accuracy_interval": [0, 1], "macro_f1_interval": [0, 1], "majority": {"accuracy": 0.5, "macro_f1": 0}}
    test = {"model": "candidate", "split": "test", "records": 4, "axes": {"symptom": symptom}}
    figures = {"validation": {}, "parity_fp32_max_logit_difference": 0, "int8_macro_f1_drop": {}, "sparse_weight": {}}
    figures["evaluation_test"] = {**test, "groups": {}, "thresholds": {}}
    (candidate / "metrics.json").write_text(json.dumps(figures), encoding="utf-8")
    keyword_model.seal(candidate, None, ("trained-on.txt",))
    assert "test, decides nothing: candidate: symptom 0.500 / 0.250" in promote(candidate, "--dry-run").out


def test_another_model_of_the_name_is_not_overwritten(promote: Promote, make: Make, tmp_path: Path) -> None:
    (tmp_path / "models" / "candidate").mkdir()
    done = promote(make("candidate"))
    assert done.code == 2 and "another model of this name is there" in done.err
    assert list((tmp_path / "models" / "candidate").iterdir()) == []


def test_models_of_different_taxonomies_are_not_compared(promote: Promote, shipped_bundle: Path) -> None:
    assert_one_line(promote(shipped_bundle), "axis kind: only one has feature, other; expected", "(--current names")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Memory runs out.", "Memory is used up.", None),
        ('requires = { axis = "kind", label = "bug" }', "", "axis symptom: another `requires`"),
    ],
)
def test_words_of_a_taxonomy_may_differ_but_no_question_and_no_answer(
    promote: Promote, make: Make, old: str, new: str, message: str | None
) -> None:
    candidate = make("candidate")
    file = candidate / "taxonomy.toml"
    file.write_text(file.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    keyword_model.seal(candidate, None, ("trained-on.txt",))
    done = promote(candidate, "--dry-run")
    if message is None:
        assert done.code == 0, done.err
    else:
        assert_one_line(done, message)


def test_the_default_model_of_the_checkout_exists(shipped_bundle: Path) -> None:
    assert shipped_bundle.name == default_model() == Bundle(shipped_bundle).manifest.name


def test_worse_only_where_the_whole_interval_says_so() -> None:
    def outcome(low: float, high: float, n: int = 100) -> AxisComparison:
        return AxisComparison("fix", "validation", n, (0.5, 0.5), (0.4, 0.4), (low, high))

    assert [outcome(-0.2, -0.01).outcome, outcome(-0.2, 0.01).outcome, outcome(0.01, 0.1).outcome] == [
        "worse",
        "no difference",
        "better",
    ]
    assert [outcome(-0.2, -0.01, n).outcome for n in (19, 20)] == ["too few", "worse"]
    assert worse_axes([outcome(-0.2, -0.01, 20)]) == ["fix"]
    assert worse_axes([outcome(-0.2, -0.01, 19), outcome(-0.2, 0.01)]) == []


@given(st.data())
def test_macro_f1_of_draws_is_that_of_the_repeated_reports(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 12))
    labels = st.lists(st.integers(0, 4), min_size=n, max_size=n).map(np.array)
    truth, predicted, times = data.draw(labels), data.draw(labels), data.draw(labels)
    times[0] += 1
    (found,) = scoring.macro_f1_of_draws(truth, predicted, times[None, :].astype(float))
    repeated = np.repeat(truth, times), np.repeat(predicted, times)
    assert found == pytest.approx(f1_score(*repeated, average="macro", zero_division=0))


def test_the_paired_interval_is_narrower_than_two_separate_ones() -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 3, 300)
    one = np.where(rng.random(300) < 0.7, truth, (truth + 1) % 3)
    other = one.copy()
    other[:12] = (truth[:12] + 1) % 3
    low, high = scoring.paired_bootstrap_macro_f1(truth, one, other)
    assert -0.06 < low < high < 0
    assert scoring.paired_bootstrap_macro_f1(truth, one, one) == (0.0, 0.0)


@pytest.mark.usefixtures("no_figures")
def test_an_evaluation_is_kept_under_the_name_of_the_measured_model(
    command: Command, config: Path, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = command("evaluate", config, "--model", make("candidate"), "--no-baselines")
    assert done.code == 0, done.err
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["candidate-validation"]


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_verdicts_are_measured_apart(keyword_classifier: Classifier, config: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs torch: pip install 'distriage[train]'")
    from distriage_training.measure.evaluate import evaluate
    from distriage_training.measure.report import report

    corpus = tmp_path / "corpus" / "annotations.jsonl"
    bare = {
        "kind": None,
        "distributed": None,
        "stage": None,
        "cause": None,
        "fix": None,
        "origin": "feedback",
        "split": "validation",
    }
    rows = [annotation(f"x/y#{number}", symptom="crash", **bare) for number in (1, 2)]
    corpus.write_text(
        corpus.read_text(encoding="utf-8") + "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
    )
    with (tmp_path / "texts.jsonl").open("a", encoding="utf-8") as stream:
        stream.writelines(
            json.dumps({"id": f"x/y#{number}", "title": title, "body": ""}) + "\n"
            for number, title in ((1, "segfault"), (2, "hangs"))
        )
    found = evaluate(
        keyword_classifier,
        load_config(config),
        "validation",
        tmp_path / "report",
        Console(file=io.StringIO()),
        baselines=False,
    )
    symptom = found.axes["symptom"]
    assert (found.records, symptom.n, symptom.accuracy) == (80, 80, 1.0)
    assert (found.feedback["symptom"].n, found.feedback["symptom"].accuracy) == (2, 0.5)
    assert found.feedback["symptom"].macro_f1 == pytest.approx(1 / 3)
    assert list(found.feedback) == ["symptom"]
    assert "| symptom |\n| --- |\n| 0.500 / 0.333 (2) |" in report(found)


def test_an_exported_bundle_names_what_it_was_trained_on(tiny_bundle: Path) -> None:
    settings = load_config(REPOSITORY / "configs" / "tiny.toml")
    train = load_splits(settings, settings.load_taxonomy()).train
    assert Bundle(tiny_bundle).trained_on == {thread_digest(thread_key(record.id)) for record in train}
