from __future__ import annotations

import json
from pathlib import Path

import pytest

from distriage.base.errors import TaxonomyError
from distriage.model.taxonomy import (
    Requirement,
    Taxonomy,
    default_taxonomy,
    default_taxonomy_text,
    load_taxonomy,
    parse_taxonomy,
)

from support.checkout import REPOSITORY

SIZES = {"kind": 4, "distributed": 2, "stage": 5, "symptom": 34, "cause": 28, "fix": 6}
LABELS = '[[kind]]\nid = "bug"\ndefinition = "b"\n[[kind]]\nid = "other"\ndefinition = "o"\n'
MISSPELT = '[[cause]]\nid = "x"\ndefinition = "d"\nof_causes = ["bugs"]\n'


def toml(axes: str = "[axis.kind]\n", labels: str = LABELS, head: str = 'name = "own"\nversion = "2"\n') -> str:
    return head + axes + labels


def test_the_packaged_taxonomy_has_the_sizes_of_the_paper() -> None:
    taxonomy = default_taxonomy()
    assert {axis.id: len(axis.label_ids) for axis in taxonomy.axes.values()} == SIZES
    assert taxonomy.name == "distriage"


def test_label_ids_are_unique_over_the_label_axes_and_kebab_case() -> None:
    ids = [label.id for axis in default_taxonomy().axes.values() for label in axis.labels]
    assert len(ids) == len(set(ids)) == sum(SIZES.values())
    assert all(part.isalnum() and part == part.lower() for label in ids for part in label.split("-"))


@pytest.mark.parametrize(
    ("axis_id", "count"), [("symptom", 7), ("cause", 5), ("kind", 0), ("distributed", 0), ("stage", 0), ("fix", 0)]
)
def test_families_part_the_labels_of_an_axis(axis_id: str, count: int) -> None:
    axis = default_taxonomy().axis(axis_id)
    assert len(axis.families) == count
    members = [label for labels in axis.families.values() for label in labels]
    assert sorted(members) == (sorted(axis.label_ids) if count else [])
    assert all(len(labels) > 1 for labels in axis.families.values())


def test_only_bugs_have_stage_symptom_cause_and_fix() -> None:
    requires = {axis.id: axis.requires for axis in default_taxonomy().axes.values()}
    assert requires == {
        "kind": None,
        "distributed": None,
        **dict.fromkeys(("stage", "symptom", "cause", "fix"), ("kind", "bug")),
    }


def test_an_axis_applies_unless_the_axis_that_it_requires_has_another_label() -> None:
    unmet = default_taxonomy().unmet
    assert unmet("symptom", {"kind": "question"}, ["kind"]) == "kind is probably question"
    assert unmet("symptom", {"kind": "question"}) == "kind is question" and unmet("symptom", {"kind": None}) is not None
    assert unmet("symptom", {"kind": "bug"}) is unmet("symptom", {}) is unmet("kind", {"kind": "question"}) is None


def test_an_axis_does_not_apply_where_the_one_that_it_requires_does_not() -> None:
    """A model scores every axis: without this, the place of a hang in a question is counted as a failure."""
    cause = default_taxonomy().axes["cause"].model_copy(update={"requires": Requirement("symptom", "setup-hang")})
    taxonomy = default_taxonomy().model_copy(update={"axes": {**default_taxonomy().axes, "cause": cause}})
    labels = {"kind": "question", "symptom": "setup-hang", "cause": "network-misconfiguration"}
    assert taxonomy.applicable(labels) == {"kind": "question"}
    assert taxonomy.unmet("cause", labels, ["kind"]) == "kind is probably question"
    assert taxonomy.unmet("cause", {"kind": "question"}) == "kind is question"
    assert taxonomy.applicable({**labels, "kind": "bug"}).keys() == labels.keys()
    assert taxonomy.unmet("cause", {"kind": "bug", "symptom": "runtime-hang"}) == "symptom is runtime-hang"


def test_every_fix_gives_advice_and_no_other_axis_does() -> None:
    advice = {axis.id: [bool(label.advice) for label in axis.labels] for axis in default_taxonomy().axes.values()}
    assert all(advice.pop("fix"))
    assert not any(any(flags) for flags in advice.values())


def test_every_label_says_where_it_comes_from_except_the_kinds() -> None:
    sources = {axis.id: {label.source for label in axis.labels} for axis in default_taxonomy().axes.values()}
    assert sources.pop("kind") == {""}
    assert set().union(*sources.values()) == {"paper", "sister", "ours"}


