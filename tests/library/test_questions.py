"""What is asked for, since a report does not say it; and which numbers are taken for facts."""

from __future__ import annotations

import pytest

from distriage.answer.questions import missing_facts
from distriage.facts.environment import EnvironmentFacts, find_facts, find_versions
from distriage.facts.situation import Situation
from distriage.model.taxonomy import default_taxonomy
from distriage.segments import Kind, Line, Role, Segment, Segments, split

ALL = EnvironmentFacts(
    "DeepSpeed", "0.14.2", "2.3.0", "3.10", "12.1", "2.20.5", "550.54", "A100", 16, 8, 2, "Ubuntu 22.04", "torchrun"
)
NONE = EnvironmentFacts(framework="DeepSpeed")
SPOKEN_OF = Situation(library="PyTorch", subjects=frozenset({"device", "nccl", "error"}))


TAXONOMY = default_taxonomy()
GO_ON = [label.id for label in TAXONOMY.axis("symptom").labels if "goes-on" in label.means]


def asked(
    facts: EnvironmentFacts = NONE, situation: Situation = SPOKEN_OF, *, has_error: bool = True, **likely: str
) -> list[str]:
    known = TAXONOMY.labels_of({axis: label for axis, label in likely.items() if label})
    return [item.fact for item in missing_facts(facts, has_error=has_error, likely=known, situation=situation)]


@pytest.mark.parametrize(
    "labels",
    [
        {},
        {"stage": "build-import"},
        {"stage": "communication-setup"},
        {"stage": "build-import", "symptom": "import-failure"},
        {"symptom": "install-failure"},
        {"symptom": "setup-hang"},
        {"symptom": "launch-failure"},
        {"symptom": "low-throughput"},
    ],
)
def test_any_failure_asks_for_the_version_unless_it_is_stated(labels: dict[str, str]) -> None:
    assert asked(**labels) == ["framework_version"]
    assert asked(ALL, **labels) == []


def test_a_project_is_asked_for_its_version_by_its_name_if_it_is_known_to_have_any() -> None:
    (named,) = missing_facts(EnvironmentFacts("Horovod"), has_error=True)
    assert named.question == "Which version (or commit) of Horovod is in use?"
    for without in (None, "thesis-code", "DeepSpeedExamples"):
        assert missing_facts(EnvironmentFacts(without), has_error=True) == []


@pytest.mark.parametrize(
    ("framework", "library", "stated", "texts"),
    [
        (None, "PyTorch", "", ["Which version of PyTorch?"]),
        (None, "PyTorch", "torch", []),
        ("trainer", "PyTorch", "", []),  # unknown
        ("MXNet", "MXNet", "", ["Which version of MXNet?"]),
        ("TensorFlow", "TensorFlow", "", ["Which version of TensorFlow?"]),
        ("TensorFlow", "TensorFlow", "torch", []),
        ("PyTorch DDP", "PyTorch", "", ["Which version of PyTorch?"]),
        ("PyTorch FSDP", "PyTorch", "torch", []),
        (
            *("Horovod", "TensorFlow", ""),
            ["Which version (or commit) of Horovod is in use?"],
        ),
        ("NCCL", None, "", ["Which NCCL version?"]),
        ("NCCL", None, "nccl", []),
        ("nccl-tests", None, "nccl", []),
        ("RCCL", None, "rocm", []),  # of whose release it is
        ("NCCL", None, "rocm", ["Which NCCL version?"]),
    ],
)
def test_the_version_of_what_failed_is_asked_for(
    framework: str | None, library: str | None, stated: str, texts: list[str]
) -> None:
    situation = Situation(library=library, stated=frozenset(filter(None, [stated])))
    likely = TAXONOMY.labels_of({"symptom": "tensor-mismatch"})
    questions = missing_facts(EnvironmentFacts(framework), has_error=True, likely=likely, situation=situation)
    assert [item.question for item in questions] == texts


