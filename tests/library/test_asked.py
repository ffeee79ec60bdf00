"""What is asked of made-up reporters, from their words to the questions."""

from __future__ import annotations

import time

import pytest

from distriage.answer.questions import missing_facts
from distriage.base.types import IssueReport
from distriage.facts.spoken import says_no_device, subjects_of
from distriage.model.taxonomy import default_taxonomy
from distriage.reading.report import read

HOROVOD = "1. Framework: (TensorFlow, Keras, PyTorch, MXNet) {}\n2. Framework version: {}\n3. Horovod version: 0.18.2\n"
RAY = "Ray version and other system information (Python version, TensorFlow version, OS): Ray 0.8.4\n"


def asked(
    text: str, symptom: str, identifier: str = "", *, stage: str = "", distributed: str = "", has_error: bool = True
) -> list[str]:
    report = read(IssueReport("It does not do what it should", text, identifier))
    labels = {"stage": stage, "symptom": symptom, "distributed": distributed}
    likely = default_taxonomy().labels_of({axis: label for axis, label in labels.items() if label})
    return [
        item.fact
        for item in missing_facts(
            report.facts, has_error=has_error, likely=likely, situation=report.situation, segments=report.segments
        )
    ]


def sees_gpu(text: str) -> bool:
    return "gpu" in read(IssueReport("It does not do what it should", text, "")).situation.seen


def read_as(text: str, identifier: str = "") -> tuple[str | None, bool]:
    """The library, whether its version is stated."""
    situation = read(IssueReport("It does not do what it should", text, identifier)).situation
    return situation.library, "torch" in situation.stated


@pytest.mark.parametrize(
    ("identifier", "text", "expected"),
    [
        ("horovod/horovod#1", HOROVOD.format("TensorFlow", "1.14.0"), ("TensorFlow", True)),
        ("horovod/horovod#1", HOROVOD.format("PyTorch", "1.4.0"), ("PyTorch", True)),
        ("horovod/horovod#1", HOROVOD.format("MXNet", ""), ("MXNet", False)),
        ("horovod/horovod#1", HOROVOD.format("", ""), (None, False)),
        ("horovod/horovod#1", HOROVOD.format("", "") + "optimizer of horovod.torch", ("PyTorch", False)),
        ("ray-project/ray#1", RAY + "The dashboard shows no actors.", (None, False)),
        ("ray-project/ray#1", RAY + "The policy of tf.keras is not restored.", ("TensorFlow", False)),
        ("ray-project/ray#1", "(TensorFlow 1.15, Ray 0.8.4) The policy is not restored.", ("TensorFlow", True)),
        ("deepspeedai/DeepSpeed#1", "It logs to TensorBoard of tensorflow.", ("PyTorch", False)),
        ("", "TensorFlow version 2.2.0", ("TensorFlow", True)),
        ("", "tensorflow-gpu(1.12)", ("TensorFlow", True)),
        ("", "TF version 2.2.0-dev, all of tensorflow", ("TensorFlow", True)),
        ("", "tensorflow\n2. It hangs", ("TensorFlow", False)),
        ("ray-project/ray#1", "```\n(tensorflow_p36) me@host:~$ ray stat\n```", (None, False)),
        ("ray-project/ray#1", "```\n(tensorflow) $ ray stat\n```", (None, False)),
        ("ray-project/ray#1", "/envs/pytorch_p36/lib/libray.so is gone", (None, False)),
        ("horovod/horovod#1", HOROVOD.format("PyTorch", "'1.5.0a0+ad769d7'"), ("PyTorch", True)),
        ("", "The loader of my job stops.", (None, False)),
    ],
)
def test_the_library_is_what_the_reporter_names(identifier: str, text: str, expected: tuple[str | None, bool]) -> None:
    assert read_as(text, identifier) == expected


@pytest.mark.parametrize(
    "text",
    [
        "GPU models and configuration: No CUDA",
        "GPU: None",
        "* CUDA:\n  - GPU:\n  - available: False",
        "Trainer(gpus=None)",
        'ray.tune with "num_gpus": 0',
        "Resources requested: 4/8 CPUs, 0/0 GPUs",
        "GPU available: False, used: False",
        "Registered devices: [CPU, XLA_CPU]",
        "I run tensorflow-cpu",
        "two CPU-only hosts without a GPU",
        "no CUDA devices found",
        "CUDA version: N/A\nNCCL version: N/A",
        "GPU model and memory: not using GPU",
        "GPU model and memory: n/a - tested in CPU mode",
        "train(use_gpu=False, epochs=3)",
    ],
)
def test_a_gpu_that_there_is_not_is_not_seen(text: str) -> None:
    assert not sees_gpu(f"{text}\nThe CUDA build of torch stops.")