def test_every_label_of_the_annotated_corpus_exists_and_every_label_of_the_model_is_used(shipped_bundle: Path) -> None:
    used: dict[str, set[str]] = {axis: set() for axis in SIZES}
    with (REPOSITORY / "training" / "corpus" / "annotations.jsonl").open(encoding="utf-8") as stream:
        for line in stream:
            row = json.loads(line)
            for axis, labels in used.items():
                if row[axis] is not None:
                    labels.add(str(row[axis]).lower())
    model = load_taxonomy(shipped_bundle / "taxonomy.toml")
    for axis, labels in used.items():
        known, needed = default_taxonomy().axis(axis).label_ids, model.axis(axis).label_ids
        assert labels <= set(known), "no label"
        assert labels >= set(needed) & set(known), "annotate records with the label before a model is trained for it"


def test_a_name_is_made_from_the_id_where_none_is_given() -> None:
    stage = default_taxonomy().axis("stage")
    assert stage.label("inference").name == "Inference and serving"
    assert default_taxonomy().axis("cause").label("api-misuse").name == "API misuse"


def test_unknown_axis_and_label_name_the_known_ones() -> None:
    with pytest.raises(
        TaxonomyError,
        match=r"unknown axis 'sympton'; did you mean symptom\? known: kind, distributed, stage, symptom",
    ):
        default_taxonomy().axis("sympton")
    with pytest.raises(TaxonomyError, match=r"label 'bugs'; did you mean bug\? known: bug, question, feature"):
        default_taxonomy().axis("kind").label("bugs")


def test_a_retired_label_is_no_output_but_can_be_looked_up() -> None:
    axis = parse_taxonomy(
        toml(labels=LABELS + '[[kind]]\nid = "old"\nfamily = "f"\ndefinition = "x"\nretired = "2"\n'), "own.toml"
    ).axis("kind")
    assert axis.label_ids == ("bug", "other")
    assert axis.families == {}
    assert axis.label("old").retired == "2"


OLDER = """
name = "own"
version = "1"
[axis.cause]
[[cause]]
id = "bug"
definition = "As the model learned it."
[[cause]]
id = "gone"
definition = "Not in the newer copy."
aliases = ["past"]
"""
USE_OF_AXIS = 'colour = "aabbcc"\nfilter = true\nweights = { bug = 2.0 }\nneeds_detail = true\n'
USE_OF_LABEL = """means = ["goes-on"]
aliases = ["defect"]
study = ["Bug"]
of_causes = ["bug"]
shown_by = ["slow"]
excluded_by = ["traceback"]
"""


def test_an_older_copy_is_used_as_the_newer_says() -> None:
    newer = (
        OLDER.replace('version = "1"', 'version = "2"').replace("gone", "come").replace("learned it", "is known now")
    )

    def with_use(text: str) -> str:
        return text.replace("[axis.cause]\n", f"[axis.cause]\n{USE_OF_AXIS}").replace('."\n', f'."\n{USE_OF_LABEL}', 1)

    used = parse_taxonomy(OLDER, "older").with_use_of(parse_taxonomy(with_use(newer), "newer"))
    assert used == parse_taxonomy(with_use(OLDER), "as it should be")


def test_a_taxonomy_of_ones_own_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(default_taxonomy_text().replace('name = "distriage"', 'name = "own"', 1), encoding="utf-8")
    own = load_taxonomy(file)
    assert own == Taxonomy(name="own", version=default_taxonomy().version, axes=default_taxonomy().axes)


