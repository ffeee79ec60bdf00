"""What reports state of their environment: rows of `data/facts.jsonl`, and the reports of provoked failures."""

from __future__ import annotations

import json
from dataclasses import fields
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from distriage.facts.environment import EnvironmentFacts, find_facts

DATA = Path(__file__).parent / "data"


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def facts_of(row: dict[str, Any]) -> EnvironmentFacts:
    return find_facts(row.get("title", ""), row["text"], row.get("id", ""))


@pytest.mark.parametrize("row", rows("facts.jsonl"), ids=lambda row: f"{row['why']}: {row['text'][:40]}")
def test_a_report_states(row: dict[str, Any]) -> None:
    """`facts`: name -> as shown, null where nothing is stated. `why`: the kind of case."""
    stated = facts_of(row).stated()
    assert {name: stated.get(name) for name in row["facts"]} == row["facts"], row["why"]


def test_each_fact_has_a_row_that_states_it() -> None:
    stated = {name for row in rows("facts.jsonl") for name, value in row["facts"].items() if value is not None}
    facts = {one.name for one in fields(EnvironmentFacts) if one.default is None}
    assert facts - stated == set()


def test_the_facts_of_provoked_failures_are_right_and_none_is_invented() -> None:
    """They ran on processors alone, so that there was no GPU and no CUDA, whatever a tool printed."""
    right, wrong, invented = 0, [], []
    for report in rows("failures.jsonl"):
        stated = find_facts(report["title"], report["body"]).stated()
        for name, value in (report["facts_expected"] or {}).items():
            if value in {None, "none"}:
                invented += [(report["id"], name, stated[name])] if stated.get(name, "none") != "none" else []
            elif str(stated.get(name, "")).startswith(str(value)):  # torch 2.13 is shown as 2.13.0+cpu
                right += 1
            else:
                wrong.append((report["id"], name, value, stated.get(name)))
        of_devices = stated.keys() & {"gpu_model", "gpu_count", "gpus_per_node", "cuda", "torch_cuda", "nccl", "driver"}
        invented += [(report["id"], name, stated[name]) for name in of_devices if stated[name] != "none"]

    assert right / (right + len(wrong)) >= 0.98, wrong
    assert invented == []


@pytest.mark.parametrize(
    ("text", "works", "fails"),
    [
        ("vLLM 0.8.4 works, 0.8.5 hangs", "0.8.4", "0.8.5"),
        ("We moved from vLLM 0.8.4 to 0.8.5 and since then it hangs", "0.8.4", "0.8.5"),
        ("After upgrading vLLM from 0.8.4 to 0.8.5 it hangs", "0.8.4", "0.8.5"),
        ("vLLM 0.8.5 fails; downgrading to 0.8.4 helps", "0.8.4", "0.8.5"),
        ("Regression since vLLM 0.8.5, 0.8.4 is fine", "0.8.4", "0.8.5"),
        ("vLLM 0.8.5 crashes, no problem with 0.8.4", "0.8.4", "0.8.5"),
        ("vLLM 0.8.4 and vLLM 0.8.5 hang", None, None),
    ],
)
def test_what_works_and_what_fails_is_a_pair(text: str, works: str | None, fails: str | None) -> None:
    pairs = find_facts("", f"Hello,\n{text}").comparisons

    assert [(pair.fact, pair.works, pair.fails) for pair in pairs] == (
        [("framework_version", works, fails)] if works else []
    )
    assert all(pair.works_at.line == pair.fails_at.line == 2 for pair in pairs)


def test_each_fact_has_the_line_that_states_it() -> None:
    body = "It hangs on 2 nodes.\n\n```\ntorchrun --nproc_per_node 8 train.py\n```\n- PyTorch version: 2.6.0\n"
    facts = find_facts("DDP hangs", body)

    places = {fact: (source.segment, source.line) for fact, source in facts.sources.items()}
    assert places["framework"] == ("title", 0)
    assert places["nodes"][1] == 1
    assert places["gpu_count"] == places["launcher"] == ("command", 4)
    assert places["torch"] == ("listing", 6)
    assert places.keys() <= facts.stated().keys()


def test_the_largest_count_is_taken() -> None:
    facts = find_facts("", "On 1 node with 2 GPUs it works, on 16 nodes with 8 GPUs it hangs.")
    assert (facts.nodes, facts.gpus_per_node, facts.gpu_count) == (16, 8, 128)


def test_every_chinese_number_is_read_whole_or_not_at_all() -> None:
    signs, kinds = "一二两双三四五六七八九十百第", "二两双十百第"  # at four places, one digit stands for all
    for said in map("".join, [*product(signs, repeat=2), *product(signs, repeat=3), *product(kinds, repeat=4)]):
        facts = find_facts("", f"{said}卡")
        assert facts.gpu_count is None or 2 <= facts.gpu_count <= 99


alone = cache(find_facts)  # of a report that each listing is put behind
LISTINGS = sorted((DATA / "listings").glob("*.txt"))


@pytest.mark.parametrize("listing", LISTINGS, ids=lambda file: file.stem)
def test_a_listing_behind_a_report_changes_neither_the_product_nor_what_the_reporter_counts(listing: Path) -> None:
    printed = listing.read_text(encoding="utf-8")
    for report in rows("failures.jsonl"):
        without = alone(report["title"], report["body"])
        listed = find_facts(report["title"], f"{report['body']}\n\n```\n{printed}\n```\n")
        for fact in ("framework", "gpu_model", "gpu_count", "nodes", "cuda", "launcher"):
            assert getattr(listed, fact) == getattr(without, fact), (report["id"], fact)
