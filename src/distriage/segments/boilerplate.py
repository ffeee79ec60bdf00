"""Lines of a report that say nothing about the failure: issue-template text, environment listings, notices. Pure.

They are removed before prediction; a model otherwise learns that a template, an operating system or a CPU means a label.
"""

from __future__ import annotations

import re

# Headings of the issue templates of the frameworks we serve, compared without mark-up, emoji and case.
_HEADINGS = frozenset(
    """
    actual behavior|additional context|additional information|additional notes|alternatives|anything else|api versions
    background|before submitting a new issue|bug|bug description|bug report|bug fix|checklist|checks|code|code sample
    code to reproduce|code to reproduce the issue|configuration|context|current behavior|current behaviour
    describe alternatives you've considered|describe the bug|describe the current behavior|describe the expected behavior|describe the feature
    describe the issue|describe the problem|describe the solution you'd like|description|desktop|docker context|ds_report output
    environment|environment info|error|error message|error messages|error messages and logs|error messages, stack traces, or logs|error msg
    expected behavior|expected behaviour|expected results|actual results|feature|feature request|full logs|how to reproduce|how would you like to use vllm
    information|info|is there an existing issue for this bug|is there an existing issue for this|issue type|launcher context|log|logs
    minimal example|minimum reproducible example|model input dumps|model to consider|more info|motivation|other|other info|other info / logs
    other information|output|performance issue|pitch|possible solution|problem|problem description|proposal|proposal to improve performance|question
    questions and help|related resources|relevant log output|report of performance regression|reproduce|reproducible script
    reproduction|reproduction script|screenshots|script|source code / logs|stack trace|stack trace/logs|standalone code to reproduce the issue
    steps to reproduce|steps to reproduce the behavior|suggested solution|summary|system info|system info output|system information|the bug
    the feature, motivation and pitch|the full error log|the model to consider|to reproduce|traceback|usage|versions|what did you expect to happen
    what happened|what happened + what you expected to happen|what is the problem|what version are you using|what's the difficulty of supporting the model you want
    who can help|your code|your current environment|your environment|your question|have you reproduced the bug with main branch
    how did you use it|question / feedback|proposed solution|proposed fix|release|hardware|software|version|versions / dependencies
    """.replace("\n", "|").split("|")
)
_HEADINGS = frozenset(h.strip() for h in _HEADINGS if h.strip())

_BOILERPLATE = re.compile(
    r"^(?:[-*] )?\[[ xX✓]?\] "  # checklists
    r"|^_?no response_?$|^none\.?$|^n/?a\.?$"
    r"|^a clear and concise description"
    r"|^please (?:make sure|provide|read|paste|search|fill|note that|copy and paste|reproduce using|use (?:this|english|the)|enter|follow|describe|see the)\b"
    r"|^steps to reproduce the behaviou?r"
    r"|^if applicable, (?:add|please)"
    r"|^add any other context"
    r"|^make sure you already searched"
    r"|^issue (?:imported|from)|^before (?:asking|submitting|posting|filing)\b"
    r"|^you (?:can|may) (?:collect|also obtain|get the script)\b"
    r"|^_?(?:note: )?(?:this template|as per our github policy|we will close|text by|for bugs or|are you willing|have i written custom)"
    r"|^tensorflow version \(use command|^exact command to reproduce:?\s*(?:n/a)?$"
    r"|^wget https?|^(?:# )?for security purposes|^\(?or fill out the checklist|^python collect_env\.py"
    r"|^click here to (?:view|expand)"
    # Horovod, MXNet, Ray
    r"|^did you (?:search issues|check if you question|read this doc)|^if your question is about \w{1,20}, did you read"
    r"|^note: providing complete information|^the more information you provide|^for q ?& ?a and discussion"
    r"|^\(?(?:paste the (?:commands|complete)|if you (?:are using your|developed your) own code)|^what have you tried to solve it"
    r"|^we recommend using our script for collecting|^package used \(python|^build info \(required|^setting timeout: \d"
    r"|^ray version and other system information|^i have verified (?:my script|the issue)"
    r"|^if (?:we cannot run your script|the code snippet cannot be run)|^reproduction \(required\)"
    # TensorFlow
    r"|^include any logs or source code that|^diagnose the problem\. if including|^traceback\. large logs and files"
    r"|^provide (?:a reproducible test case|the exact sequence of)|^the problem\. if possible, please share"
    r"|^(?:policy, )?we only address code|^build/installation issues on github|^github policy,?$|^it must be a bug"
    r"|^if (?:possible, (?:please share|provide a minimal)|you open a github issue, here)"
    r"|^here's why we have that policy|^it shouldn't be a tensorboard issue|^the form below must be filled"
    r"|^tf [12]\.0: (?:`|python -c)|^(?:the output from )?`?python -c .?import tensorflow|^what related github issues"
    r"|^(?:thank you for submitting a tensorflow|the tensorflow docs are open source|we welcome contributions by users)"
    r"|^(?:are you planning to also submit|submit a pull request\?|contributor guide: docs|url\(s\) with the issue)"
    r"|^(?:description of issue \(what needs|clear description$|usage example$|raises listed and defined)"
    r"|^(?:are all parameters defined|are the errors defined|are there currently visuals|request visuals, if)"
    r"|^(?:is the link to the source code|for example, why should someone use this|example script provided in tensorflow)"
    # vLLM
    r"|^i want to run inference of a specific model|^what's your difficulty of supporting"
    r"|^anything you want to discuss about|^how you are installing vllm|^the closest model vllm already",
    re.I,
)
_FIRST_WORD = re.compile(r"(?:\d{1,2}[.)] )?(\w)")


