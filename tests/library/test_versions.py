"""The framework that a report is about, and the versions that it names."""

from __future__ import annotations

import pytest

from distriage.base.types import IssueReport
from distriage.facts.environment import find_facts
from distriage.facts.projects import projects
from distriage.reading.report import read


@pytest.mark.parametrize("name", list(projects().names))
def test_every_framework_is_known_with_its_version(name: str) -> None:
    facts = find_facts("", f"It fails with {name} 1.2.3")
    assert (facts.framework, facts.framework_version) == (projects().names[name], "1.2.3")


@pytest.mark.parametrize(
    ("title", "body", "framework", "version"),
    [
        ("Megatron-LM with DeepSpeed", "DeepSpeed 0.14 hangs", "Megatron-LM", None),
        ("[vLLM] hang", "", "vLLM", None),
        ("It hangs", "Ray 2.9 with vLLM 0.8.5, and vLLM alone", "vLLM", "0.8.5"),
        ("[Bug]: vLLM 0.8.5 crashes with Ray", 'File "/dist-packages/ray/_private/worker.py"\n' * 4, "vLLM", "0.8.5"),
        ("It hangs", "DeepSpeed 0.15\n" + 'File "/site-packages/accelerate/x.py"\n' * 4, "DeepSpeed", "0.15"),
        ("It hangs", 'File "C:\\site-packages\\accelerate\\x.py"', "Accelerate", None),
        ("It hangs", 'File "/site-packages/ray/_private/worker.py"', "Ray", None),
        (
            "It hangs",
            "We use DDP to accelerate training; it should accelerate it, but cannot accelerate",
            "PyTorch DDP",
            None,
        ),
        ("It hangs", "Why does accelerate 0.33 hang", "Accelerate", "0.33"),
        ("It hangs", "I had to accelerate launch it", "Accelerate", None),
        ("DDP hangs", "Lightning 2.1, strategy ddp, ddp and ddp", "Lightning", "2.1"),
        ("FSDP hangs", "DeepSpeed 0.14 does not, commit 3c1f2b0a", "PyTorch FSDP", None),
        ("FSDP hangs, DeepSpeed does not", "DeepSpeed 0.14", "PyTorch FSDP", None),
        ("Lightning with DDP hangs", "DDP, DDP", "Lightning", None),
        ("FSDP2 diverges", "fsdp1 does not", "PyTorch FSDP", None),
        ("verl 0.3 loses lm_head", "verl==0.3.0.post1, vllm==0.8.3", "verl", "0.3"),
        ("[TRL] weights are not updated", "trl vllm-serve, vllm 0.8.3, trl 0.17.0", "TRL", "0.17.0"),
        ("HCCL error", "vllm-ascend 0.9.1rc1, vllm 0.9.1, started by Ray; vllm-ascend", "vLLM Ascend", "0.9.1rc1"),
        ("It hangs", "With FSDP and FSDP; DeepSpeed 0.14 does not", "DeepSpeed", "0.14"),
    ],
)
def test_the_framework_is_the_first_of_the_title_else_what_is_named_most(
    title: str, body: str, framework: str, version: str | None
) -> None:
    facts = find_facts(title, body)
    assert (facts.framework, facts.framework_version) == (framework, version)


