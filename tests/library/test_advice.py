"""What is advised and asked of made-up reporters who have no CUDA, are on the main branch, or say what is wrong."""

from __future__ import annotations

import re

import pytest

from distriage.answer.playbooks import checks_for
from distriage.answer.questions import missing_facts
from distriage.base.types import IssueReport
from distriage.facts.situation import Situation
from distriage.model.label import meanings
from distriage.model.taxonomy import default_taxonomy
from distriage.reading.report import read

TAXONOMY = default_taxonomy()
NO_CUDA = "Framework: TensorFlow\nFramework version: 1.15.0\nCUDA version: N/A\nNCCL version: N/A\n"
TORCH_ON_CPU = "PyTorch version: 2.1.0\nIs CUDA available: No\nGPU models and configuration: No CUDA\n"
HOROVOD, RAY, TORCH, VLLM = "horovod/horovod#1", "ray-project/ray#1", "pytorch/pytorch#1", "vllm-project/vllm#1"
DEEPSPEED, LIGHTNING = "deepspeedai/DeepSpeed#1", "Lightning-AI/pytorch-lightning#1"
NCCL, UCX = "NVIDIA/nccl#1", "openucx/ucx#1"
LABELS = {axis: TAXONOMY.axes[axis].label_ids for axis in ("symptom", "cause", "fix")}


def with_labels_at(situation: Situation, labels: dict[str, str]) -> Situation:
    several = {"true": True, "false": False}.get(labels.get("distributed", ""))
    return situation.at(meanings(TAXONOMY.labels_of(labels).values()), several=several)


def situation(text: str, identifier: str, title: str = "It does not do what it should", **at: str) -> Situation:
    known = read(IssueReport(title, text, identifier)).situation
    return with_labels_at(known, at)


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
        situation=with_labels_at(report.situation, likely),
        segments=report.segments,
    )
    return {question.fact: question.question for question in questions}


@pytest.mark.parametrize(
    ("text", "identifier", "symptom", "part", "not_part"),
    [
        ("8 ranks wait in all_reduce of gloo, train.py on the CPU only.", TORCH, "runtime-hang", "py-spy", "NCCL|FR_"),
        ("8 H100 wait in all_reduce, train.py with NCCL.", TORCH, "runtime-hang", "TORCH_FR_BUFFER_SIZE", "DETAIL"),
        (
            "8 H100 wait in all_reduce, train.py with NCCL, torch 2.6.0.",
            TORCH,
            "runtime-hang",
            "TORCH_NCCL_TRACE_BUFFER_SIZE",
            "TORCH_FR",
        ),
        ("The libtorch binary in C++ waits.", TORCH, "runtime-hang", "`gdb -p PID", "py-spy"),
        ("`all_reduce_perf -g 8` prints nothing on 8 H100.", NCCL, "setup-hang", "`gdb -p PID", "py-spy"),
        ("2 x 4090, torch with NCCL: train.py waits.", TORCH, "setup-hang", "py-spy", "NCCL_P2P_DISABLE=1"),
        (
            "ncclUnhandledCudaError on an HGX H200",
            NCCL,
            "process-group-init-failure",
            "fabric manager",
            "",
        ),
        ("8 H200: CUDA error 802: system not yet initialized", TORCH, "native-crash", "fabric manager", "BLOCKING"),
        ("WorkNCCL(SeqNum=7, OpType=ALLREDUCE) ran into a timeout on 8 ranks", TORCH, "runtime-hang", "`SeqNum`", ""),
        ("torchfrtrace on the dumps of 8 ranks says rank 3", TORCH, "runtime-hang", "`torchfrtrace`", ""),
        ("ncclras lists 7 of 8 ranks", NCCL, "setup-hang", "`ncclras`", ""),
        ("ucx_perftest drops to 2 GB/s", UCX, "low-throughput", "UCX_PROTO_INFO", "torch"),
        ("all_reduce_perf is slow on 8 H100", NCCL, "low-throughput", "TUNING", "torch"),
        ("RayActorError: a worker of RLlib is lost.", RAY, "worker-loss", "/tmp/ray/session_latest/logs", "NCCL"),
        ("The placement group is pending.", RAY, "setup-hang", "`ray status`", "py-spy"),
        ("Loading extension module cpu_adam never ends.", DEEPSPEED, "setup-hang", "torch_extensions", ""),
        (
            "```\nRuntimeError: Error building extension 'cpu_adam'\n```",
            DEEPSPEED,
            "extension-build-failure",
            "torch_extensions",
            "",
        ),
        ("16 GiB reserved by PyTorch but unallocated on the GPU", DEEPSPEED, "device-out-of-memory", "reserved", ""),
        ("OOM on 8 H100 with train.py, ZeRO-3", DEEPSPEED, "device-out-of-memory", "every rank", "reserved"),
        ("with gradient_checkpointing it fails", DEEPSPEED, "gradient-computation-error", "checkpointing", ""),
        ("Can't pickle module objects", LIGHTNING, "launch-failure", "`pickle.dumps`", "hostname"),
        ("Illegal instruction (core dumped)", TORCH, "native-crash", "`lscpu`", "CUDA"),
        (
            "Expected all tensors to be on the same device: offload_param",
            DEEPSPEED,
            "device-assignment-error",
            "offload",
            "LOCAL_",
        ),
        ("world size 24 is not divisible", DEEPSPEED, "config-rejected", "Check the sums", ""),
        (
            '```json\n{"a": 1}\n```\n```\nValueError: no optimizer\n```',
            DEEPSPEED,
            "config-rejected",
            "after defaults",
            "world",
        ),
        ("It ends: received 0 items of ancdata in DataLoader", TORCH, "data-loading-failure", "ulimit -n", "record"),
        ("8 ranks: Connection closed by peer", TORCH, "network-connection-failure", "other rank's log", ""),
    ],
)
def test_a_check_fits_what_the_report_shows(text: str, identifier: str, symptom: str, part: str, not_part: str) -> None:
    given = checks(text, identifier, symptom=symptom, stage="training-evaluation")
    assert part in given
    assert not not_part or not re.search(not_part, given)


