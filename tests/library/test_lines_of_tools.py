"""Lines of forms, listings and healthy runs are told from those of reporters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distriage.segments.forms import known_forms
from distriage.segments.listings import is_listed
from distriage.segments.roles import vocabulary
from distriage.segments.types import Role


def is_template_line(line: str) -> bool:
    return known_forms().read(line) is not None


def is_notice(line: str) -> bool:
    return vocabulary().role(line) is Role.NOTICE


@pytest.mark.parametrize(
    "line",
    [
        "### Describe the bug",
        "**To Reproduce**",
        "## 🐛 Bug Description",
        "#### Expected behavior:",
        "Steps to reproduce the behavior:",
        "A clear and concise description of what the bug is.",
        "- [x] I have searched the existing issues",
        "- [ ] No",
        "_No response_",
        "N/A",
        "None",
        "Please provide the output of ds_report.",
        "If applicable, add screenshots to help explain your problem.",
        "Add any other context about the problem here.",
        "wget https://raw.githubusercontent.com/pytorch/pytorch/main/torch/utils/collect_env.py",
        "### Reproduction (REQUIRED)",
        "4. Did you check if you question is answered in the troubleshooting guide?",
        "- If we cannot run your script, we cannot fix your issue.",
        '**TF 1.0: `python -c "import tensorflow as tf; print(tf.GIT_VERSION)"`**',
        "(Paste the commands you ran that produced the error.)",
        "### What's your difficulty of supporting the model you want?",
        "Please reproduce using the BoringModel and post here",
    ],
)
def test_template_text_is_recognised(line: str) -> None:
    assert is_template_line(line)


@pytest.mark.parametrize(
    "line",
    [
        "The bug shows only with ZeRO-3.",
        "Describe the bug in stage 3: it hangs",
        "none of the ranks respond",
        "RuntimeError: Expected behavior not implemented",
        "错误",
        "[rank0]: hang",
        "Paste the log below: the ranks part at step 3",
        "Did you read my last comment?",
        "If we run the script on one GPU, it works",
        "logs are attached, see below",
        "",
    ],
)
def test_what_a_reporter_says_is_no_template(line: str) -> None:
    assert not is_template_line(line)


def test_a_long_line_is_no_template() -> None:
    assert is_template_line("- [x] " + "a" * 290)
    assert not is_template_line("- [x] " + "a" * 300)


@pytest.mark.parametrize(
    "line",
    [
        "- OS: Ubuntu 20.04",
        "* Python version: 3.10.12",
        "PyTorch version: 2.1.2+cu121",
        "CUDA used to build PyTorch: 12.1",
        "Is debug build: False",
        "Nvidia driver version: 535.129.03",
        "GPU 0: NVIDIA A100-SXM4-80GB",
        "[pip3] numpy==1.26.3",
        "[conda] Could not collect",
        "torch==2.1.2",
        "deepspeed                 0.12.6                   pypi_0    pypi",
        "async_io ............... [NO] ....... [NO]",
        "torch version .................... 2.0.1+cu118",
        "| N/A   32C    P0    62W / 400W |      0MiB / 81920MiB |      0%      Default |",
        "GPU0\t X \tNV12\tNV12\t0-31",
        "  X    = Self",
        "/usr/lib/x86_64-linux-gnu/libcudnn.so.8.9.7",
        "LD_LIBRARY_PATH=/usr/local/cuda/lib64",
        "Model name:                         AMD EPYC 7763 64-Core Processor",
        "Vulnerability Spectre v2: Mitigation; Retpolines",
        "OS：Ubuntu 22.04",
        "op name ... installed .. compatible",
        "- tensorflow=2.1.0=mkl_py36h23468d9_0",
        "Collecting environment information...",
        "Your output of `python collect_env.py` here",
        "Versions of relevant libraries:",
        "Flags: " + "fpu vme de pse " * 25,
        "标记： fpu vme de pse",
        "NUMA node0 CPU(s): " + "0,2," * 90,
        "Vulnerability Mmio stale data: Vulnerable: Clear CPU buffers attempted, no microcode; SMT vulnerable "
        + "x" * 90,
        "BIOS Model name: Intel(R) Xeon(R) Platinum 8480+",
        "GPU0 CPU Affinity NUMA Affinity GPU NUMA ID",
        "/opt/cuda/lib64/libcudnn.so.9 <-- This is the one used",
        "tokenizers: 0.19.1",
        "pytorch=1.6.0,",
        "transformers==4.31.0,",
    ],
)
def test_an_entry_of_an_environment_listing_is_recognised(line: str) -> None:
    assert is_listed(line.strip())


@pytest.mark.parametrize(
    "line",
    [
        "CUDA: version mismatch, 11.8 against 12.1",
        "- GPU: not supported by this build",
        "driver: too old for CUDA 12",
        "The OS is Ubuntu",
        "RuntimeError: CUDA error: out of memory",
        "engine = deepspeed.initialize(model)",
        "I use torch 2.1 with CUDA 12 and it hangs",
        "loss: 3.2",
        "",
        "OS: " + "x" * 161,
    ],
)
def test_what_may_say_something_about_the_failure_stays(line: str) -> None:
    assert not is_listed(line)


@pytest.mark.parametrize(
    "line",
    [
        "model = deepspeed.initialize(model)",
        "model = ...",
        'model="Qwen/Qwen2-72B-Instruct",',
        "gpu = int(os.environ['LOCAL_RANK'])",
        "gpus=4,",
        "datasets = [load(path) for path in paths]",
        "GPU: hangs at 100 % after an hour",
        "NCCL version: 2.18, stuck in all_reduce",
        "Hmm ... [no idea]",
    ],
)
def test_code_and_complaints_that_start_like_an_entry_stay(line: str) -> None:
    assert not is_listed(line)


def test_a_long_line_is_kept() -> None:
    assert not is_listed("OS: " + "fpu vme de pse " * 60)


@pytest.mark.parametrize(
    "line",
    [
        "I tensorflow/core/platform/cpu_feature_guard.cc:142] Your CPU supports instructions",
        'INFO: 10.0.0.1:40106 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
        "CUDA kernel errors might be asynchronously reported at some other API call",
    ],
)
def test_a_notice_of_healthy_runs_is_recognised(line: str) -> None:
    assert is_notice(line)


def test_an_error_is_no_notice() -> None:
    assert not is_notice('10.0.0.1:40106 - "POST /v1/chat/completions HTTP/1.1" 500 Internal Server Error')


@given(st.text(max_size=400))
def test_any_line_gets_an_answer(line: str) -> None:
    assert {is_template_line(line), is_listed(line)} <= {True, False}
