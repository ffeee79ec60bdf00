"""Which of several statements counts, a labelled line before prose, and what is shown of a fact."""

from __future__ import annotations

import pytest

from distriage.base.types import IssueReport
from distriage.facts.compatibility.known_bad import known_bad
from distriage.facts.environment import find_facts


def test_a_wide_listing_is_read() -> None:
    columns = "torch                             2.4.0\nnvidia-nccl-cu12                  2.20.5\n"
    facts = find_facts(
        "",
        f"{columns}SGLang hangs.\nsglang                            0.4.4.post1\nROCM Version                 : 6.3.4",
    )
    assert (facts.torch, facts.nccl, facts.framework_version, facts.rocm) == ("2.4.0", "2.20.5", "0.4.4.post1", "6.3.4")


def test_the_nccl_that_vllm_brings_along_is_the_one_that_runs() -> None:
    text = "vLLM Version: 0.4.2\nnvidia-nccl-cu12==2.20.5\nvllm-nccl-cu12==2.18.1.0.4.0\nCUDA out of memory"
    facts = find_facts("", text)
    assert facts.nccl == "2.18.1"
    assert known_bad(facts, IssueReport("", text)) == []


@pytest.mark.parametrize(("text", "named"), [("CUDA out of memory", 1), ("KeyError: 'wk.weight'", 0)])
def test_vllm_with_a_newer_nccl_is_warned_of_memory_alone(text: str, named: int) -> None:
    text = f"vLLM fails.\nvLLM Version: 0.4.2\nnvidia-nccl-cu12==2.20.5\n{text}"
    assert len(known_bad(find_facts("", text), IssueReport("", text))) == named