@pytest.mark.parametrize(
    ("text", "identifier", "symptom"),
    [
        ("It does not do it.", DEEPSPEED, "gradient-computation-error"),
        ("cannot import name 'LLM' from 'vllm' (unknown location)", VLLM, "import-failure"),
        ("WSL2: on a load, pinned memory of 74 MB fails in train.py; RAM is free", DEEPSPEED, "host-memory-exhaustion"),
        ("The plugin is refused.", "acme/editor#1", "native-crash"),
        ("2**31 bytes of a card: CUDA driver error: out of memory", TORCH, "native-crash"),
        ("`python3`: double free. Backtrace: libc.so.6(+0x777e5)", TORCH, "native-crash"),
        ("aio.cpp:223: Assertion `a == b' failed.", DEEPSPEED, "native-crash"),
        ("AssertionError: DDP is not needed when a module has no gradient.", TORCH, "gradient-computation-error"),
        ("Total heads (32) must be divisible by tensor parallel size (3)", VLLM, "config-rejected"),
        ("0.6.1: cannot import name 'A'; it first appears in 0.7.0", DEEPSPEED, "import-failure"),
        ("convert.py of megatron: Only llama v2 available", DEEPSPEED, "checkpoint-conversion-failure"),
        ("'ninja': No such file. Ninja is required to load C++ extensions.", TORCH, "extension-build-failure"),
        ("In training rollout/advantages_mean=nan at step 3", DEEPSPEED, "numerical-anomaly"),
        ("fatal error: stddef.h is wanted by NCCL 2.4.2 in docker", TORCH, "network-connection-failure"),
        ("llama 70B of 26 GiB: out of memory on 2 cards", "ggml-org/llama.cpp#1", "device-out-of-memory"),
        ("with FSDP: The size of tensor a (2) must match b (3)", TORCH, "tensor-mismatch"),
        (
            "OSError: sst of transformers cannot be loaded",
            "adapter-hub/adapter-transformers#1",
            "model-loading-failure",
        ),
        ("Objects of the store pile up.", "acme/store#1", "memory-growth"),
        ("ImportError: a.so: undefined symbol: __cudaRegisterLinkedBinary_7_a_cu_1", DEEPSPEED, "import-failure"),
        (
            "train.py hangs on 4 ranks. W stall_inspector.cc: tensors are waiting for remainder of ranks",
            "horovod/horovod#1",
            "runtime-hang",
        ),
    ],
)
def test_where_nothing_fits_nothing_is_said(text: str, identifier: str, symptom: str) -> None:
    assert checks(text, identifier, symptom=symptom) == ""