def test_nobody_is_asked_for_more_than_two_things() -> None:
    for symptom in TAXONOMY.axis("symptom").label_ids:
        for has_error in (False, True):
            assert len(asked(symptom=symptom, has_error=has_error)) <= 2


def test_of_one_rank_that_failed_its_own_log_is_asked_for() -> None:
    box = "Root Cause (first observed failure):\n[0]:\n  rank      : 3 (local_rank: 3)\n  exitcode  : 1 (pid: 9)"
    closed = Line("RuntimeError: Connection closed by peer", 1, "", Role.CASCADE)
    for segments, text in (
        (split("It ends", f"```\n{box}\n```"), "What does the log of rank 3 say?"),
        (Segments("", (Segment(Kind.LOG, "", (closed,)),)), "What does the log of the process that ended first say?"),
    ):
        likely = TAXONOMY.labels_of({"symptom": "collective-communication-error"})
        known = {"likely": likely, "situation": SPOKEN_OF, "segments": segments}
        assert missing_facts(ALL, has_error=False, **known)[0].question.startswith(text)  # type: ignore[arg-type]


def test_a_missing_error_is_asked_for_first_where_one_is_spoken_of() -> None:
    questions = missing_facts(ALL, has_error=False, situation=SPOKEN_OF)
    assert [(question.fact, question.question) for question in questions] == [
        ("error", "What is the complete error message or traceback?")
    ]
    assert asked(has_error=False)[0] == "error"
    assert missing_facts(ALL, has_error=False) == []
    assert missing_facts(ALL, has_error=True, situation=SPOKEN_OF) == []


def test_a_thin_report_is_asked_what_happens() -> None:
    (happens,) = missing_facts(ALL, has_error=False, thin=True)
    assert happens.fact == "error"
    assert happens.question.startswith("What happens? Please give the complete error message or traceback,")
    (error,) = missing_facts(ALL, has_error=False, thin=True, situation=SPOKEN_OF)
    assert error.question == "What is the complete error message or traceback?"


@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize("symptom", GO_ON)
def test_no_error_is_asked_for_where_the_symptom_is_none(symptom: str, thin: bool) -> None:
    questions = missing_facts(
        ALL, has_error=False, thin=thin, likely=TAXONOMY.labels_of({"symptom": symptom}), situation=SPOKEN_OF
    )
    assert "error" not in [question.fact for question in questions]


@pytest.mark.parametrize("symptom", ["runtime-hang", "setup-hang"])
def test_a_hang_is_asked_what_each_process_waits_for(symptom: str) -> None:
    (question,) = missing_facts(ALL, has_error=False, likely=TAXONOMY.labels_of({"symptom": symptom}))
    assert question.fact == "error" and "py-spy dump" in question.question and "each process's log" in question.question
    assert missing_facts(ALL, has_error=True, likely=TAXONOMY.labels_of({"symptom": symptom})) == []


def test_every_question_is_one_sentence() -> None:
    for symptom in default_taxonomy().axis("symptom").label_ids:
        for question in missing_facts(
            NONE, has_error=False, likely=TAXONOMY.labels_of({"symptom": symptom}), situation=SPOKEN_OF
        ):
            assert question.question[0].isupper() and "?" in question.question and "\n" not in question.question


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("Page 3090 missing", None),
        ("step 5080 loss 0.2", None),
        ("train.py:1080", None),
        ("[4050/5004] eta 0:12", None),
        ("see #1070", None),
        ("t4 = time()", None),
        ("layer L100 to L400", None),
        ("RTX 3090", "RTX 3090"),
        ("3090 GPUs", "3090"),
        ("8x3090", "3090"),
        ("on one 4090", "4090"),
        ("GPU: 3090", "3090"),
        ("两张 3090", "3090"),
        ("2080ti", "2080Ti"),
        ("on a T4", "T4"),
        ("8xa100", "A100"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
    ],
)
def test_a_gpu_is_read_only_where_the_words_speak_of_one(text: str, model: str | None) -> None:
    assert find_facts("", text).gpu_model == model


