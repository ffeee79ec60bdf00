"""What is advised and asked of made-up reporters who have no CUDA, are on the main branch, or say what is wrong."""

from __future__ import annotations

import re

import pytest

from distriage.answer.playbooks import checks_for
from distriage.answer.questions import missing_facts
from distriage.base.types import IssueReport
from distriage.facts.situation import Platform, Situation
from distriage.model.label import meanings
from distriage.model.taxonomy import default_taxonomy
from distriage.reading.report import read

TAXONOMY = default_taxonomy()
NO_CUDA = "Framework: TensorFlow\nFramework version: 1.15.0\nCUDA version: N/A\nNCCL version: N/A\n"
TORCH_ON_CPU = "PyTorch version: 2.1.0\nIs CUDA available: No\nGPU models and configuration: No CUDA\n"
HOROVOD, RAY, TORCH, VLLM = "horovod/horovod#1", "ray-project/ray#1", "pytorch/pytorch#1", "vllm-project/vllm#1"
DEEPSPEED, LIGHTNING = "deepspeedai/DeepSpeed#1", "Lightning-AI/pytorch-lightning#1"
LABELS = {axis: TAXONOMY.axes[axis].label_ids for axis in ("symptom", "cause", "fix")}


def settled_at(situation: Situation, labels: dict[str, str]) -> Situation:
    return situation.at(meanings(TAXONOMY.labels_of(labels).values()), one_process=labels.get("distributed") == "false")


def situation(text: str, identifier: str, title: str = "It does not do what it should", **at: str) -> Situation:
    known = read(IssueReport(title, text, identifier)).situation
    return settled_at(known, at)


def checks(text: str, identifier: str, *, title: str = "It does not do what it should", **labels: str) -> str:
    at = {axis: labels.pop(axis) for axis in ("stage", "distributed") if axis in labels}
    return " ".join(checks_for(TAXONOMY, labels, situation(text, identifier, title, **at)))


def asked(text: str, identifier: str, *, has_error: bool = False, thin: bool = False, **likely: str) -> dict[str, str]:
    report = read(IssueReport("It does not do what it should", text, identifier))
    questions = missing_facts(
        report.facts,
        has_error=has_error,
        thin=thin,
        likely=TAXONOMY.labels_of(likely),
        situation=settled_at(report.situation, likely),
        tracker=report.tracker,
    )
    return {question.fact: question.question for question in questions}


@pytest.mark.parametrize(
    ("text", "identifier"),
    [
        (NO_CUDA + "It ends in hvd.init().", HOROVOD),
        (TORCH_ON_CPU + "all_reduce of gloo ends at once.", TORCH),
        ("The raylet ends.", RAY),
        ("The estimator of my workers ends.", HOROVOD),
        ("It ends with torch 1.3.1+cpu.", TORCH),
    ],
)
def test_no_cuda_and_no_nccl_where_there_is_none(text: str, identifier: str) -> None:
    at = situation(text, identifier)
    given = {
        check
        for axis, labels in LABELS.items()
        for label in labels
        for check in checks_for(TAXONOMY, {axis: label}, at)
    }
    assert len(given) > 60, "too much was left out"
    assert [
        check for check in given if re.search(r"CUDA|NCCL|(?<!r)nccl|nvidia|Xid|device memory|kernels betw", check)
    ] == []
    assert "`python -X faulthandler`" in checks(text, identifier, symptom="native-crash")
    assert "what each rank gives" in checks(text, identifier, symptom="collective-communication-error").replace(
        "each worker", "each rank"
    )


@pytest.mark.parametrize(
    ("text", "identifier"),
    [
        ("CUDA version: 10.0\nIt ends in hvd.init().", HOROVOD),
        ("A task on my GPU ends.", RAY),
        ("Without a GPU it works. RuntimeError: CUDA error: an illegal memory access", TORCH),
        ("It ends.", TORCH),
        ("On 2.1.0+cpu all is well. With 2.1.0+cu121 it segfaults.", TORCH),
        ("On 2.1.0+cpu all is well. On the A100 it segfaults.", TORCH),
        ("On 2.1.0+cpu all is well. On the GPU it segfaults.", TORCH),
        ("It ends in ncclAllReduce.", HOROVOD),
    ],
)
def test_cuda_is_spoken_of_where_it_may_be(text: str, identifier: str) -> None:
    assert "CUDA_LAUNCH_BLOCKING" in checks(text, identifier, symptom="native-crash")


