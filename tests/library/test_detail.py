"""How much a report says, and what is given where it says next to nothing."""

from __future__ import annotations

import pytest

import distriage
from distriage import IssueReport
from distriage.base.types import Detail, Mode, Unlearned
from distriage.reading.report import read


@pytest.mark.parametrize(
    ("title", "body", "detail"),
    [
        ("not working on multi gpu", "It doesn't work when I use 2 gpus. Please help!!", Detail.NOTHING),
        ("DeepSpeed not working", "I tried DeepSpeed with 8 GPUs but it is not working. Any ideas?", Detail.NOTHING),
        ("fsdp bug", "", Detail.NOTHING),
        ("Training hangs", "Please help", Detail.LITTLE),
        ("only one gpu is used with deepspeed", "", Detail.LITTLE),
        ("loss is nan on 8 gpus", "", Detail.LITTLE),
        ("单机多卡训练只用到一张卡", "", Detail.LITTLE),
        ("It fails", "RuntimeError: NCCL communicator was aborted on rank 1.", Detail.ENOUGH),
    ],
)
def test_a_report_says_what_happens_or_that_something_does_not_work(title: str, body: str, detail: Detail) -> None:
    assert read(IssueReport(title, body)).detail is detail


@pytest.mark.parametrize(
    ("title", "body", "unlearned"),
    [
        (
            "分散学習でエラー",
            "DeepSpeed ZeRO-3 で学習するとメモリ不足になります。CUDA out of memory と表示されます。",
            Unlearned.ALL,
        ),
        ("학습이 멈춥니다", "torchrun 으로 두 노드에서 학습하면 멈춥니다.", Unlearned.ALL),
        ("Обучение зависает", "```\nRuntimeError: NCCL communicator was aborted on rank 1.\n```", Unlearned.WORDS),
        (
            "Зависает",
            "```\n[rank1]:[E ProcessGroupNCCL.cpp:563] [Rank 1] Watchdog caught collective operation timeout\n```",
            Unlearned.WORDS,
        ),
        ("分布式训练卡住", "用两台机器训练の时候卡住了", Unlearned.LITTLE),
        ("Training hängt", "Auf zwei Knoten läuft es nicht weiter.", Unlearned.LITTLE),
        (
            "The translation is cut",
            "Translating `Привет, мир` gives only half of the sentence in English.",
            Unlearned.LITTLE,
        ),
        ("", "Traceback", Unlearned.LITTLE),
    ],
)
def test_a_third_of_the_words_in_a_script_that_was_not_learned_is_noticed(
    title: str, body: str, unlearned: Unlearned
) -> None:
    assert read(IssueReport(title, body)).unlearned is unlearned


@pytest.mark.parametrize(("log", "open_axes"), [("", set()), ("RuntimeError: CUDA out of memory.", {"symptom"})])
def test_a_report_in_an_unlearned_script_gets_a_label_only_by_an_error(log: str, open_axes: set[str]) -> None:
    for mode in Mode:
        axes = distriage.classify("Обучение зависает", f"На двух узлах через torchrun.\n\n{log}", mode=mode).axes
        said = {axis for axis, one in axes.items() if one.silence != "script"}
        assert open_axes <= said <= (axes.keys() - {"kind"} if log else set())


def test_who_does_not_say_what_happens_gets_no_symptom_and_is_asked() -> None:
    verdict = distriage.classify("not working on multi gpu", "It doesn't work when I use 2 gpus. Please help!!")
    assert {axis for axis, said in verdict.axes.items() if said.silence == "thin"} == {
        "stage",
        "symptom",
        "cause",
        "fix",
    }
    assert [item.question[:13] for item in verdict.missing] == ["What happens?"]
    hang = distriage.classify("Training hangs", "Please help")
    assert {axis for axis, said in hang.axes.items() if said.silence == "thin"} == {"cause", "fix"}
