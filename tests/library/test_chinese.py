from __future__ import annotations

import re

import pytest

from distriage.recipe.chinese import glossary, in_english


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("多机多卡训练报错", "multi-node multi-GPU training error"),  # the longest word that fits: not 多机 and 多卡
        ("显存不足, 请看 --tp 2", "out of GPU memory , 请看 --tp 2"),
        ("作用", "作用"),
        ("no Chinese here: 3 µs", "no Chinese here: 3 µs"),
        ("", ""),
    ],
)
def test_words_that_are_known_are_put_into_english(text: str, expected: str) -> None:
    assert " ".join(in_english(text).split()) == expected


def test_every_word_is_chinese_and_its_meaning_is_not() -> None:
    _, english = glossary()
    assert len(english) > 300
    for word, meaning in english.items():
        assert re.fullmatch("[\u4e00-\u9fff]{2,}", word) and meaning.isascii() and meaning == meaning.strip()
