"""What is seen in a report; made-up ones, one or two for each need that a check declares."""

from __future__ import annotations

import time
from functools import cache

import pytest

from distriage.answer.playbooks.books import AXES, pair, playbook_of
from distriage.base.types import IssueReport
from distriage.facts.environment import EnvironmentFacts
from distriage.facts.needs import seen_in, words_of_needs
from distriage.model.taxonomy import default_taxonomy
from distriage.reading.purpose import explains, tells_no_failure
from distriage.reading.report import read
from distriage.segments import split

TAXONOMY = default_taxonomy()
DEEPSPEED, NCCL, RAY, VLLM, UCX = (
    "deepspeedai/DeepSpeed#1",
    "NVIDIA/nccl#1",
    "ray-project/ray#1",
    "vllm-project/vllm#1",
    "openucx/ucx#1",
)
TRACEBACK = 'Traceback (most recent call last):\n  File "/w/train.py", line 3, in main\n    f()\nKeyError: 1'
# Need -> a report that shows it; the ones of a tracker have its name before a bar.
SHOWN = {
    "python": "train.py stops|The step fails",
    "python-shown": "train.py stops|The step fails",
    "native": f"{NCCL}|all_reduce_perf stops|`./build/all_reduce_perf -g 8` prints nothing",
    "several": "8 ranks wait|On 8 ranks it waits",
    "nodes": "It waits|Two nodes with 8 H100 each",
    "gpu": "It waits|8 H100, CUDA 12.8",
    "nvidia": "It waits|8 H100, CUDA 12.8",
    "npu": "It waits|Ascend 910B with torch_npu",
    "hpu": "It waits|8 Gaudi2 with SynapseAI 1.18",
    "nccl": "It waits|8 H100 with torch 2.9 and NCCL",
    "torch": f"{DEEPSPEED}|It waits|At step 3",
    "process-group": f"{DEEPSPEED}|It waits|At step 3 of 8 ranks",
    "ray": f"{RAY}|It waits|The raylet is gone",
    "error": f"It fails|```\n{TRACEBACK}\n```",
    "traceback": f"It fails|```\n{TRACEBACK}\n```",
    "own-frame": f"It fails|```\n{TRACEBACK}\n```",
    "child-failed": "It fails|```\ntorch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n```",
    "answer-format": f"{VLLM}|Streaming tool calls are cut off|It fails",
    "collective": "It waits|in all_reduce",
    "activation-checkpointing": "It fails|with gradient_checkpointing",
    "compile": "It fails|with torch.compile",
    "capture": "It fails|while a CUDA graph is recorded",
    "offload": "It fails|with offload_param",
    "sharded": "It fails|with FSDP",
    "custom-all-reduce": "It fails|in the custom all-reduce",
    "chat": "It fails|with this chat template",
    "container": "It fails|in Docker",
    "operator": "It fails|kubectl logs shows it",
    "horovod": "It fails|horovodrun -np 2",
    "ucx": f"{UCX}|tag_bw drops|ucx_perftest gives 2 GB/s",
    "nccl-tests": f"{NCCL}|It fails|all_reduce_perf -g 8",
    "nccl-log": "It fails|NCCL WARN Call to ibv_modify_qp failed",
    "nccl-ras": "It waits|ncclras says that rank 3 is behind",
    "nccl-variables": "It fails|with NCCL_P2P_LEVEL=SYS",
    "flight-recorder": "It waits|torchfrtrace says",
    "nvswitch": "It fails|on an HGX H200",
    "not-initialized": "It fails|CUDA error 802: system not yet initialized",
    "network-disk": "It fails|on NFS",
    "pickling": "It fails|Can't pickle module objects",
    "unscheduled": "It waits|FailedScheduling: 6 Insufficient nvidia.com/gpu",
    "nccl-said": "It fails|NCCL WARN Bootstrap",
    "saves": "It fails|in save_checkpoint",
    "descriptors": "It fails|received 0 items of ancdata",
    "ib-completion": "It fails|Got completion with status=12, vendor err 129",
    "socket-error": "It fails|Bootstrap: no socket interface found",
    "ray-objects": f"{RAY}|It grows|The object store fills",
    "pending": f"{RAY}|It waits|The placement group is pending",
    "peer-closed": "It fails|Connection closed by peer",
    "connection": "It fails|Connection refused",
    "sequence-numbers": "It waits|WorkNCCL(SeqNum=7, OpType=ALLREDUCE)",
    "timeout": "It fails|after the timeout",
    "segfault": "It fails|Segmentation fault (core dumped)",
    "abort": "It fails|terminate called after throwing",
    "illegal-instruction": "It fails|Illegal instruction (core dumped)",
    "kernel-fault": "It fails|an illegal memory access was encountered",
    "reserved": "It fails|2 GiB is reserved by PyTorch but unallocated",
    "other-process": "It fails|Memory is held by another process",
    "memory": "It fails|out of memory",
    "disk": "It fails|No space left on device",
    "shm": "It fails|df -h /dev/shm",
    "killed": "It fails|exitcode: -9",
    "in-place": "It fails|modified by an inplace operation",
    "slow": "It is slow|half the throughput",
    "wrong-values": "It is wrong|they differ",
    "idle": "It fails|one card is idle",
    "isolated-build": "It fails|Getting requirements to build wheel ... error",
    "no-wheel": "It fails|No matching distribution found for x",
    "resolver": "It fails|ResolutionImpossible",
    "missing-header": "It fails|fatal error: mpi.h: No such file or directory",
    "undefined-symbol": "It fails|undefined symbol: _ZN3c10",
    "no-module": "It fails|No module named 'x'",
    "not-found": "It fails|No such file or directory",
    "build-log": "It fails|g++ ends in an error",
    "no-kernel": "It fails|no kernel image is available",
    "stack-error": "It fails|CUDA driver version is insufficient",
    "not-loadable": "It fails|Model architectures are not supported",
    "config": "It fails|```yaml\nstage: 3\noffload: true\n```",
    "ranks": "8 ranks wait|On 8 ranks it waits",
    "pair": "It fails|torch 2.7.0 works, with torch 2.8.0 it fails",
    "hangs": "It fails|Then it is stuck",
    "underway": "It fails|After 400 steps it waits",
    "renamed": "It fails|got an unexpected keyword argument",
    "loader": "It fails|DataLoader worker (pid 7) is gone",
    "sampler": "It fails|with this sampler",
    "hf": "It fails|from_pretrained()",
    "half": "It fails|in fp16",
    "quantized": "It fails|with AWQ",
    "launched": "It fails|torchrun x.py",
    "paths": "It fails|CUDA_HOME points elsewhere",
    "nccl-seen": "It fails|NCCL says so",
    "gpu-memory": "It fails|the VRAM fills",
    "ram": "It fails|the RSS grows",
    "loads": "It fails|while loading the model",
    "nccl-error": "It fails|ncclSystemError",
    "fabric": "It fails|the fabric manager runs",
    "loopback": "It fails|it connects to 127.0.1.1",
    "rendezvous": "It fails|in init_process_group",
    "refused": "It fails|Connection refused",
    "master-addr": "It fails|MASTER_ADDR=10.0.0.1",
    "proxy": "It fails|behind a proxy",
    "ib-error": "It fails|ibv_reg_mr",
    "actor-died": "It fails|RayActorError",
    "ray-start": "It fails|ray start --head",
    "two-devices": "It fails|Expected all tensors to be on the same device",
    "divides": "It fails|world size is not divisible by 3",
    "unknown-option": "It fails|unrecognized arguments: --a",
    "slots": "It fails|There are not enough slots available",
    "wants-release": "It fails|Trainer requires accelerate>=1.1",
    "size-mismatch": "It fails|size mismatch for lm_head.weight: copying a param",
    "nvcc-fails": "It fails|nvcc fatal: Unsupported gpu architecture",
    "keys-differ": "It fails|Missing key(s) in state_dict",
    "index-range": "It fails|device-side assert triggered",
    "nonetype": "It fails|'NoneType' object has no attribute 'x'",
    "trains-on": "It fails|at step 3",
    "not-finite": "It fails|the loss is NaN",
    "garbage": "It fails|it says gibberish",
    "devices-differ": "It fails|on one GPU it is right",
    "replicas-differ": "It fails|weights differ",
    "card-fault": "It fails|Xid 79",
    "option": "It fails|the option has no effect",
    "not-built": "It fails|NCCL is not built in",
    "extension-load": "It fails|Loading extension module cpu_adam",
    "ninja": "It fails|in setup.py",
    "trains": "It fails|in training",
    "old-recorder": "It waits|torch 2.6.0",
    "broken-file": "It fails|HeaderTooLarge",
    "serves-alone": f"{VLLM}|It fails|The answer is empty",
}
OF_QUESTIONS = {  # alone; as `SHOWN`
    "shows-error": "It fails|Check failed: a",
    "awaits-place": "It waits|No available node type can fulfill it",
    "remedy": "It fails|Please install ninja",
    "alone": "It fails|All processes registered. MEMBER: 1/1",
    "ends-itself": "It ends|After an hour it exits",
    "build-failed": "It fails|ninja: build stopped: subcommand failed.",
    "link-fails": "It fails|/usr/bin/ld: cannot find -lcurand",
    "hypothetical": "Workers may overwrite each other|In the cache",
    "alien-process": "It waits|kubectl logs shows nothing",
    "store-barrier": "It waits|Waiting in store based barrier",
}
SHOWN |= OF_QUESTIONS
FROM_LABELS = {"serving", "training", "server"}  # of the verdict
# Needs that a report meets unless it has done, or excludes, a thing -> one that has.
UNMET = {
    "needs-output": f"It fails|```\n{TRACEBACK}\n```",
    "recent-torch": "It fails|torch 1.13.1",
    "recorder": "It waits|torch 2.6.0",
    "toolkit-unknown": "It fails|CUDA 12.8, driver 570.86.10",
    "no-hang": "It hangs|for ever",
    "no-stacks": "It waits|py-spy shows",
    "no-store": "It waits|Waiting in store based barrier",
    "no-nccl-debug": "It waits|NCCL INFO Bootstrap",
    "no-backtrace": "It fails|Backtrace: libc.so.6(+0x777e5)",
    "not-looked-up": "It fails|That class first appears in 0.7.0",
    "values-unshown": "It fails|32 heads must be divisible by 3",
    "tools-found": "It fails|Ninja is required",
    "ram-unmeasured": "It fails|I recorded the RAM",
    "kernel-kills": "It fails|Killed by the memory monitor of Ray",
    "not-stage-2": "It fails|OOM with ZeRO-2",
    "ran-well": "It fails|The loss is NaN from the beginning",
    "pod-unread": "It ends|The pod was OOMKilled",
    "of-the-model": "It fails|advantages_mean=nan",
    "no-profile": "It is slow|The profile shows",
    "unreached": "It fails|By plain TCP the nodes reach each other",
    "one-rank-shown": "It waits|[Rank 0] Watchdog: WorkNCCL(SeqNum=7)\n[Rank 1] Watchdog: WorkNCCL(SeqNum=7)",
    "interface-unset": "It waits|NCCL_SOCKET_IFNAME=eth0",
    "transport-unnamed": "It is slow|NCCL takes NET/Socket",
    "reentrant-untried": "It fails|With use_reentrant=False it fails, too",
    "card-unread": "It fails|Xid 79 in dmesg",
    "shm-unread": "It fails|docker run --shm-size 8g",
    "store-unread": "It fails|ray memory lists 40 GB",
    "sync-untried": "It fails|also with CUDA_LAUNCH_BLOCKING=1",
    "own-process": "It waits|kubectl logs shows nothing",
    "compiler-silent": "It fails|a.cu(3): error: b",
}