def test_versions_alone_are_those_of_all_facts() -> None:
    body = "DeepSpeed version 0.14.2, torch==2.3.1, python 3.11, 8 A100"
    facts = find_facts("It hangs", body).stated()
    wanted = {name: value for name, value in facts.items() if name in {"framework", "framework_version", "torch"}}
    assert find_versions("It hangs", body) == wanted
    assert len(wanted) == 3
    assert find_versions("It hangs", "") == {}


@pytest.mark.parametrize(
    ("text", "fact", "value"),
    [
        ("PyTorch 版本 2.2.0", "torch", "2.2.0"),
        ("pytorch 的版本是 2.2.0", "torch", "2.2.0"),
        ("使用torch2.2.0训练", "torch", "2.2.0"),
        ("PyTorch バージョン 2.2.0", "torch", "2.2.0"),
        ("PyTorch 버전: 2.2.0", "torch", "2.2.0"),
        ("torch версии 2.2.0", "torch", "2.2.0"),
        ("إصدار torch هو 2.3.0", "torch", "2.3.0"),
        ("torch version is 2.1.2", "torch", "2.1.2"),
        ("CUDA版本：12.1", "cuda", "12.1"),
        ("cuda12.1", "cuda", "12.1"),
        ("on ROCm 6.0.2", "rocm", "6.0.2"),
        ("torch 2.3.0+rocm6.0", "rocm", "6.0"),
        ("NCCL 版本 2.18.3", "nccl", "2.18.3"),
        ("DeepSpeed 版本 0.14.0", "framework_version", "0.14.0"),
        ("2枚のGPUでDeepSpeed 0.14.2を使う", "framework_version", "0.14.2"),
        ("A100で学習する", "gpu_model", "A100"),
        ("8张A100", "gpu_model", "A100"),
        ("dual 4090", "gpu_model", "4090"),
        ("Ubuntu22.04", "os", "Ubuntu22.04"),
        ("two GPUs", "gpu_count", 2),
        ("I have four A100s", "gpu_count", 4),
        ("dual 3090s", "gpu_count", 2),
        ("H100 x 8", "gpu_count", 8),
        ("A100-80G*8", "gpu_count", 8),
        ("nproc_per_node=8", "gpu_count", 8),
        ("on a single GPU it works, on more GPUs it hangs", "gpu_count", None),
        ("单卡可以，多卡卡住", "gpu_count", None),
        ("八卡", "gpu_count", 8),
        ("两张4090", "gpu_count", 2),
        ("第二张卡", "gpu_count", None),
        ("各8GPUの", "gpu_count", 8),
        ("A100 8장", "gpu_count", 8),
        ("8 видеокарт", "gpu_count", 8),
        ("2 картинки", "gpu_count", None),
        ("two nodes", "nodes", 2),
        ("on both servers", "nodes", 2),
        ("两台机器", "nodes", 2),
        ("第二台机器", "nodes", None),
        ("2ノード", "nodes", 2),
        ("노드는 2개", "nodes", 2),
        ("на двух узлах", "nodes", 2),
    ],
)
def test_nobody_is_asked_for_what_is_said_in_words_or_another_language(
    text: str, fact: str, value: str | int | None
) -> None:
    assert find_facts("", text).stated().get(fact) == value


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("torch 11.6 with DeepSpeed", {"framework": "DeepSpeed"}),  # somebody's CUDA: torch has no such release
        ("torch 11.6, torch 2.3.1", {"torch": "2.3.1"}),
        ("two 3090 cards", {"gpu_model": "3090", "gpu_count": 2}),
        ("2x 3090, two 3090 cards", {"gpu_model": "3090", "gpu_count": 2}),
        ("4090卡", {"gpu_model": "4090"}),
        ("8张4090卡", {"gpu_model": "4090", "gpu_count": 8}),
        ("1024 GPUs", {"gpu_count": 1024}),
    ],
)
def test_a_number_is_taken_for_what_it_is(text: str, stated: dict[str, object]) -> None:
    assert find_facts("", text).stated() == stated
