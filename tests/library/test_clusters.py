from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from distriage.base.types import IssueReport
from distriage.past.clusters import DAYS, clusters
from distriage.past.index import make_index
from distriage.past.issue import PastIssue
from distriage.past.signature import signature_of
from distriage.reading.report import read

from support.command_line import Command

DAY_S = 86400.0
TRACE = """```
Traceback (most recent call last):
  File "/home/{who}/train.py", line {line}, in <module>
    main()
  File "/opt/{who}/lib/python3.10/site-packages/flock/shards.py", line {line}, in {function}
    return self.find(rank)
{error}
```"""
LOST = "flock.errors.ShardError: rank 3 of 16 lost its shard at 0x7f00aa11"


def signature(error: str = LOST, function: str = "find_all", line: int = 7, who: str = "ann", body: str = TRACE) -> str:
    text = body.format(error=error, function=function, line=line, who=who)
    return signature_of(read(IssueReport("It fails", text, "")).segments)


def test_a_signature_is_of_the_error_and_its_place_whatever_their_numbers() -> None:
    message, _, frame = signature().partition(":")
    assert len(message) == len(frame) == 8
    assert signature(LOST.replace("3", "12"), line=99, who="bob") == signature()
    assert signature("ShardError: rank 3 of 16 lost its shard at 0xff") == signature()
    assert signature(function="other").partition(":")[0] == message and signature(function="other") != signature()
    assert signature("ShardError: rank 3 of 16 found no shard").partition(":")[0] != message
    assert signature(body="```\n{error}\n```") == message  # no frame is shown
    assert signature(body="It fails.") == ""


@pytest.mark.parametrize(
    "error",
    [
        "ValueError",
        "RuntimeError: bad shape",
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
        "RuntimeError: CUDA error: an illegal memory access was encountered",
        "RuntimeError: NCCL error: unhandled system error, NCCL version 2.20.5",
        "ValueError: Exception encountered when calling this layer in user code:",
    ],
)
def test_an_error_of_any_cause_has_no_signature(error: str) -> None:
    assert signature(error) == ""


def past(number: int, signature: str = "aa", day: float = 0.0, state: str = "open", **more: object) -> PastIssue:
    return PastIssue(f"o/r#{number}", f"T{number}", "", state, "", 1e9 + day * DAY_S, signature=signature, **more)  # type: ignore[arg-type]


def numbers(issues: list[PastIssue], *vectors: tuple[float, float]) -> list[list[int]]:
    made = np.array(vectors or [(1.0, 0.0)] * len(issues), np.float32)
    return [[issue.number for issue in one.open] for one in clusters(issues, made)]


def test_a_cluster_is_of_one_signature_near_in_words_and_time() -> None:
    assert numbers([past(1), past(2, day=1), past(3, day=2)]) == [[1, 2, 3]]
    assert numbers([past(1), past(2, "bb"), past(3, ""), past(4, "")]) == []
    assert numbers([past(1), past(2, day=DAYS), past(3, day=DAYS + 1), past(4, day=DAYS + 2)]) == [[1, 2], [3, 4]]
    assert numbers([past(1), past(2)], (1, 0), (0.79, 0.613)) == []
    assert clusters([past(1), past(2)], np.zeros((0, 0), np.float32)) == []  # a model without vectors


def test_a_chain_does_not_drift_from_its_oldest_issue() -> None:
    turned = [(float(np.cos(angle)), float(np.sin(angle))) for angle in (0.0, 0.5, 1.0)]  # cosines: .88, .88, .54
    assert numbers([past(1), past(2), past(3)], *turned) == [[1, 2]]


def test_issues_raised_at_two_places_are_apart_and_one_without_a_place_joins_the_first() -> None:
    assert numbers([past(1, "aa:11"), past(2, "aa:22"), past(3, "aa"), past(4, "aa:22")]) == [[1, 3], [2, 4]]


def test_closed_issues_count_beside_two_open_ones_and_the_largest_comes_first() -> None:
    issues = [past(1, state="closed"), past(2, day=1), past(3, day=2), *(past(number, "bb") for number in (4, 5, 6))]
    issues += [past(7, "cc", reactions=2, version="2.10"), past(8, "cc", version="2.9"), past(9, "dd", state="closed")]
    found = clusters([*issues, past(10, "dd")], np.array([(1.0, 0.0)] * 10, np.float32))
    assert [[issue.number for issue in one.open] for one in found] == [[4, 5, 6], [7, 8], [2, 3]]
    assert [issue.number for issue in found[2].closed] == [1]
    assert (found[1].version, found[1].reactions, found[2].version) == ("2.10", 2, "")
    assert found[2].filed == (1e9 + DAY_S, 1e9 + 2 * DAY_S)


def test_the_command_names_clusters(command: Command, tmp_path: Path) -> None:
    none = (np.zeros(0, np.int32), np.zeros(0, np.float32))
    file = tmp_path / "past.npz"
    for count, said in ((2, "2 open, 0 closed  #1, #2  T1\n"), (1, "No two open issues have the same error")):
        issues = [past(number, "aa") for number in range(1, count + 1)]
        make_index(issues, [none] * count, [np.array([1, 0], np.float32)] * count, "toy").save(file)
        assert said in command("past", "clusters", file).out
    assert json.loads(command("past", "clusters", file, "--json").out) == []
