"""The playbooks' data, and which of their checks is said."""

from __future__ import annotations

import re
import tomllib
from importlib import resources
from itertools import product

import pytest

from distriage.answer.playbooks import Check, Playbook, check_for, checks_for
from distriage.answer.playbooks.books import AXES, _tables, pair, playbook_of
from distriage.facts.situation import Platform, Situation
from distriage.model.taxonomy import default_taxonomy

TAXONOMY = default_taxonomy()
LABELS = [(axis, label) for axis in AXES for label in TAXONOMY.axes[axis].label_ids]
SYMPTOMS, CAUSES = (TAXONOMY.axes[axis].label_ids for axis in ("symptom", "cause"))


def book_of(axis: str, label: str) -> Playbook:
    book = playbook_of(TAXONOMY, axis, label)
    assert book is not None, f"{axis} {label} has no playbook: add it to src/distriage/answer/playbooks/{axis}.toml"
    return book


CHECKS: list[Check] = [
    *(check for axis, label in LABELS for check in book_of(axis, label).checks),
    *(check for symptom, cause in product(SYMPTOMS, CAUSES) for check in pair(symptom, cause)),
]
EVERYTHING = frozenset(need for check in CHECKS for need in check.needs)


def whole(name: str) -> dict[str, dict[str, str]]:
    return tomllib.loads((resources.files("distriage.answer.playbooks") / f"{name}.toml").read_text("utf-8"))


def texts(book: Playbook) -> list[str]:
    return [book.looks, *book.confirm, book.unlike, book.fixes, *book.ask]


@pytest.mark.parametrize(("axis", "label"), LABELS)
def test_every_label_has_a_playbook_that_is_complete_and_short(axis: str, label: str) -> None:
    book = book_of(axis, label)
    assert book.confirm and book.ask and all(texts(book)), "an empty part"
    assert 50 <= sum(len(text.split()) for text in texts(book)) <= 155, "words of the playbook, without its checks"
    assert all(text == text.strip() and "\n" not in text for text in texts(book))
    assert all(text.count("`") % 2 == 0 for text in texts(book)), "an open code span"


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.say[:40])
def test_a_check_is_one_short_sentence_that_needs_something(check: Check) -> None:
    assert check.needs and len(check.needs) == len(set(check.needs))
    assert len(check.say) <= 150 and check.say.endswith((".", "?")) and check.say.count("`") % 2 == 0


# What a sentence names -> needs, of which it declares one at least.
NAMED = {
    r"py-spy|faulthandler": "python",
    r"\bgdb\b": "native segfault abort",
    r"NCCL_|ncclras|NCCL release": "nccl nccl-ras nccl-tests native nvswitch",
    r"nvidia-smi|CUDA_|Xid|compute-sanitizer|torch\.cuda": "gpu nvidia nccl",
    r"TORCH_FR|torchfrtrace|MASTER_ADDR|process group": "process-group flight-recorder",
    r"every rank|each rank|all ranks|TP 1|world size": "several ranks nccl nccl-ras flight-recorder divides",
    r"every node|other node|two nodes|both nodes": "nodes",
    r"activation checkpointing": "activation-checkpointing",
    r"torch\.compile": "compile",
    r"reserved and not allocated": "reserved",
    r"UCX_|ucx_": "ucx",
    r"raylet|ray/session|`ray ": "ray",
    r"kubectl": "operator unscheduled",
    r"horovodrun": "horovod",
    r"npu\b|torch_npu|HCCL|CANN|plog": "npu",
    r"the traceback|failing frame": "traceback",
    r"learning rate|micro batch|grad norm|loss scale": "training divides",
}


@pytest.mark.parametrize("named", NAMED)
def test_a_check_needs_what_it_names(named: str) -> None:
    naming = [check for check in CHECKS if re.search(named, check.say)]
    assert naming
    assert [check for check in naming if not set(check.needs) & set(NAMED[named].split())] == []


