"""Words of the field, counted once each."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import pytest

from distriage.recipe.text import field_words, prepare


@pytest.mark.parametrize(
    ("text", "found", "why"),
    [
        ("The broker loses its leader after a failover", (0, 0), "another distributed system"),
        ("NCCL timeout, NCCL again", (1, 1), "each word once, in any case"),
        ("torchrun and torch.distributed", (2, 2), "beginnings of words; a dot ends one"),
        ("the ray of a gpu_model: GPUs", (1, 2), "`gpu_model` is another word, `ray` a shared one"),
        ("单机多卡训练报错", (2, 2), "Chinese has no spaces"),
        ("storch", (0, 0), "the end of a word is no beginning"),
        ("", (0, 0), "nothing"),
    ],
)
def test_words_of_the_field_are_counted(text: str, found: tuple[int, int], why: str) -> None:
    assert field_words(text) == found, why


def test_a_listing_does_not_count_for_the_field() -> None:
    listing = "Collecting environment information...\nPyTorch version: 2.6.0\nIs CUDA available: True\n"
    listed = prepare("Job dies", f"It dies after an hour.\n\n```\n{listing}```")
    assert listed.field_words == prepare("Job dies", "It dies after an hour.").field_words == (0, 0)


def test_no_word_is_listed_twice() -> None:
    table = tomllib.loads((files("distriage.recipe") / "field.toml").read_text(encoding="utf-8"))
    words = [*table["certain"], *table["shared"]]
    assert len(words) == len(set(words)) and all(word == word.lower() for word in words)