@pytest.mark.parametrize(
    ("identifier", "text", "framework", "version"),
    [
        ("sgl-project/sglang#1", "It hangs with sglang v.0.4.6", "SGLang", "0.4.6"),
        ("vllm-project/vllm#12", "Ray 2.9 and Ray again, vllm 0.8.5", "vLLM", "0.8.5"),
        ("Microsoft/DeepSpeed#12", "It hangs with accelerate 0.33", "DeepSpeed", None),
        ("uber/horovod#12", "It hangs with ray 2.9", "Horovod", None),
        ("deepspeedai/DeepSpeed#12", "accelerate 0.33, deepspeed 0.14.2", "DeepSpeed", "0.14.2"),
        ("pytorch/pytorch#12", "vLLM 0.8.5 hangs with torch 2.6.0", "PyTorch", "2.6.0"),
        ("pytorch/pytorch#12", "vLLM 0.8.5 hangs, and FSDP with torch 2.6.0", "PyTorch FSDP", None),
        ("someone/else#12", "accelerate 0.33", "else", None),
        (
            "tensorflow/tensorflow#12",
            "horovod 0.28 and TensorFlow version (use command below): 2.2.0",
            "TensorFlow",
            "2.2.0",
        ),
        ("tensorflow/tensorflow#12", "tensorflow-gpu==1.14.0", "TensorFlow", "1.14.0"),
        ("tensorflow/tensorflow#12", "1. TF 1.0: `x` 2. TF 2.0: `y`", "TensorFlow", None),
        ("tensorflow/tensorflow#12", "TF 1.13.1 says: x will not be included in TF 2.0", "TensorFlow", "1.13.1"),
        ("NVIDIA/NeMo#12", "Lightning 2.4, nvcr.io/nvidia/nemo:v1.0.0b2", "NeMo", "1.0.0b2"),
        ("horovod/horovod#12", "TensorFlow 2.2.0", "Horovod", None),
        ("Lightning-AI/pytorch-lightning#12", "pl version: 0.6.0", "Lightning", "0.6.0"),
        ("Lightning-AI/pytorch-lightning#12", "(I am using 0.7.5.)", "Lightning", "0.7.5"),
        (
            "Lightning-AI/pytorch-lightning#12",
            "In [3]: pytorch_lightning.__version__" + " " * 100 + "\nOut[3]: '0.7.5rc1'",
            "Lightning",
            "0.7.5rc1",
        ),
        ("Lightning-AI/pytorch-lightning#12", "pytorch-lightning 0.5.2.1", "Lightning", "0.5.2.1"),
        ("horovod/horovod#12", "Horovod version: b94d8b4", "Horovod", "commit b94d8b4"),
        ("horovod/horovod#12", "Horovod version: Tip of Master (b94d8b4)", "Horovod", "commit b94d8b4"),
        ("horovod/horovod#12", "Version: b94d8b4", "Horovod", "commit b94d8b4"),
        ("horovod/horovod#12", "the script's version b94d8b4", "Horovod", None),
        ("horovod/horovod#12", "Config:\nversion: 2e5a1b7", "Horovod", None),
        ("horovod/horovod#12", "### Environment\nVersion: b94d8b4", "Horovod", "commit b94d8b4"),
        ("horovod/horovod#12", "Horovod version: unknown", "Horovod", None),
        ("NVIDIA/NeMo#12", "Nemo Toolkit version 1.0.0b2", "NeMo", "1.0.0b2"),
        ("NVIDIA/NeMo#12", "Successfully installed nemo-toolkit-1.0.0b4", "NeMo", "1.0.0b4"),
        ("NVIDIA/NeMo#12", 'cloned from the latest "main" branch', "NeMo", "main"),
        ("vllm-project/vllm#12", "built at the tip of `main`.", "vLLM", "main"),
        ("ray-project/ray#12", "VERSION: 0.8.7 COMMIT: 56810e1", "Ray", "0.8.7"),
        ("pytorch/pytorch#12", "PyTorch Version (e.g., 1.0): both 1.0 and 1.1", "PyTorch", "1.0"),
        ("pytorch/pytorch#12", "It regressed between 0.4.1 and 1.0.", "PyTorch", "1.0"),
        ("pytorch/pytorch#12", "It takes between 0.4 and 1.0 s, from 10.0.0.1 to 10.0.0.2", "PyTorch", None),
        ("ray-project/ray#12", "I upgraded from 0.7.2 to 0.8.0 and it fails", "Ray", "0.8.0"),
        ("ray-project/ray#12", "Ray: latest master", "Ray", "master"),
        ("ray-project/ray#12", "the current Ray master (built from source)", "Ray", "master"),
        ("ray-project/ray#12", "- [x] I have verified that it occurs with the latest master.", "Ray", None),
        ("ray-project/ray#12", "the current main process", "Ray", None),
        ("ray-project/ray#12", "in the domain of the current run", "Ray", None),
        ("ray-project/ray#12", "https://x.y/latest/ray-0.9.0.dev0-cp37-cp37m-linux_x86_64.whl", "Ray", "0.9.0.dev0"),
        ("vllm-project/vllm#12", "export VLLM_VERSION=0.2.4", "vLLM", "0.2.4"),
        ("vllm-project/vllm#12", "cd vllm\ngit checkout -b 0.6.1 v0.6.1", "vLLM", "0.6.1"),
        ("vllm-project/vllm#12", "pip install vllm          3577.9s", "vLLM", None),
        ("pytorch/pytorch#12", "the pytorch's version is 0.3.1", "PyTorch", "0.3.1"),
        ("pytorch/pytorch#12", "I build the branch v0.2.0", "PyTorch", "0.2.0"),
        ("a/b#12", "I am using 0.7.5 of vLLM on the latest master", "vLLM", None),
        ("someone/vllm#12", "I am using 0.7.5", "vLLM", "0.7.5"),
        ("vllm-project/vllm", "the file of a report: accelerate 0.33", "Accelerate", "0.33"),
    ],
)
def test_a_frameworks_own_repository_tells_the_framework(
    identifier: str, text: str, framework: str, version: str | None
) -> None:
    facts = read(IssueReport("It fails", text, identifier)).facts
    assert (facts.framework, facts.framework_version) == (framework, version)


