from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread
from rich.console import Console

from distriage.classifier import Classifier
from distriage.model.taxonomy import default_taxonomy
from distriage_research.experiments import compare, contrastive, linear
from distriage_research.experiments.notebook import Notebook
from distriage_research.experiments.peers import FastText, SetFit
from distriage_research.experiments.repositories import MIN_REPORTS, leave_out_repositories
from distriage_training.config import load_config
from distriage_training.corpus.load import load_splits
from distriage_training.corpus.records import Record

from support.command_line import Command, assert_one_line
from support.toys import REPOSITORY, write_config

TAXONOMY = default_taxonomy()
CONFIG = load_config(REPOSITORY / "configs" / "tiny.toml")
TOPICS = ("all ranks hang in all_reduce until the watchdog fires", "CUDA out of memory while the optimizer steps")
TRAIN = [
    Record(f"a/b#{n}", f"run {n}", f"{TOPICS[n % 2]} at step {n}", {}, "train", "toys", "raw", "") for n in range(24)
]
LABELS = np.array([n % 2 for n in range(24)])


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_config(tmp_path / "run.toml", sparse={"max_iterations": 1})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def numbers(table: str) -> list[float]:
    return [float(number) for number in re.findall(r"\d\.\d{3}", table)]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of libraries that the project does not serve with