def is_template_line(line: str) -> bool:
    """Whether a stripped line is an issue template's heading or instruction."""
    if len(line) > 300:
        return False
    words = _without_marks(line)
    return words.lower() in _HEADINGS or any(map(_BOILERPLATE.match, (line, words)))


def _without_marks(line: str) -> str:
    """Without what is no word at either end: mark-up, emoji, an item's number, punctuation but a closing bracket."""
    first = _FIRST_WORD.search(line)
    if first is None:
        return ""
    end = len(line)
    while not (line[end - 1].isalnum() or line[end - 1] in "_)"):
        end -= 1
    return line[first.start(1) : end]


# collect_env, ds_report, lscpu, nvidia-smi, pip list, conda list, TensorFlow's and Lightning's environment listings
_KEYS = (
    r"pytorch|torch|transformers|accelerate|deepspeed|colossalai|colossal-ai|megatron|vllm|sglang|ray|horovod"
    r"|tensorflow|keras|lightning|pytorch-lightning|numpy|safetensors|huggingface[_ -]hub|peft|trl|datasets"
    r"|tokenizers|flash[_-]attn|triton|apex|mpi|openmpi|open ?mpi|nccl|cudnn|cuda|cuda/cudnn"
    r"|cuda used to build pytorch|rocm|rocm used to build pytorch|hip runtime|miopen runtime|cuda runtime"
    r"|nvidia driver|driver|gpu|gpus|gpu model and memory|gpu models and configuration|gpu count and types"
    r"|cuda_module_loading set to|os|os platform and distribution|os and version|spark / pyspark version|platform|operating system|distribution|python"
    r"|python platform|conda|pip|pip3|gcc|gcc/compiler|clang|cmake|libc|bazel|compiler|is debug build"
    r"|is cuda available|is xnnpack available|architecture|cpu|cpus|cpu op-mode\(s\)|byte order|address sizes"
    r"|vendor id|model name|cpu family|model|thread\(s\) per core|core\(s\) per socket|socket\(s\)|stepping"
    r"|bogomips|virtualization|hypervisor vendor|virtualization type|l1d cache|l1i cache|l2 cache|l3 cache"
    r"|bios vendor id|cuda driver version|bios model name|scaling mhz|cuda archs|nvcc|nvidia topology|legend|nic legend|nic\d+"
    r"|numa node\(s\)|on-line cpu\(s\) list|cpu\(s\)|cpu max mhz|cpu min mhz|cpu mhz"
    r"|frequency boost|cuda[_ ]home|packages|system|processor|hardware|machine|interactions"
    r"|pytorch_debug|pytorch_version|how you installed pytorch.{0,40}|build command you used.{0,40}|how installed"
    r"|installed from|ray installed from|horovod installed from|framework|framework version|mobile device.{0,80}"
    r"|tensorflow installed from.{0,30}"
    r"|any other relevant information|vllm version|vllm build flags|neuron sdk version|gpu topology|release"
    r"|aws-ofi-nccl.{0,20}|xformers|torchvision|torchaudio|release date|wandb|using .{0,60}in script\??"
)


def _by_first_letters(alternatives: list[str]) -> str:
    """The same alternation with its first two letters factored out: `re` tries some twenty branches instead of 150."""
    groups: dict[str, dict[str, list[str]]] = {}
    for text in alternatives:
        groups.setdefault(text[0], {}).setdefault(text[1], []).append(text[2:])
    return "|".join(
        first + "(?:" + "|".join(f"{second}(?:{'|'.join(rest)})" for second, rest in seconds.items()) + ")"
        for first, seconds in groups.items()
    )