def needs_of_labels() -> set[str]:
    labels = [label for axis in TAXONOMY.axes.values() for label in axis.labels]
    return {need for label in labels for need in (*label.shown_by, *label.excluded_by)}


def needs_of_checks() -> set[str]:
    books = [playbook_of(TAXONOMY, axis, label) for axis in AXES for label in TAXONOMY.axes[axis].label_ids]
    axes = TAXONOMY.axes
    pairs = [pair(symptom, cause) for symptom in axes["symptom"].label_ids for cause in axes["cause"].label_ids]
    checks = [check for book in books if book for check in book.checks] + [check for one in pairs for check in one]
    assert all(check.needs for check in checks), "a check that needs nothing fits nothing"
    return {need for check in checks for need in check.needs}


@cache
def seen(text: str) -> frozenset[str]:
    *tracker, title, body = text.split("|")
    return read(IssueReport(title, body, "".join(tracker))).situation.seen


def test_every_need_is_known_and_every_known_one_is_needed() -> None:
    known = SHOWN.keys() | UNMET.keys()
    needed = (needs_of_checks() - FROM_LABELS) | needs_of_labels()
    assert (needed | words_of_needs().keys()) - known == set(), "misspelt, or it has no example in SHOWN or UNMET"
    assert known - needed - OF_QUESTIONS.keys() == {"trains"}, "no check or label needs it"  # `training` needs this one


