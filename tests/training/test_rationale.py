from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from rich.console import Console
from safetensors.torch import load_file
from torch.nn import functional

from distriage.model.taxonomy import default_taxonomy
from distriage_training.config import EncoderConfig, load_config
from distriage_training.fit.encoder import load_encoder, load_tokenizer
from distriage_training.fit.examples import NO_NOTE
from distriage_training.fit.rationale import DISTRACTORS, Rationales, embed
from distriage_training.fit.run import WEIGHTS, load_trained
from distriage_training.fit.train import train

from support.toys import QUESTION, annotation, write_config, write_corpus

NOTES = functional.normalize(torch.randn(40, 12, generator=torch.Generator().manual_seed(3)), dim=-1)


def build() -> Rationales:
    torch.manual_seed(0)
    task = Rationales(NOTES)
    with torch.no_grad():
        task.project.weight.copy_(torch.eye(12))
        task.project.bias.zero_()
    return task


def test_the_right_note_costs_less_than_a_wrong_one() -> None:
    task = build()
    right = task(5 * NOTES[[4, 9]], torch.tensor([4, 9]))
    wrong = task(5 * NOTES[[4, 9]], torch.tensor([9, 4]))
    assert right < wrong
    assert wrong > math.log(2)


def test_a_report_s_own_note_is_no_distractor() -> None:
    task = Rationales(NOTES[:1])  # whatever is drawn beside it is the note itself
    assert task(torch.randn(1, 12), torch.tensor([0])).item() == pytest.approx(0.0, abs=1e-6)
    assert DISTRACTORS > 1


def test_reports_without_a_note_count_nothing() -> None:
    task = build()
    assert task(torch.randn(2, 12), torch.tensor([NO_NOTE, NO_NOTE])).item() == 0
    torch.manual_seed(1)
    alone = task(NOTES[[7]], torch.tensor([7]))
    torch.manual_seed(1)
    both = task(torch.cat([NOTES[[7]], torch.randn(1, 12)]), torch.tensor([7, NO_NOTE]))
    assert both.item() != 0
    assert alone.item() == pytest.approx(
        both.item(), rel=0.5
    )  # the distractors differ by the random numbers drawn between


def test_the_encoder_learns_and_the_notes_stay() -> None:
    task = build()
    vectors = torch.randn(3, 12, requires_grad=True)
    task(vectors, torch.tensor([0, 1, 2])).backward()
    assert vectors.grad is not None
    assert vectors.grad.abs().max() > 0
    assert [name for name, _ in task.named_parameters()] == ["project.weight", "project.bias"]
    assert set(task.state_dict()) == {"project.weight", "project.bias"}


def test_embeddings_are_unit_vectors_whatever_the_batch() -> None:
    config = EncoderConfig(layers=1)
    tokenizer = load_tokenizer(config)
    encoder = load_encoder(config).eval()
    texts = ["watchdog fired", "", "rank 3 never reaches the collective " * 20]
    found = embed(encoder, tokenizer, texts)
    assert found.norm(dim=-1).tolist() == pytest.approx([1.0] * 3, rel=1e-5)
    torch.testing.assert_close(found, embed(encoder, tokenizer, texts, batch_size=1), atol=1e-5, rtol=1e-4)


@pytest.mark.slow
def test_a_run_leaves_nothing_of_the_task(tmp_path: Path) -> None:
    def corpus(records: int) -> None:
        ids = [f"a/b#{n}" for n in range(records)]
        rows = [
            annotation(i, origin="restated", note=f"clue {i}", split="validation" if n % 8 == 0 else "train")
            for n, i in enumerate(ids)
        ]
        for n, row in enumerate(rows):
            row["distributed"] = n % 2 == 0
            row["stage"], row["symptom"] = (("inference", "low-throughput"), ("build-import", "import-failure"))[n % 2]
            row["cause"], row["fix"] = (
                ("incorrect-logic", "framework-patch"),
                ("missing-dependency", "environment-repair"),
            )[n % 2]
        questions = [
            annotation(f"a/q#{n}", **QUESTION, origin="restated", note="asks", split="train" if n else "validation")
            for n in range(3)
        ]
        write_corpus(
            tmp_path / "corpus",
            rows + questions,
            {row["id"]: (row["id"], f"{row['symptom']} text {row['id']}") for row in rows + questions},
        )

    config = load_config(
        write_config(
            tmp_path / "run.toml",
            data={"limit": None, "corpus": str(tmp_path / "corpus")},
            training={"rationale_weight": 0.5, "save_steps": 2, "batch_size": 8, "epochs": 1},
            sparse={"max_iterations": 1},
        )
    )
    quiet = Console(quiet=True)
    corpus(18)
    train(config, tmp_path / "run", console=quiet)
    assert not [name for name in load_file(tmp_path / "run" / WEIGHTS) if "rationale" in name or "notes" in name]
    load_trained(tmp_path / "run", config, default_taxonomy())