@pytest.mark.parametrize(
    ("text", "identifier", "labels", "part", "not_part"),
    [
        ("Wrong statistics.", RAY, "incorrect-output inference", "where it is computed", "quantization"),
        ("RLlib has no free CPU.", RAY, "unexpected-parallelism", "`ray.available_resources()`", "world size"),
        ("Objects pile up.", RAY, "memory-growth memory-management-defect", "RSS", "two-layer"),
        ("A leak on 8 H100.", VLLM, "memory-growth memory-management-defect", "small model", "two-layer"),
        ("The optimizer field has to be there.", DEEPSPEED, "config-rejected", "after defaults", "world = TP"),
        ("train_batch_size is refused.", DEEPSPEED, "config-rejected", "world = TP", "after defaults"),
        ("apt-get fails in docker build.", HOROVOD, "install-failure", "the step that fails", "pip install"),
        ("python setup.py install fails.", TORCH, "install-failure", "the step that fails", "pip install"),
        (
            "setup.py install fails.",
            TORCH,
            "install-failure packaging-defect",
            "from a clean checkout",
            "empty container",
        ),
        ("Samples are wrong.", TORCH, "incorrect-output precision-defect", "dtype and values", "quantization"),
        ("The backend is missing.", VLLM, "backend-unavailable", "`torch.version.cuda`", "horovodrun"),
        ("pip install fails.", LIGHTNING, "install-failure", "in a fresh environment with `pip install -v`", "alone"),
        ("pip install in a fresh conda env fails.", LIGHTNING, "install-failure", "`pip install -v`", "in a fresh"),
        ("pip install, not in a fresh env, fails.", LIGHTNING, "install-failure", "in a fresh environment", "alone"),
        ("pip install fails. Need I a clean env?", LIGHTNING, "install-failure", "in a fresh environment", "alone"),
        ("The new environment variable X breaks pip install", LIGHTNING, "install-failure", "in a fresh", "alone"),
        ("The libtorch binary in C++ waits.", TORCH, "runtime-hang", "`gdb -p PID", "py-spy"),
        ("train.py waits, and so does libtorch.", TORCH, "runtime-hang", "py-spy", "gdb"),
        ("libc10.so waits below libtorch.so.", TORCH, "runtime-hang", "py-spy", "gdb"),
        ("On the latest main branch.", "sgl-project/sglang#1", "framework-patch", "Search merged", "Reproduce"),
        ("On main it does not work.", "sgl-project/sglang#1", "framework-patch", "Search merged", "Reproduce"),
        ("It fails in the main function.", "sgl-project/sglang#1", "framework-patch", "Reproduce on the", "Search m"),
        (
            "A gradient is None. " + NO_CUDA,
            HOROVOD,
            "gradient-computation-error missing-validation",
            "",
            "checkpointing",
        ),
        ("It is refused.", TORCH, "api-exception api-misuse", "the documented example.", "wrapping"),
        ("PyTorch Version: Master branch", TORCH, "framework-patch", "Search merged", "Reproduce"),
        ("The bias is zero.", TORCH, "user-code-error", "tiny input", "without the framework"),
        ("The bias is zero.", DEEPSPEED, "user-code-error", "without the framework", ""),
        ("AWQ weights of 671B are refused.", VLLM, "precision-defect inference", "the model's own dtype", "in fp32"),
        ("The raylet is gone.", RAY, "network-connection-failure", "/tmp/ray/session_latest/logs", "each node"),
        ("The nodes part.", RAY, "network-connection-failure", "From each node", "session_latest"),
    ],
)
def test_a_check_fits_what_the_report_says(text: str, identifier: str, labels: str, part: str, not_part: str) -> None:
    axis_of = {label: axis for axis in ("symptom", "cause", "fix", "stage") for label in TAXONOMY.axes[axis].label_ids}
    given = checks(text, identifier, **{axis_of[label]: label for label in labels.split()})
    assert part in given
    assert not not_part or not_part not in given