def test_a_link_that_breaks_in_a_run_has_its_interface() -> None:
    wrong = {"symptom": "collective-communication-error", "cause": "network-misconfiguration"}
    broken = "Two nodes, 16 ranks: NCCL WARN NET/IB : Got completion from peer with status=12 vendor err 129"
    assert "NCCL_IB_TIMEOUT" in (given := checks(broken, NCCL, **wrong)) and "SOCKET_IFNAME" not in given
    unreachable = "Two nodes, 16 ranks: NCCL WARN Bootstrap : no socket interface found"
    assert "SOCKET_IFNAME" in checks(unreachable, NCCL, cause="network-misconfiguration")


@pytest.mark.parametrize(
    ("text", "identifier", "symptom", "facts"),
    [
        ("8 张卡，只有一张卡在跑: MEMBER: 1/1", LIGHTNING, "setup-hang", "error"),
        ("The job was deleted without any warning or error message.", DEEPSPEED, "worker-loss", "error"),
        ("After a failed worker is restarted, the progress is lost.", TORCH, "checkpoint-save-resume-failure", "error"),
        ("It fails with Ray 2.5x and torch 2.x.", RAY, "runtime-hang", "framework_version"),
        ("The period is off by one error, on the GPU.", LIGHTNING, "checkpoint-save-resume-failure", "error"),
        ("It stops unexpectedly, without a warning.", DEEPSPEED, "runtime-hang", "error"),
        ("In the latest codebase it fails.", TORCH, "model-loading-failure", "torch"),
        ("It fails. Python 3.11, main", DEEPSPEED, "api-exception", "framework_version"),
        ("The plain Trainer (v2.4) hangs.", LIGHTNING, "runtime-hang", "framework_version"),
        ("It fails in the latest docker image.", VLLM, "launch-failure", "framework_version"),
        ("升级到最新版，启动报错", VLLM, "launch-failure", "framework_version"),
        ("version==0.5.1 fails.", VLLM, "launch-failure", "framework_version"),
        ("It fails on branch `oss`.", DEEPSPEED, "api-exception", "framework_version"),
        ("It waits for a placement group to be scheduled.", RAY, "setup-hang", "error"),
        ("On the card: /usr/bin/ld: cannot find -lcurand", DEEPSPEED, "extension-build-failure", "framework_version"),
        ("With 0.8.0 it fails, 0.7.5 was fine.", LIGHTNING, "api-exception", "framework_version"),
        ("NCCL WARN Cuda failure 'device-side assert triggered'", NCCL, "collective-communication-error", "nccl"),
        ("[Errno 13] Permission denied: '/root/.triton'", DEEPSPEED, "api-exception", "error"),
        ("PyTorch version: 4edc8273eb223785929c0017caf15c101964d480. It fails.", TORCH, "api-exception", "torch"),
        ("I cloned the most recent repository today.", DEEPSPEED, "incorrect-output", "framework_version"),
        ("nccl-tests hangs on the same cards.", TORCH, "setup-hang", "torch"),
        (
            "Two layers are gone without a word; an assertion should say so.",
            DEEPSPEED,
            "model-partition-failure",
            "error",
        ),
        ("Expected is that `x` will store an exception.", RAY, "worker-loss", "error"),
        ("C:\\jenkins_slave\\ut-python-gpu: test suite ends", TORCH, "api-exception", "torch"),
        ("/root/.cache/torch_extensions: GLIBC_2.29 not found", DEEPSPEED, "import-failure", "error"),
        ("Since the update from 0.9 to 0.10 it fails.", DEEPSPEED, "runtime-hang", "framework_version"),
        ("In the deepspeed image with 0.9 it fails.", DEEPSPEED, "runtime-hang", "framework_version"),
        ("It fails. Versions:\nmain, April 2026", TORCH, "runtime-hang", "torch"),
        ("We saw a memory error and recorded the RAM.", HOROVOD, "host-memory-exhaustion", "error"),
        ("It crashes, see https://gist.github.com/a/1", TORCH, "device-out-of-memory", "error"),
        ("`fit` raises this error:\nExpected 3 dimensions", TORCH, "tensor-mismatch", "error"),
    ],
)
def test_nothing_is_asked_for_that_decides_nothing(text: str, identifier: str, symptom: str, facts: str) -> None:
    known = read(IssueReport("It does not do what it should", text, identifier))
    shown = "shows-error" in known.situation.seen
    questions = asked(text, identifier, symptom=symptom, stage="training-evaluation", has_error=shown)
    assert questions.keys().isdisjoint(facts.split())