@pytest.mark.parametrize(
    "text",
    [
        "no GPU memory is freed",
        "num_gpu_blocks_override=None, all GPUs idle",
        "val_loss 2.8, gpu=0",
        "with gpus=0,1",
        "My GPU: Nova 7",
        "With CUDA: notable slowdown",
        "GPU memory: not released after a step",
        "On one GPU: no error; on two GPUs: no module of that name",
        "GPU memory: none of it is freed",
        "(cuda:None) is no valid device; the GPU idles",
        "no_cuda=False, GPU in use",
    ],
)
def test_a_gpu_that_is_spoken_of_is_there(text: str) -> None:
    assert not says_no_device(text.casefold())
    # Behind a word, since a line that begins with "GPU memory:" is an entry of a listing.
    assert sees_gpu(f"Slow: {text}, and CUDA stops")


@pytest.mark.parametrize(
    ("identifier", "text", "symptom", "never"),
    [
        ("pytorch/pytorch#1", "It got slow on master.", "memory-growth", "torch"),
        ("vllm-project/vllm#1", "Fix the failing Beam Search Test", "api-exception", "framework_version"),
        ("ray-project/ray#1", "See /blob/" + "3fc162f0" * 5 + "/a.py#L118", "api-exception", "framework_version"),
        ("deepspeedai/DeepSpeed#1", "Weights silently fail to load.", "model-loading-failure", "error"),
        ("deepspeedai/DeepSpeed#1", "It saves too often.", "checkpoint-save-resume-failure", "error"),
    ],
)
def test_nobody_is_asked_what_no_maintainer_would_ask(identifier: str, text: str, symptom: str, never: str) -> None:
    facts = asked(text, symptom, identifier, distributed="true", has_error=False)
    assert set(never.split()).isdisjoint(facts)


def test_an_image_tells_what_is_in_it() -> None:
    text = "The Dockerfile asks for a torch with CUDA that is gone."
    assert asked(text, "install-failure", "horovod/horovod#1", stage="build-import") == ["framework_version"]


@pytest.mark.parametrize(
    ("identifier", "text", "symptom", "facts"),
    [
        ("deepspeedai/DeepSpeed#1", "Training stops on all hosts.", "runtime-hang", "error framework_version"),
        (
            "horovod/horovod#1",
            "ncclAllReduce of torch fails on GPU 3.",
            "collective-communication-error",
            "error framework_version",
        ),
        (
            "deepspeedai/DeepSpeed#1",
            "fused_adam does not build with nvcc.",
            "extension-build-failure",
            "framework_version",
        ),
        ("deepspeedai/DeepSpeed#1", "It crashes.", "api-exception", "error framework_version"),
        ("ray-project/ray#1", "It crashes. It uses a placement group.", "worker-loss", "error framework_version"),
        (
            "horovod/horovod#1",
            "NCCL hangs once the pickled weights are sent.",
            "setup-hang",
            "error framework_version",
        ),
        ("ray-project/ray#1", "master_port is in use on the head", "network-connection-failure", "framework_version"),
    ],
)
def test_what_decides_is_asked_for(identifier: str, text: str, symptom: str, facts: str) -> None:
    assert set(facts.split()) <= set(asked(text, symptom, identifier, distributed="true", has_error=False))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('the latest "main" branch', True),
        ("the `main` branch of today", True),
        ("tip of main (3fc162f)", True),
        ("on main it hangs", True),
        ("current master 3fc162f", True),
        ("built from `main`", True),
        ("upstream/main, cloned today", True),
        ("broken in master.", True),
        ("https://example.org/a/b/pull/7/commits/3fc162f03fc162f0", True),
        ("https://example.org/a/b/tree/3fc162f0", True),
        ("https://example.org/a/b/tree/feature", False),
        ("the main reason", False),
        ("in the main function", False),
        ("on main thread", False),
        ("at main()", False),
        ("it stops in main\n", False),
        ("from main import x", False),
        ("the current main process", False),
        ("the master process", False),
        ("in the domain of it", False),
    ],
)
def test_a_branch_or_a_commit_tells_the_source(text: str, named: bool) -> None:
    assert ("source" in subjects_of(text, text)) is named


@pytest.mark.parametrize("text", ["It gives a segmentation fault.", "(core dumped)", "SIGSEGV", "device-side assert"])
def test_a_crash_in_other_words_is_an_error(text: str) -> None:
    assert "error" in subjects_of(text.lower(), text.lower())
    assert "error" not in subjects_of("a signal: assert x == 1", "")


@pytest.mark.parametrize(
    "piece",
    [
        "gpus (",
        "main ",
        "the latest main ",
        "(tensorflow ",
        "upgraded from torch ",
        "version: ",
        "gpu model ",
        "framework: (tensorflow, ",
        "(a, tensorflow",
        "commit ",
        "no gpu ",
        "lines 1 to ",
        "- ",
        "gpu memory: not used ",
        "[env](https://github.com/a/",
        "[a.env",
    ],
)
def test_hostile_text_takes_linear_time(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    start = time.perf_counter()
    subjects_of(text, text)
    says_no_device(text)
    read_as(text, "horovod/horovod#1")
    assert time.perf_counter() - start < 5