def test_nothing_is_said_where_nothing_is_seen_or_the_cause_is_known() -> None:
    for axis, label in LABELS:
        assert checks_for(TAXONOMY, {axis: label}, Situation()) == []
        assert checks_for(TAXONOMY, {axis: label}, Situation(seen=EVERYTHING, explained=True)) == []
    assert {check_for(TAXONOMY, cause, symptom) for symptom, cause in product(SYMPTOMS, CAUSES)} == {None}


def test_a_definition_is_no_check() -> None:
    definitions = {label.definition for axis in AXES for label in TAXONOMY.axes[axis].labels}
    assert not definitions & {check.say for check in CHECKS}


def test_a_playbook_names_only_neighbours_that_exist() -> None:
    ids = {label for axis in TAXONOMY.axes.values() for label in axis.label_ids}
    hyphenated = {
        name for axis, label in LABELS for name in re.findall(r"`([a-z]+(?:-[a-z]+)+)`", book_of(axis, label).unlike)
    }
    assert hyphenated and hyphenated <= ids


def test_at_least_ten_playbooks_name_the_documentation_they_were_checked_against() -> None:
    checked = [book for axis, label in LABELS if (book := book_of(axis, label)).sources]
    assert len(checked) >= 10
    assert all(source.startswith("https://") for book in checked for source in book.sources)


@pytest.mark.parametrize("name", [*AXES, "pairs"])
def test_tables_read_one_by_one_are_those_of_the_whole_file_and_of_labels(name: str) -> None:
    assert {table: tomllib.loads(text) for table, text in _tables(name).items()} == whole(name)
    axis = TAXONOMY.axes[name if name in AXES else "symptom"]
    assert whole(name).keys() <= set(axis.label_ids)
    if name == "pairs":
        assert {cause for causes in whole(name).values() for cause in causes} <= set(TAXONOMY.axes["cause"].label_ids)


def test_a_pair_has_its_own_check_first_then_symptom_and_cause() -> None:
    seen = Situation(seen=frozenset({"several", "ranks", "python", "hangs", "no-stacks", "no-store", "own-process"}))
    labels = {"symptom": "runtime-hang", "cause": "concurrency-defect", "fix": "distributed-tuning"}
    (together,) = checks_for(TAXONOMY, labels, seen)
    (symptom,) = checks_for(TAXONOMY, labels | {"cause": "rank-desynchronization"}, seen)
    assert "threads that hold a lock" in together and "who waits at the same call" in symptom
    assert checks_for(TAXONOMY, {"kind": "question"}, seen) == []


# Written by hand, so that a name that was forgotten in `elsewhere.toml` is seen.
@pytest.mark.parametrize(
    ("platform", "not_there"),
    [
        (Platform.ROCM, r"nvidia-smi|CUDA|nvcc|torch\.version\.cuda|Xid|compute-sanitizer|nccl-tests"),
        (Platform.MACOS, r"/dev/shm|\bldd\b|dmesg|\bgdb\b|`ss "),
        (Platform.WINDOWS, r"/dev/shm|dmesg|\bldd\b|\bgdb\b|nc -vz|`ss |~/\.cache|find /"),
    ],
)
def test_no_command_is_named_that_the_platform_does_not_have(platform: Platform, not_there: str) -> None:
    nothing_of_nvidia = EVERYTHING - {"nvidia"}
    given = {
        check
        for axis, label in LABELS
        for need in EVERYTHING
        for check in checks_for(TAXONOMY, {axis: label}, Situation(platform, seen=nothing_of_nvidia - {need}))
    }
    assert len(given) > 60, "too much was left out"
    assert [check for check in given if re.search(not_there, check)] == []


def test_a_taxonomy_of_ones_own_has_no_playbooks() -> None:
    own = TAXONOMY.model_copy(update={"name": "acme"})
    assert playbook_of(own, "symptom", "runtime-hang") is None
    assert checks_for(own, {"symptom": "runtime-hang", "cause": "rank-desynchronization"}) == []