_ENVIRONMENT = re.compile(
    r"^[-*•\s|`]*(?:"
    + _by_first_letters(_KEYS.split("|"))
    + r")(?: \(?version\)?| version\(s\)| info)?\s*(?:\([^)]{0,80}\)\s*)?(?:[:=：]\s*|\.{3,}\s*|\|\s*)(?P<value>.{0,400})$"
    r"|^\[(?:pip3?|conda)\] |^\|.*(?:MiB|\bOff\b|\bDefault\b|Persistence-M|GPU-Util|Driver Version).*\|?$|^\+[-=+]{3,}\+?$|^\|[-=+ ]{3,}\|$"
    r"|^GPU \d+: |^(?:GPU|NIC|mlx5_)\d+\s+(?:X|NV\d+|SYS|PHB|PIX|PXB|NODE|GPU\d)\b|^\s*X\s+= Self|^\s*(?:SYS|NODE|PHB|PXB|PIX|NV#)\s+= "
    r"|^[\w-]+ \.{4,} |^[\w-]+ \.+ \[(?:YES|NO|OKAY)\](?: \.+ \[(?:YES|NO|OKAY)\])?$|^op name \.+ installed \.+ compatible$"
    r"|^/\S*/libcudnn\S*(?: <--.{0,40})?$|^[-*•\s]*(?:[A-Za-z][\w.-]{1,40}: v?\d+\.\d+\.\d+\S*|available: (?:True|False)|64bit|ELF|version: #?\d.{0,80})$|^GPU [\d,]+ Compute Capability: "
    r"|^[A-Za-z][\w.-]{1,40}==[\d.]+\S*$|^[A-Za-z][\w.-]{1,40}\s+\d+(?:\.\d+){1,3}\S*(?:\s+(?:pypi_0|py\d\S*|h\w{6,}_\d|\S+)\s+(?:pypi|conda-forge|defaults|pytorch))?$"
    r"|^(?:(?:Flags|标记)[:：]\s*fpu|Vulnerability [A-Z]|NUMA node\d+ CPU\(s\):|GPU\d+\s+CPU Affinity|Collecting environment information|Versions of relevant libraries:?$)"
    r"|^(?:The|Your) output of `?(?:python )?(?:collect_env|vllm collect-env)"
    r"|^(?:LD_LIBRARY_PATH|CUDA_HOME|PYTORCH_NVML_BASED_CUDA_CHECK|TORCHINDUCTOR_\w+|NVIDIA_\w+|CUDA_VERSION|CUDA_MODULE_LOADING|NCCL_VERSION|NCCL_CUMEM_ENABLE|OMP_NUM_THREADS|VLLM_\w+)=",
    re.I,
)
_FAILING_VALUE = re.compile(
    r"error|fail|not (?:found|supported)|mismatch|incompatib|crash|cannot|too old"
    r"|\b(?:hangs?|hanging|hung|stuck|freez(?:es?|ing)|frozen|deadlocks?|killed|segfaults?|timed out|out of memory)\b",
    re.I,
)
_ASSIGNMENT = re.compile(
    r"^[-*•\s|`]*(?:model\s*="
    r"|\w+\s*=(?!=)\s*(?:[\[({]|[A-Za-z_][\w.]*[\[(]|[A-Za-z_]\w*\.[A-Za-z_]|(?!\d+\.\d).*[,(\[{]$))",
    re.I,
)

_NOTICES = (
    "cpu_feature_guard",
    "This TensorFlow binary is optimized",
    "To enable them in other operations, rebuild TensorFlow",
    "oneDNN custom operations are on",
    "Successfully opened dynamic library",
    "successful NUMA node read from SysFS",
    "factory: Attempting to register factory",
    'HTTP/1.1" 200',
    "CUDA kernel errors might be asynchronously reported",
    "For debugging consider passing CUDA_LAUNCH_BLOCKING",
    "Compile with `TORCH_USE_CUDA_DSA`",
    "Automatically detected platform",
    "CUDA graphs can take additional",
    "Capturing the model for CUDA graphs",
    "Capturing cudagraphs for decoding",
    "Block manager v1 has been removed",
    "You are using a deprecated `pynvml` package",
)


def is_notice(line: str) -> bool:
    """Whether a line of a log is a library's notice that it writes in healthy runs too."""
    return any(notice in line for notice in _NOTICES)


def is_environment_line(line: str) -> bool:
    """Whether a stripped line is one entry of an environment listing.

    Kept, whatever the key, are a line whose value reports a failure (`CUDA: version mismatch, 11.8 against 12.1`) and an
    assignment in code (`model = deepspeed.initialize(model)`).
    """
    if len(line) > 500:
        return False
    match = _ENVIRONMENT.match(line)
    if match is None:
        return False
    value = match.group("value")
    return value is None or (len(value) <= 160 and not _FAILING_VALUE.search(value) and not _ASSIGNMENT.match(line))