@pytest.mark.parametrize(
    ("title", "version"),
    [
        ("0.8.2 calls backward on an object", "0.8.2"),
        ("Not saved in 1.0.2", "1.0.2"),
        ("[dashboard] 0.8.6/0.9.0dev - it does not load", "0.8.6 or 0.9.0dev"),
        ("Fails with Python 3.8.1", None),
        ("Fails with numpy 1.26.4 and 127.0.0.1", None),
        ("Cannot connect to 10.0.0.1", None),
    ],
)
def test_in_a_frameworks_own_repository_a_version_of_the_title_needs_no_name(title: str, version: str | None) -> None:
    assert find_facts(title, "", "ray-project/ray#1").stated().get("framework_version") == version
    assert find_facts(f"{title} with ray", "", "a/b#1").framework_version is None


def test_a_framework_in_letters_that_only_case_folding_knows_is_read() -> None:
    assert find_facts("", "f\u017fdp hangs").framework == "PyTorch FSDP"


@pytest.mark.parametrize(
    ("text", "fact", "value"),
    [
        ("- PyTorch version (GPU?): 2.4.1+cu121 (True)", "torch", "2.4.1+cu121"),
        ("vllm/vllm-openai:v0.6.3", "framework_version", "0.6.3"),
        ("rayproject/ray:2.9.0-gpu", "framework_version", "2.9.0"),
        ("pytorch/pytorch:2.3.0-cuda12.1-cudnn8-devel", "torch", "2.3.0"),
        ("pytorch/pytorch:2.3.0-cuda12.1-cudnn8-devel", "cuda", "12.1"),
        ("vLLM API server version 0.6.3.post1", "framework_version", "0.6.3.post1"),
        ("RCCL 2.21.5", "nccl", "RCCL 2.21.5"),
        ("Megatron-LM, branch core_r0.9.0", "framework_version", "0.9.0"),
        ("Megatron-LM commit ID: 3c1f2b0a", "framework_version", "commit 3c1f2b0a"),
        ("Megatron hangs\n- commit 3c1f2b0a", "framework_version", "commit 3c1f2b0a"),
        ("Megatron hangs at line 3 of train.py, which is of that script's commit 3c1f2b0a", "framework_version", None),
        ("CUDA 12.1 on the old machine, here torch 2.7.1+cu128", "cuda", "12.8"),
        ("vLLM 0.1.dev7393+gb1c1fe3", "framework_version", "commit b1c1fe3"),
        ("After upgrading torch to 2.4.0 (from 2.2.2), the import fails", "torch", "2.4.0"),
        ("Since we upgraded PyTorch from 2.2 to 2.7.0 it hangs", "torch", "2.7.0"),
        ("Please upgrade torch to 2.4.0", "torch", None),
        ("PyTorch Version (e.g., 1.0): 1.3.1", "torch", "1.3.1"),
        ("PyTorch Lightning Version (e.g., 1.5.0): 2.1.0", "framework_version", "2.1.0"),
        ("Python version (e.g., 3.9): 3.10", "python", "3.10"),
        ("PyTorch nightly 2.7.0.dev20250210+cu126", "torch", "2.7.0.dev20250210+cu126"),
        ("lmsysorg/sglang:v0.4.6.post4-cu124", "framework_version", "0.4.6.post4"),
        ("lmsysorg/sglang:v0.4.6.post4-cu124", "cuda", "12.4"),
        ("sglang[all]==0.4.6", "framework_version", "0.4.6"),
        ("Downloading deepspeed-0.16.2.tar.gz", "framework_version", "0.16.2"),
        ("vllm: Initializing an LLM engine (v0.6.3.post1)", "framework_version", "0.6.3.post1"),
        ("vllm: Initializing a V1 LLM engine (v0.8.5) with config", "framework_version", "0.8.5"),
        ("lightning 2.4.0 / torch 2.4 / py3.10", "python", "3.10"),
        ("happy3.10", "python", None),
        ("驱动 535.129.03", "driver", "535.129.03"),
        ("显卡驱动版本：550.54.15", "driver", "550.54.15"),
        ("NVIDIA-SMI 535.129.03", "driver", "535.129.03"),
        ("NVIDIA-SMI 545.23.07   Driver Version: 545.84   CUDA Version: 12.3", "driver", "545.84"),
        ("HIP 6.3", "rocm", "6.3"),
        ("HIP 6.3, ROCm 6.3.1", "rocm", "6.3.1"),
        ("ship 6.3", "rocm", None),
        ("vLLM 0.1.dev1", "framework_version", None),
        ("torch 2.7.0 works fine, 2.8.0 hangs", "torch", "2.8.0"),
        ("torch 2.7.0 hangs, with 2.6.0 it works", "torch", "2.7.0"),
        ("It worked with torch 2.7.0. Since torch 2.8.0 it hangs", "torch", "2.8.0"),
        ("It no longer works with torch 2.8.0, it did in torch 2.7.0", "torch", "2.8.0"),
        ("torch 2.7.0 正常，torch 2.8.0 卡住", "torch", "2.8.0"),
        ("torch 2.7.0 works only on one GPU, torch 2.8.0 not at all", "torch", "2.7.0"),
        ("torch 2.7.0 works on one GPU", "torch", "2.7.0"),
        ("I can't get it to work with torch 2.4.0. Tried torch 2.3.1 too", "torch", "2.4.0"),
        ("It doesn’t work with torch 2.4.0, nor with 2.3.1", "torch", "2.4.0"),
        ("vLLM 0.8.5 works, but 0.1.dev7393 hangs", "framework_version", "0.8.5"),
        ("0.1.dev7393+gb1c1fe3 fails with torch+rocm6.2", "rocm", "6.2"),
        ("A100x8", "gpu_model", "A100"),
        ("sliding windows", "os", None),
        ("larger windows of 4096", "os", None),
        ("on windows", "os", "Windows"),
        ("在 windows 上", "os", "Windows"),
        ("windows 11", "os", "Windows 11"),
        ("Windows", "os", "Windows"),
    ],
)
def test_the_spellings_of_templates_and_images_are_read(text: str, fact: str, value: str | None) -> None:
    assert getattr(find_facts("", text), fact) == value