def test_a_wrong_answer_of_a_server_may_have_the_right_tokens() -> None:
    wrong = {"symptom": "incorrect-output", "stage": "inference"}
    assert "without parsers" in checks("", VLLM, title="finish_reason is always null", **wrong)
    assert "without parsers" in checks("", VLLM, title="Streaming tool calls are cut off", distributed="false", **wrong)
    assert "quantization" in checks('{"finish_reason": "stop"}', VLLM, title="Garbage from a 70B model", **wrong)
    for title in ("Non-streaming responses omit usage", "stream_options.include_usage is ignored"):
        assert "without parsers" in checks("", VLLM, title=title, **wrong), title
    for title in ("Upstream merge gives wrong tokens", "A race on the second CUDA stream", "Wrong with num_streams"):
        assert "quantization" in checks("", VLLM, title=title, **wrong), title


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("It fails", "[circular import](https://example.org/x)"),
        ("[CIFAR10] It fails", ""),
        ("It fails", "I did not try the main branch; 0.16.2"),
        ("It fails", "We run the job nightly; deepspeed 0.16.2"),
        ("It fails", "0.8.4 with PyTorch 2.9 nightly"),
        ("It fails", "- [ ] I tried the latest main branch"),
        ("It fails", "Not tried on main."),
    ],
)
def test_who_has_not_tried_the_main_branch_is_told_to(title: str, text: str) -> None:
    assert "Reproduce on the main branch" in checks(text, DEEPSPEED, title=title, fix="framework-patch")
    assert "Reproduce" not in checks(text, DEEPSPEED, title="[CI] It fails", fix="framework-patch")


@pytest.mark.parametrize("platform", [Platform.WINDOWS, Platform.MACOS])
def test_a_single_machine_is_told_of_no_cluster(platform: Platform) -> None:
    alone = Situation(platform, one_process=True, traits=frozenset({"ray", "without-process-group"}))
    (check,) = checks_for(TAXONOMY, {"symptom": "network-connection-failure"}, alone)
    assert ("%TEMP%\\ray" in check) == (platform is Platform.WINDOWS) and "getent" not in check
    several = Situation(platform, traits=frozenset({"ray", "without-process-group"}))
    (check,) = checks_for(TAXONOMY, {"symptom": "network-connection-failure"}, several)
    assert "getent" not in check and "node" in check


def test_a_hang_of_one_process_is_asked_for_in_the_singular_and_of_cpp_with_gdb() -> None:
    many = asked("Training waits.", DEEPSPEED, symptom="runtime-hang", distributed="true")["error"]
    one = asked("Training waits.", DEEPSPEED, symptom="runtime-hang", distributed="false")["error"]
    native = asked("The binary of libtorch waits.", TORCH, symptom="runtime-hang", distributed="false")["error"]
    assert "each process's log" in many and "each" not in one and "py-spy" in one
    assert "gdb" in native and "py-spy" not in native


@pytest.mark.parametrize(
    ("text", "identifier", "symptom", "facts"),
    [
        ("apt-get fails in my job.", DEEPSPEED, "install-failure", ""),
        ("No module named 'setuptools' from pip install pytorch-lightning", LIGHTNING, "install-failure", ""),
        ("No module named 'transformers.models.nova'", DEEPSPEED, "import-failure", ""),
        ("test_torch.py imports collections.Iterable", DEEPSPEED, "import-failure", ""),
        ("undefined symbol: _ZN3c10", DEEPSPEED, "import-failure", "torch"),
        ("import torch ends", DEEPSPEED, "import-failure", "torch"),
        ("gcc stops at torch.h", DEEPSPEED, "install-failure", "torch os"),
        ("No matching distribution found", DEEPSPEED, "install-failure", "os"),
        ("Tasks of 2 GPUs and of 16 CPUs wait alike", RAY, "low-throughput", ""),
        ("Tasks with CUDA on my GPU are slow", RAY, "low-throughput", "gpu_model gpu_count"),
        ("The RDNA3 card with ROCm 6.1 stops", VLLM, "extension-build-failure", "os"),
        (
            "[my_env.txt](https://github.com/user-attachments/files/1/my_env.txt) GPU",
            VLLM,
            "extension-build-failure",
            "-",
        ),
        (
            "[envoy-proxy.log](https://github.com/user-attachments/files/3/envoy-proxy.log) GPU",
            VLLM,
            "extension-build-failure",
            "gpu_model os",
        ),
        (
            "[environment.png](https://github.com/user-attachments/files/3/environment.png) GPU",
            VLLM,
            "extension-build-failure",
            "gpu_model os",
        ),
    ],
)
def test_only_what_matters_to_the_failure_is_asked_for(text: str, identifier: str, symptom: str, facts: str) -> None:
    wanted = set() if facts == "-" else {"framework_version", *facts.split()}
    assert asked(text, identifier, symptom=symptom, has_error=True).keys() == wanted


