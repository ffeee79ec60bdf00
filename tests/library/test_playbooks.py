from __future__ import annotations

import re
import tomllib
from importlib import resources

import pytest

from distriage.answer.playbooks import AXES, MAX_CHECKS, Playbook, _tables, checks_for, commands_of, playbook_of
from distriage.facts.situation import Platform, Situation
from distriage.model.taxonomy import default_taxonomy

TAXONOMY = default_taxonomy()
LABELS = [(axis, label) for axis in AXES for label in TAXONOMY.axes[axis].label_ids]


def book_of(axis: str, label: str) -> Playbook:
    book = playbook_of(TAXONOMY, axis, label)
    assert book is not None, f"{axis} {label} has no playbook: add it to src/distriage/answer/playbooks/{axis}.toml"
    return book


def whole(name: str) -> dict[str, dict[str, str]]:
    return tomllib.loads((resources.files("distriage.answer.playbooks") / f"{name}.toml").read_text("utf-8"))


def texts(book: Playbook) -> list[str]:
    return [book.looks, *book.confirm, book.unlike, book.fixes, *book.ask, book.check]


@pytest.mark.parametrize(("axis", "label"), LABELS)
def test_every_label_has_a_playbook_that_is_complete_and_short(axis: str, label: str) -> None:
    book = book_of(axis, label)
    assert book.confirm and book.ask and all(texts(book)), "an empty part"
    assert 60 <= sum(len(text.split()) for text in texts(book)) <= 155
    checks = [text for text in (book.check, book.serving, *book.on.values()) if text]
    assert all(len(check) <= 140 and check.endswith(".") for check in checks), checks
    assert all(text == text.strip() and "\n" not in text for text in [*texts(book), *checks])
    assert all(text.count("`") % 2 == 0 for text in [*texts(book), *checks]), "an open code span"


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


def test_no_two_labels_share_a_check() -> None:
    checks = [book_of(axis, label).check for axis, label in LABELS] + [
        check for causes in whole("pairs").values() for check in causes.values()
    ]
    assert len(checks) == len(set(checks))


@pytest.mark.parametrize("name", [*AXES, "pairs"])
def test_tables_read_one_by_one_are_those_of_the_whole_file_and_of_labels(name: str) -> None:
    assert {table: tomllib.loads(text) for table, text in _tables(name).items()} == whole(name)
    axis = TAXONOMY.axes[name if name in AXES else "symptom"]
    assert whole(name).keys() <= set(axis.label_ids)
    if name == "pairs":
        assert {cause for causes in whole(name).values() for cause in causes} <= set(TAXONOMY.axes["cause"].label_ids)


def test_a_pair_has_its_own_check_first_then_symptom_and_cause() -> None:
    labels = {"symptom": "runtime-hang", "cause": "rank-desynchronization", "fix": "distributed-tuning"}
    together, *rest = checks_for(TAXONOMY, labels)
    assert "only some ranks take" in together
    assert rest == [book_of("symptom", "runtime-hang").check, book_of("cause", "rank-desynchronization").check]


def test_any_other_pair_is_served_by_its_two_playbooks_and_the_fix() -> None:
    labels = {"stage": "inference", "symptom": "setup-hang", "cause": "data-defect", "fix": "framework-patch"}
    assert checks_for(TAXONOMY, labels) == [book_of(axis, labels[axis]).check for axis in AXES]
    assert checks_for(TAXONOMY, {"cause": "data-defect"}) == [book_of("cause", "data-defect").check]
    assert checks_for(TAXONOMY, {"kind": "question"}) == []


@pytest.mark.parametrize(
    "situation", [Situation(), Situation(serving=True), Situation(Platform.ROCM), Situation(one_process=True)]
)
def test_no_two_checks_of_a_verdict_do_the_same(situation: Situation) -> None:
    """Of each symptom with each cause and fix; a program may come back with another sub-command."""
    tools = re.compile(r"`(py-spy|nc\b|nvcc|dmesg|[A-Z]+_[A-Z_]+|torch(?:\.\w+)+)|(micro batch|pin\b)", re.I)
    for symptom in TAXONOMY.axes["symptom"].label_ids:
        for cause in TAXONOMY.axes["cause"].label_ids:
            for fix in TAXONOMY.axes["fix"].label_ids:
                checks = checks_for(TAXONOMY, {"symptom": symptom, "cause": cause, "fix": fix}, situation)
                assert 1 <= len(checks) <= MAX_CHECKS and len(set(checks)) == len(checks)
                done = [tool for check in checks for tool in {match.group().lower() for match in tools.finditer(check)}]
                assert len(done) == len(set(done)), checks


def test_a_check_gives_way_to_one_that_does_the_same_and_the_next_moves_up() -> None:
    labels = {"symptom": "network-connection-failure", "cause": "network-misconfiguration", "fix": "framework-patch"}
    assert [check.count("`nc -vz") for check in checks_for(TAXONOMY, labels)] == [1, 0, 0]
    assert checks_for(TAXONOMY, labels)[2] == book_of("fix", "framework-patch").check
    assert commands_of("Run `pip check`, then `nc -vz HOST` with `A_B=1`.") == {"pip check", "nc", "A_B"}


def test_a_taxonomy_of_ones_own_has_no_playbooks() -> None:
    own = TAXONOMY.model_copy(update={"name": "acme"})
    assert playbook_of(own, "symptom", "runtime-hang") is None
    assert checks_for(own, {"symptom": "runtime-hang", "cause": "rank-desynchronization"}) == []