@pytest.mark.parametrize("need", SHOWN)
def test_a_need_is_seen_where_the_report_shows_it_and_nowhere_else(need: str) -> None:
    assert need in seen(SHOWN[need])
    others = [other for other, text in SHOWN.items() if need not in seen(text)]
    assert len(others) > 5, "all reports show it"


@pytest.mark.parametrize("need", UNMET)
def test_a_thing_done_or_excluded_already_is_not_wanted_again(need: str) -> None:
    assert need not in seen(UNMET[need])
    assert need in seen("It fails|On a card")


@pytest.mark.parametrize(
    ("text", "absent"),
    [
        ("torch.compile breaks FSDP|Eager works.", "compile"),
        ("Error detected in MulBackward0|one of the variables was modified by an inplace operation", "in-place"),
        ("It fails|torch 2.8.0 works, with torch 2.7.0 it fails", "pair"),
        ("It waits|torchrun --nproc_per_node 2 train.py, CPU only, gloo", "gpu nvidia nccl"),
        ("It ends|torch 1.3.1+cpu", "gpu nvidia nccl"),
        (f"{RAY}|It ends|The raylet is gone", "gpu nccl process-group several nodes"),
        ("horovod/horovod#1|It ends|In hvd.init()", "gpu nccl process-group"),
        (f"{NCCL}|It waits|all_reduce_perf -g 8", "python torch process-group"),
        (f"{UCX}|It drops|ucx_perftest -t tag_bw between two hosts", "python torch nccl nccl-tests"),
        ("Conv2d is wrong|On one H100", "several nccl nodes"),
        ("It ends|CUDA error: an illegal instruction was encountered", "illegal-instruction"),
        ("It ends|CUDA driver error: out of memory", "reserved kernel-fault"),
        (
            "It ends|(24.0 GiB total; 5.98 GiB already allocated; 0.9 GiB free; 6.1 GiB reserved in total by PyTorch)",
            "reserved",
        ),
        ('It ends|File "/usr/lib/python3/site-packages/torch/nn.py", line 3, in f\nKeyError: 1', "own-frame"),
        ('It ends|File "/w/deepspeed/runtime/engine.py", line 3, in f\nKeyError: 1', "own-frame"),
        ('acme/flock#1|It ends|File "/w/flock/engine.py", line 3, in f\nKeyError: 1', "own-frame"),
        ("It waits|Stack trace not found, potentially because FlightRecorder is disabled", "flight-recorder"),
        ("It ends|[pip3] horovod==0.28\n[pip3] transformers==5.2", "horovod"),
        (f"{DEEPSPEED}|It uses one card|8 cards, but MEMBER: 1/1, with 1 processes", "several ranks nccl"),
        ("只有一张卡在跑|8 卡机器", "hangs"),
        ("eclipse/deeplearning4j#1|It grows|Outside of the heap of the Java process", "python"),
        ("tensorflow/tensorflow#1|It fails|MirroredStrategy over 8 GPUs, one NCCL WARN", "ranks"),
        ("It fails|size mismatch for lm_head.weight: copying a param, torch.Size([0])", "size-mismatch"),
        ("It fails|bin/nvcc: the detected CUDA version mismatches the version of PyTorch", "nvcc-fails tools-found"),
        ("It ends|Killed. slurmstepd: Detected 1 oom-kill event", "kernel-kills"),
        (f"{NCCL}|It ends|NET/IB: Got completion, vendor err 129. Socket fallback is off.", "socket-error"),
        (f"{RAY}|It grows|A new cluster, nothing deployed, no objects", "ray-objects"),
        ("ggml-org/llama.cpp#1|It ends|Segmentation fault", "python"),
        (f"{VLLM}|It grows|CPU memory, as nvidia-smi is flat", "gpu-memory"),
        ("eclipse/deeplearning4j#1|It grows|Arrays of ND4J pile up", "python own-process"),
        (f"{RAY}|It ends|It uses a placement group.", "awaits-place"),
        ("It ends|connect /usr/local/bin/hydra_bstrap_proxy --rmk user --launcher ssh", "proxy"),
        ("It waits|mpirun -np 2 -x NCCL_DEBUG=INFO ./train over two nodes", "no-nccl-debug"),
        ("Job could not go on, it hangs|After an hour", "hypothetical"),
        ("The hang can be seen on two nodes|After an hour", "hypothetical"),
        (f"{VLLM}|Garbage from a 70B model|It ends", "answer-format"),
        ("It waits|FailedScheduling: 6 Insufficient nvidia.com/gpu. Successfully assigned ml/w-0", "unscheduled"),
    ],
)
def test_what_is_not_there_is_not_seen(text: str, absent: str) -> None:
    assert set(absent.split()) & seen(text) == set()


@pytest.mark.parametrize(
    "piece",
    [
        *(
            'file "',
            ".py:1: a",
            ".py:1: in" + "a" * 60,
            "\n\tat",
            "#1 ",
            "can not be ",
            "on main ",
            "c++ ",
            "libtorch.",
        ),
        *("parallel ", "n = ", "on main branch not ", "[ci", "version: ", "version a: ", "should probably ", "fix "),
        *("root cause is n", "`a_b(", "a.py ", "::", "[a] ", "![a](", "<img ", "https://a.", "rank ", "tp = ", "a: "),
    ],
)
def test_hostile_text_takes_linear_time(piece: str) -> None:
    text = piece * (65_536 // len(piece))  # as much as GitHub stores
    for title, body in (("x", text), (text, "x")):
        segments = split(title, body)
        start = time.process_time()
        seen_in(EnvironmentFacts("Ray"), segments, "nvidia", None, frozenset(), no_device=False)
        explains(segments)
        tells_no_failure(segments)
        assert time.process_time() - start < 0.3