@pytest.mark.parametrize(
    "text",
    [
        "With 4 GPUs over NCCL the manager blocks. We should fix this by skipping such requests.",
        "With 4 GPUs over NCCL it blocks: the parentheses should be removed.",
        "With 4 GPUs over NCCL it blocks. The culprit is the last change of the sampler.",
        "With 4 GPUs over NCCL it blocks. It is not the network. The root cause is `step` without a lock.",
        "With 4 GPUs over NCCL `wait` blocks. It probably needs to release its CPU.",
        "With 4 GPUs over NCCL it hangs. The root cause is uninitialized memory in `step`.",
    ],
)
def test_who_says_what_is_wrong_is_asked_for_the_version_alone(text: str) -> None:
    assert asked(text, DEEPSPEED, symptom="runtime-hang").keys() == {"framework_version"}
    waits = text.split(".")[0].split(":")[0]
    assert {"error", "torch", "nccl"} <= asked(waits, DEEPSPEED, symptom="runtime-hang").keys()


@pytest.mark.parametrize(
    "text",
    [
        "It would be great if somebody could fix this.",
        "A fix would be great.",
        "Any fix would be much appreciated.",
        "A fix is needed urgently.",
        "I do not know what the root cause is",
        "The root cause is open.",
        "The root cause is still unknown to us.",
        "See the trace above for the root cause issue.",
        "Any idea what might fix it?",
        "I don't think that the culprit is NCCL.",
        "No fix is known.",
        "Please tell me which version should fix it.",
        "Nothing I tried would fix this.",
        "Is NCCL the culprit?",
    ],
)
def test_who_hopes_for_a_fix_or_asks_for_one_explains_nothing(text: str) -> None:
    waits = f"With 4 GPUs over NCCL `wait` blocks. {text}"
    assert {"error", "torch", "nccl"} <= asked(waits, DEEPSPEED, symptom="runtime-hang").keys()


def test_the_toolkit_is_called_by_its_name_where_the_card_is_known() -> None:
    crash = {"symptom": "native-crash", "has_error": True}
    assert asked("CUDA error on the card", VLLM, **crash)["cuda"] == "Which CUDA version?"  # type: ignore[arg-type]
    assert asked("cuda stops", VLLM, **crash)["cuda"] == "Which CUDA (or ROCm) version?"  # type: ignore[arg-type]
    assert asked("CUDA error on the card of an AMD EPYC host", VLLM, **crash)["cuda"] == "Which CUDA version?"  # type: ignore[arg-type]
    of_amd = "With the AMD card it crashes, with Nvidia not. cuda stops"
    assert asked(of_amd, VLLM, **crash)["cuda"] == "Which CUDA (or ROCm) version?"  # type: ignore[arg-type]


def test_a_likely_symptom_tells_what_happens() -> None:
    assert asked("Please help", HOROVOD, thin=True)["error"].startswith("What happens?")
    error = asked("Please help", HOROVOD, thin=True, symptom="native-crash")["error"]
    assert error == "What is the complete error message or traceback?"
    assert "reproduction" not in asked("pip install fails", HOROVOD, thin=True, symptom="install-failure")


@pytest.mark.parametrize("symptom", ["setup-hang", "runtime-hang", "launch-failure"])
def test_who_waits_for_a_place_in_the_cluster_is_not_asked_what_its_processes_do(symptom: str) -> None:
    waits = "Warning FailedScheduling default-scheduler 0/6 nodes are available: 6 Insufficient nvidia.com/gpu."
    placed = f"{waits}\nNormal Scheduled Successfully assigned ml/worker-0 to gpu-3"
    assert asked(waits, "kubeflow/training-operator#1", symptom=symptom).keys() == {"framework_version"}
    advised = checks(waits, "", symptom=symptom)
    assert "`kubectl describe pod POD`" in advised and "py-spy" not in advised and "NCCL" not in advised
    running = f"We are running the operator.\n{waits}"
    assert asked(running, "kubeflow/training-operator#1", symptom=symptom).keys() == {"framework_version"}
    assert "kubectl" not in checks(placed, "", symptom=symptom)
    assert len(asked(placed, "kubeflow/training-operator#1", symptom=symptom)) > 1
    later = "FailedScheduling\nthen it ran and printed all_reduce hang on rank 3"
    assert len(asked(later, "kubeflow/training-operator#1", symptom=symptom)) > 1
