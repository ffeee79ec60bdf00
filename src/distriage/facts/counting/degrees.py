"""The processes of a job that words state by a degree of parallelism: "TP8", "tp_size=4", "world size 4". Pure."""

from __future__ import annotations

from distriage.base.texts import regex
from distriage.facts.counting.numerals import number_of
from distriage.facts.counting.success import is_fine
from distriage.facts.scanning import any_of, matches_at, most, places

_STARTS = ("tp", "tensor", "world")
_DEGREE = regex(
    r"(?<![\w$-])(?<!saved with )(?:(?P<world>world[ _-]?size)|tp|tensor[ _-]parallel(?:ism)?)"
    r"(?:[ _-]?(?:size|degree))?['\"`]?\s?(?:=|:|of)?\s?(?P<v>[2-9]|[1-9]\d{1,3})"
    r"(?![\w\]%]|[.,:]\d|-?\w{1,4}\d|\s?(?:!=|[*x×]))"
)
# A trainer's replicas, stages and a trainer beside the server take other GPUs.
_OTHERS = regex(
    r"(?<![a-z])(?:pp|dp|cp|pipeline|data|context)(?:[ _-]parallel(?:ism)?)?(?:[ _-]?(?:size|degree))?['\"`]?"
    r"[\s=:]{0,3}(?![01]\b)\d|\b[pd]\d?[ +]?[pd]\b|prefill|disagg"
)
_SERVERS = ("vllm", "sglang", "lmdeploy", "deepspeed-mii")
_CONVERTS = ("convert", "trtllm-build")  # a model for so many GPUs, perhaps on one
_WITHOUT_GPUS = ("rpc", "tcp", "gloo", "cpu")
_MOST = 64  # of a server's GPUs


def stated_degree(words: str, *, on_gpus: bool, serves: bool) -> tuple[int, int] | None:
    """The largest degree of tensor parallelism of a server, or size of the world, and its place; None without one, or
    where other degrees multiply it.

    Args:
        on_gpus: The report names GPUs or their libraries; else the world may be of other processes.
        serves: The report's product is a server.
    """
    serves = (serves or any_of(_SERVERS, words)) and not any_of(_CONVERTS, words)
    on_gpus = on_gpus or not any_of(_WITHOUT_GPUS, words)
    found = [
        (number_of(match), match.start())
        for match in matches_at(_DEGREE, words, places(_STARTS, words))
        if (on_gpus if match["world"] else serves and number_of(match) <= _MOST)
        and not is_fine(words, match.start(), match.end())
    ]
    return None if not found or _OTHERS.search(words) else most(found, 10_000)