@pytest.mark.parametrize(("peer", "module"), [(FastText, "fasttext"), (SetFit, "setfit")])
def test_peers_learn_what_is_easy(peer: type[FastText | SetFit], module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(module, reason="needs the peers: pip install -r training/research/requirements.txt")
    monkeypatch.setattr(contrastive, "STEPS", 4)
    labels = LABELS.copy()
    labels[:3] = -100  # not labelled on this axis
    found = peer(TRAIN, CONFIG).predict(
        labels, [TRAIN[0], TRAIN[1], Record("a/b#99", "new", TOPICS[1], {}, "test", "toys", "raw", "")]
    )
    assert found.tolist() == [0, 1, 1]


def test_peers_stand_beside_the_model(
    place: Path, tiny_classifier: Classifier, research: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = (
        "peers",
        "run.toml",
        "--peers",
        "tfidf",
        "--axes",
        "kind,stage",
        "--split",
        "test",
        "--model",
        str(tiny_classifier.bundle.path),
    )
    first = research(*arguments)
    assert first.code == 0
    rows = [line for line in first.out.splitlines() if line.startswith(("| kind |", "| stage |"))]
    assert len(rows) == 2
    assert "TF-IDF + LR" in first.out
    kept = json.loads((place / "runs" / "tiny-study" / "peers.json").read_text(encoding="utf-8"))
    config = load_config(place / "run.toml")
    assert kept["made_of"]["encoder"] == config.record()["encoder"]
    records = load_splits(config, TAXONOMY).test
    assert len(kept["entries"]["tfidf kind"]) == len(records)
    right = np.mean(
        [
            TAXONOMY.axes["kind"].label_ids[label] == r.labels["kind"]
            for label, r in zip(kept["entries"]["tfidf kind"], records, strict=True)
        ]
    )
    assert f"{right:.3f} / " in rows[0].split("|")[4]

    def refuse(*_: object) -> None:
        pytest.fail("what was measured is measured again")

    monkeypatch.setattr(compare, "labels_of", refuse)
    assert research(*arguments).out == first.out


@pytest.mark.slow
def test_a_learning_curve_grows_by_the_same_records(place: Path, research: Command) -> None:
    done = research("curve", "run.toml", "--shares", "1,0.25")
    assert done.code == 0
    assert [line.split("|")[1].strip() for line in done.out.splitlines() if line[:3].strip("| ").isdigit()] == [
        "24",
        "96",
    ]
    assert all(0 <= number <= 1 for number in numbers(done.out))
    picture = imread(place / "runs" / "tiny-study" / "learning-curve.png")
    assert len(np.unique(picture[:, :, 0])) > 10


@pytest.mark.slow
def test_a_repository_is_left_out(place: Path, research: Command) -> None:
    done = research(
        "leave-out", "run.toml", "--repository", "microsoft/DeepSpeed", "--repository", "NVIDIA/Megatron-LM"
    )
    assert done.code == 0
    names = [line.split("|")[1].strip() for line in done.out.splitlines() if "in training" in line]
    assert [name.split(", ") for name in names] == [
        [repository, f"{which} it in training"]
        for repository in ("deepspeedai/deepspeed", "nvidia/megatron-lm")
        for which in ("with", "without")
    ]
    kept = json.loads((place / "runs" / "tiny-study" / "linear.json").read_text(encoding="utf-8"))["entries"]
    assert set(kept) == {linear.EVERYTHING, "without deepspeedai/deepspeed", "without nvidia/megatron-lm"}


@pytest.mark.slow
def test_what_is_left_out_is_not_trained_on(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def remember(train: list[Record], records: list[Record], *_: object) -> list[list[int]]:
        seen.append((train, records))
        return [[0] * len(TAXONOMY.axes) for _ in records]

    monkeypatch.setattr(linear, "linear_labels", remember)
    config = load_config(write_config(place / "run.toml", data={"limit": None}))
    found = leave_out_repositories(config, place, Console(quiet=True))
    (everything, validation), *parts = seen
    names = [row.partition(",")[0] for row in found if ", without" in row]
    assert len(parts) == len(names) >= 3
    for (train, own), name in zip(parts, names, strict=True):
        assert len(own) >= MIN_REPORTS
        assert {record.id.split("#")[0].lower().replace("microsoft/", "deepspeedai/") for record in own} == {name}
        assert own == [record for record in validation if record in own]
        assert not [record for record in train if f"{name}#" in record.id.lower()]
        assert len(train) < len(everything)


@pytest.mark.slow
def test_a_source_is_left_out(place: Path, monkeypatch: pytest.MonkeyPatch, research: Command) -> None:
    seen = {}

    def remember(train: list[Record], records: list[Record], *_: object) -> list[list[int]]:
        seen[len(train)] = {record.source for record in train}
        return [[0] * len(TAXONOMY.axes) for _ in records]

    monkeypatch.setattr(linear, "linear_labels", remember)
    write_config(place / "run.toml", data={"limit": None})
    assert research("sources", "run.toml", "--source", "generated").code == 0
    without, everything = (seen[size] for size in sorted(seen))
    assert everything - without == {"generated"}


def test_what_was_measured_on_other_data_is_measured_again(tmp_path: Path) -> None:
    calls = []
    for data in ("one", "one", "other"):
        Notebook(tmp_path / "notes.json", {"data": data}).measure("key", lambda data=data: calls.append(data) or data)
    assert calls == ["one", "other"]
    (tmp_path / "notes.json").write_text("{", encoding="utf-8")
    assert Notebook(tmp_path / "notes.json", {"data": "other"}).measure("key", lambda: 3) == 3


def test_errors_are_counted(place: Path, tiny_classifier: Classifier, research: Command) -> None:
    shutil.copytree(tiny_classifier.bundle.path, place / "models" / "tiny")
    done = research("errors", "run.toml")
    assert done.code == 0
    line = next(line for line in done.out.splitlines() if line.startswith("| symptom |"))
    n, wrong, second, third, family = (int(cell) for cell in line.split("|")[2:7])
    assert n > wrong > 0
    assert second + third <= wrong
    assert family < wrong
    groups = [line for line in done.out.splitlines() if line.startswith("| cause | cause ")]
    assert sum(int(line.split("|")[3]) for line in groups) <= n
    confusions = [line.split("|") for line in done.out.splitlines() if line.startswith("| symptom |")][-8:]
    assert all(cells[2].strip() != cells[3].strip() for cells in confusions)
    assert [int(cells[4]) for cells in confusions] == sorted((int(cells[4]) for cells in confusions), reverse=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("peers", "run.toml", "--peers", "gpt"), "unknown peer gpt; known: tfidf, fasttext, setfit"),
        (("peers", "run.toml", "--peers", "tfidf", "--axes", "kind, cuase"), "unknown axis 'cuase'; known: kind, "),
        (("curve", "run.toml", "--shares", "0,2"), "'0,2': expected numbers above 0 and up to 1"),
        (("peers", "run.toml", "--split", "train"), "'train': expected validation or test"),
        (("sources", "run.toml", "--source", "nowhere"), "run.toml: no training record of source nowhere; sources: "),
        (
            ("leave-out", "run.toml", "--repository", "no/body"),
            "run.toml: no validation report of no/body; most are of ",
        ),
    ],
)
def test_bad_input_ends_in_one_line(
    place: Path, tiny_classifier: Classifier, research: Command, arguments: tuple[str, ...], message: str
) -> None:
    shutil.copytree(tiny_classifier.bundle.path, place / "models" / "tiny")
    done = research(*arguments)
    assert done.code == 2
    assert message in " ".join(done.err.replace("│", " ").split())
    assert "Traceback" not in done.err


def test_studies_without_their_data_end_in_one_line(place: Path, research: Command, keyword_bundle: Path) -> None:
    write_config(place / "run.toml")
    assert_one_line(research("domain", "run.toml"), "model 'tiny'")
    finished = research("duplicates", "none.csv", "none.jsonl", "--model", keyword_bundle)
    assert_one_line(finished, "none")


@pytest.mark.usefixtures("place")  # a folder without configs
def test_a_command_is_called_as_it_is_typed_and_reads_the_shipped_configuration(research: Command) -> None:
    assert_one_line(research("readers"), "--reader-model", "See `python training/research readers --help`")
    for name in ("similar", "domain", "leave-out", "peers"):
        assert_one_line(research(name), "configs/base.toml: ")