def test_a_wrong_answer_of_a_server_may_have_the_right_tokens() -> None:
    wrong = {"symptom": "incorrect-output", "stage": "inference"}
    assert "without parsers" in checks("", VLLM, title="finish_reason is always null", **wrong)
    assert "without parsers" in checks("", VLLM, title="Streaming tool calls are cut off", distributed="false", **wrong)
    assert "quantization" in checks('{"finish_reason": "stop"}', VLLM, title="Garbage from a 70B model", **wrong)
    for title in ("Upstream merge gives wrong tokens", "Garbage on the second CUDA stream", "Garbage with num_streams"):
        assert "quantization" in checks("", VLLM, title=title, **wrong), title


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
        ("undefined symbol: _ZN3c10", DEEPSPEED, "import-failure", ""),
        ("Built from commit 4cf885f, it ends", HOROVOD, "native-crash", "-"),
        ("Running #5832 (97311342)\nIt ends", "ggml-org/llama.cpp#1", "device-out-of-memory", "-"),
        ("beta6, it grows", "eclipse/deeplearning4j#1", "memory-growth", "-"),
        ("It ends since I pulled master", HOROVOD, "native-crash", "-"),
        ("import torch ends", DEEPSPEED, "import-failure", ""),
        ("gcc stops at torch.h", DEEPSPEED, "install-failure", ""),
        ("Tasks of 2 GPUs and of 16 CPUs wait alike", RAY, "low-throughput", ""),
        ("The RDNA3 card with ROCm 6.1 stops", VLLM, "extension-build-failure", ""),
        (
            "[my_env.txt](https://github.com/user-attachments/files/1/my_env.txt) CUDA",
            VLLM,
            "extension-build-failure",
            "-",
        ),
        (
            "[envoy-proxy.log](https://github.com/user-attachments/files/3/envoy-proxy.log) CUDA",
            VLLM,
            "extension-build-failure",
            "",
        ),
        (
            "[environment.png](https://github.com/user-attachments/files/3/environment.png) CUDA",
            VLLM,
            "extension-build-failure",
            "",
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
def test_who_says_what_is_wrong_is_asked_for_nothing(text: str) -> None:
    assert asked(text, DEEPSPEED, symptom="runtime-hang").keys() == set()
    waits = text.split(".")[0].split(":")[0]
    assert {"error", "framework_version"} <= asked(waits, DEEPSPEED, symptom="runtime-hang").keys()


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
    assert {"error", "framework_version"} <= asked(waits, DEEPSPEED, symptom="runtime-hang").keys()


def test_a_likely_symptom_tells_what_happens() -> None:
    assert asked("Please help", HOROVOD, thin=True)["error"].startswith("What happens?")
    error = asked("Please help", HOROVOD, thin=True, symptom="native-crash")["error"]
    assert error == "What is the complete error message or traceback?"


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