@pytest.mark.parametrize("content", [None, b"\xff"], ids=["missing", "not UTF-8"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "own.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(TaxonomyError, match=r"own\.toml: cannot be read: "):
        load_taxonomy(file)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("axis = [", "not valid TOML"),
        (toml(head='version = "1"\n'), "key 'name' is missing"),
        (toml(head='name = "own"\n'), "key 'version' is missing"),
        (toml(axes="", labels=""), "key 'axis' is missing"),
        (toml(axes="axis = 3\n", labels=""), "axis: expected a table, found int"),
        (toml(axes="[axis]\nkind = 3\n"), "axis kind: expected a table, found int"),
        (
            toml(axes="[axis.kind]\n[axis.stage]\n", labels=LABELS + '[[cause]]\nid = "x"\n'),
            "labels of an axis that is not declared: cause; declared: kind, stage",
        ),
        (toml(axes="[axis.kind]\ncolor = 1\n"), "axis kind: unknown key color; did you mean colour? known: "),
        (
            toml(axes="[axis.kind]\nweights = { bugs = 2.0 }\n"),
            "axis kind: weights: unknown label or family 'bugs'; did you mean bug? known: bug, other",
        ),
        (
            toml(labels=LABELS + '[[kind]]\nid = "x"\ndefinition = "d"\nof_causes = ["hardware"]\n'),
            "kind x: of_causes: there is no axis cause",
        ),
        (
            toml("[axis.kind]\n[axis.cause]\n", LABELS + LABELS.replace("kind", "cause") + MISSPELT),
            "cause x: of_causes: unknown label or family 'bugs'; did you mean bug? known: bug, other",
        ),
        (toml(axes="[axis.kind]\nname = 5\n"), "axis kind: name: expected a valid string, found 5"),
        (
            toml(labels=LABELS + '[[kind]]\nid = "x"\ndefinition = "d"\nweight = "2"\n'),
            "kind x: unknown key weight; known: id, definition, name, family",
        ),
        (
            toml(labels=LABELS + '[[kind]]\ndefinition = "d"\n'),
            "kind (without id): id: missing",
        ),
        (toml(labels=LABELS + '[[kind]]\nid = "x"\n'), "kind x: definition: missing"),
        (
            toml(labels=LABELS + '[[kind]]\nid = "x"\ndefinition = 5\n'),
            "kind x: definition: expected a valid string, found 5",
        ),
        (toml(labels=LABELS + '[[kind]]\nid = 7\ndefinition = "d"\n'), "kind 7: id: expected a valid string, found 7"),
        (
            toml(labels=LABELS + '[[kind]]\nid = "x"\ndefinition = "d"\nsource = ["paper"]\n'),
            "kind x: source: expected '', 'ours', 'paper' or 'sister', found ['paper']",
        ),
        (
            toml(labels=LABELS + '[[kind]]\nid = "x"\ndefinition = "d"\nsource = "blog"\n'),
            "kind x: source: expected '', 'ours', 'paper' or 'sister', found 'blog'",
        ),
        (toml(labels=LABELS + LABELS), "axis kind: labels: bug is there twice"),
        (toml(labels=""), "axis kind: labels: fewer than two labels in use"),
        (
            toml(labels='[[kind]]\nid = "a"\ndefinition = "d"\n[[kind]]\nid = "b"\ndefinition = "d"\nretired = "2"\n'),
            "axis kind: labels: fewer than two labels in use",
        ),
        (
            toml(axes="", labels="[kind]\nbug = 1\n[axis.kind]\n"),
            "kind: expected tables [[kind]], one a label, found dict",
        ),
        (toml(axes='kind = ["bug", "other"]\n[axis.kind]\n', labels=""), "kind: expected a table, found str"),
        (
            toml(axes='[axis.kind]\nrequires = "bug"\n'),
            "axis kind: requires: ",
        ),
        (
            toml(axes='[axis.kind]\nrequires = { axis = "kind" }\n'),
            "axis kind: requires.label: ",
        ),
        (
            toml(axes='[axis.kind]\nrequires = { axis = "kind", label = 3 }\n'),
            "axis kind: requires.label: expected a valid string, found 3",
        ),
        (
            toml(axes='[axis.kind]\nrequires = { axis = "stage", label = "bug" }\n'),
            "axis kind requires stage=bug, which does not exist",
        ),
        (
            toml(axes='[axis.kind]\nrequires = { axis = "kind", label = "bugs" }\n'),
            "axis kind requires kind=bugs, which does not exist",
        ),
        (
            toml(axes='[axis.kind]\nrequires = { axis = "kind", label = "bug" }\n'),
            "axis kind requires kind, which does not come before it",
        ),
        (
            toml(
                axes='[axis.stage]\nrequires = { axis = "kind", label = "bug" }\n[axis.kind]\n',
                labels=LABELS + LABELS.replace("kind", "stage"),
            ),
            "axis stage requires kind, which does not come before it",
        ),
    ],
)
def test_a_taxonomy_that_is_not_valid_is_refused_with_the_place(text: str, message: str) -> None:
    with pytest.raises(TaxonomyError) as refused:
        parse_taxonomy(text, "own.toml")
    assert str(refused.value).startswith("own.toml: ")
    assert message in str(refused.value)
