"""The counts on the corpus's page, in the README and in the limits, made again from the committed files."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from support.checkout import REPOSITORY
from support.toys import CORPUS

Row = Mapping[str, Any]
LEARNED = (REPOSITORY / "models" / "minilm-v9" / "trained-on.txt").read_text(encoding="ascii").split()
AXES = ("kind", "distributed", "stage", "symptom", "cause", "fix")


def rows(name: str) -> list[Row]:
    with (CORPUS / name).open(encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def words(page: Path) -> str:
    return " ".join(page.read_text(encoding="utf-8").split())


@pytest.fixture(scope="module")
def annotated() -> dict[str, Row]:
    return {row["id"]: row for row in rows("annotations.jsonl")}


@pytest.fixture(scope="module")
def readers(annotated: dict[str, Row]) -> dict[str, dict[str, Row]]:
    found: dict[str, dict[str, Row]] = {"annotations": annotated}
    for row in rows("readings.jsonl"):
        found.setdefault(row["reader"], {})[row["id"]] = row
    return found


@pytest.fixture(scope="module")
def page() -> str:
    return words(CORPUS / "README.md")


def both(one: Mapping[str, Row], other: Mapping[str, Row], axis: str) -> list[tuple[object, object]]:
    pairs = [(one[i][axis], other[i][axis]) for i in one.keys() & other.keys()]
    return [pair for pair in pairs if None not in pair]


def kappa_and_share(pairs: Sequence[tuple[object, object]]) -> tuple[str, str]:
    """Cohen's kappa and the share of equal labels, as the page writes them."""
    first, second = (Counter(side) for side in zip(*pairs, strict=True))
    equal = sum(a == b for a, b in pairs) / len(pairs)
    chance = sum(first[label] * second[label] for label in first) / len(pairs) ** 2
    return f"{(equal - chance) / (1 - chance):.2f}".lstrip("0"), f"{equal:.2f}".lstrip("0")


def cells(page: Path, start: str) -> list[str]:
    (line,) = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith(start)]
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.parametrize(
    ("start", "first", "second", "shares"),
    [
        ("| `thread-2` |", "annotations", "thread-2", True),
        ("| `filed-restated` |", "annotations", "filed-restated", True),
        ("| `filed-raw` |", "annotations", "filed-raw", True),
        ("| `filed-raw-first` |", "annotations", "filed-raw-first", True),
        ("| `filed-provoked` |", "annotations", "filed-provoked", True),
        ("| raw, `unlabelled` |", "round2-raw-first", "round2-raw-second", False),
        ("| restated, `restated-2` |", "round2-restated-first", "round2-restated-second", False),
    ],
)
def test_the_agreement_of_readers(
    readers: dict[str, dict[str, Row]], start: str, first: str, second: str, shares: bool
) -> None:
    one, other = readers[first], readers[second]
    n, bugs = len(one.keys() & other.keys()), len(both(one, other, "symptom"))
    _, counted, *found = cells(CORPUS / "README.md", start)
    assert counted == f"{n:,} ({bugs:,} bugs)"
    for axis, cell in zip(AXES, found, strict=True):
        if cell != "-":  # nearly all have the same label
            kappa, share = kappa_and_share(both(one, other, axis))
            assert cell == (f"{kappa} / {share}" if shares else kappa), axis


def test_the_two_readers_of_the_validation_threads(readers: dict[str, dict[str, Row]], page: str) -> None:
    scores = [
        f"{axis} {' / '.join(kappa_and_share(both(readers['thread-3'], readers['thread-4'], axis)))}"
        for axis in AXES[2:]
    ]
    assert f"with each other: {', '.join(scores)}." in page
    assert f"they differed ({len(readers['thread-5'])} reports)" in page


def test_what_whole_threads_changed(annotated: dict[str, Row], readers: dict[str, dict[str, Row]], page: str) -> None:
    first = readers["filed-raw-first"]
    changed = {
        axis: round(100 * sum(row[axis] != annotated[i][axis] for i, row in first.items()) / len(first))
        for axis in AXES
    }
    assert (
        f"{len(first):,}, read again with the whole thread (2026-11-23), which changed {changed['cause']} % of their "
        f"causes, {changed['fix']} % of their fixes, {changed['symptom']} % of their symptoms and {changed['stage']} % "
        "of their stages"
    ) in page


def test_the_odds_that_readers_gave(annotated: dict[str, Row], readers: dict[str, dict[str, Row]], page: str) -> None:
    right: dict[int, list[bool]] = {40: [], 60: [], 80: []}
    for reader in ("odds-raw", "odds-restated"):
        for i, row in readers[reader].items():
            odds, cause = (row.get("odds") or {}).get("cause", 0), annotated[i]["cause"]
            if odds >= 40 and cause is not None:
                right[min(80, odds // 20 * 20)].append(row["cause"] == cause)
    shares = [round(100 * sum(found) / len(found)) for found in right.values()]
    assert (
        "of the causes given 40 to 59 % odds, {} % were the annotated ones, of those given 60 to 79 % {} %, and above "
        "that {} %".format(*shares)
    ) in page


def sentences(annotated: dict[str, Row]) -> Iterator[str]:
    by_origin = Counter(row["origin"] for row in annotated.values())
    by_source = Counter(row["source"] for row in annotated.values())
    threads = sum(row["origin"] in {"raw", "restated"} for row in annotated.values())
    yield f"{threads:,} real threads and {by_origin['generated']:,} generated reports"
    yield f"{by_origin['raw']:,} of the {len(annotated):,} records are raw"
    yield f"hydrate` makes {by_origin['raw']:,} requests"
    test = Counter(row["origin"] for row in annotated.values() if row["split"] == "test")
    yield f"rests on {test.total()} test reports. {test['restated']} of their texts are here; the other {test['raw']}"
    yield f"the {len(LEARNED):,} reports that minilm-v9 learned from"
    for source, said in (
        ("threads-2", "are {:,} new ones"),
        ("threads-3", "are {:,} more"),
        ("generated", "the first {:,}, mostly"),
    ):
        yield said.format(by_source[source])
    yield f"`unlabelled-3` {by_source['unlabelled-3']:,} without"
    texts = {row["id"]: row for row in rows("restated.jsonl")}
    for source in ("restated-5", "restated-6", "restated-7", "restated-8", "restated-9"):
        found = [row for row in annotated.values() if row["source"] == source]
        no_bugs = sum(row["kind"] != "bug" for row in found)
        stated = sum(row["cause_evidence"] == "stated" for row in found)
        length = round(median(len(texts[row["id"]]["body"].split()) for row in found))
        repositories = len({row["id"].partition("#")[0].lower() for row in found})
        yield {
            "restated-5": f"(2026-11-27) are {len(found):,} more, longer and",
            "restated-6": f"{len(found):,} more, short again (median {length} words), of which {no_bugs} are no bugs; "
            f"a cause is stated in {stated}, and two in three",
            "restated-7": f"{len(found):,} more (median {length} words), {no_bugs} of them no bugs",
            "restated-8": f"{len(found):,} more of {repositories} repositories, many of them small ones beside the "
            f"target frameworks (median {length} words), {no_bugs} of them no bugs",
            "restated-9": f"{len(found):,} more of {repositories} repositories, most of them outside the target "
            f"frameworks (median {length} words), {no_bugs} of them no bugs",
        }[source]
        if source in {"restated-5", "restated-8", "restated-9"}:
            yield f"a cause is stated in {stated}."
    distributed = sum(
        row["source"] == "threads" and row["split"] == "validation" and row["distributed"] for row in annotated.values()
    )
    yield f"all {distributed} distributed ones"


def test_the_counts_of_the_corpus(annotated: dict[str, Row], page: str) -> None:
    assert [said for said in sentences(annotated) if said not in page] == []
    citation = words(REPOSITORY / "CITATION.cff")
    assert f"corpus of {len(annotated):,} annotated reports" in citation


def test_how_many_restated_reports_were_read_twice(
    annotated: dict[str, Row], readers: dict[str, dict[str, Row]], page: str
) -> None:
    restated = sum(row["origin"] == "restated" for row in annotated.values())
    assert f"`filed-restated` of {len(readers['filed-restated']):,} of the {restated:,} restated ones" in page


def test_the_limits_count_the_frameworks_that_the_model_is_for(annotated: dict[str, Row]) -> None:
    """The 28 is the model's, and not counted here."""
    groups = tomllib.loads((REPOSITORY / "configs" / "base.toml").read_text(encoding="utf-8"))["domain"]["groups"]
    alone = Counter(
        row["origin"]
        for row in annotated.values()
        if row["split"] == "validation" and not row["distributed"] and row["framework"] in groups
    )
    said = r"(\d+) restated ones do not: 28 of them were called distributed in `balanced`\. Of the (\d+) as filed"
    found = re.search(said, words(REPOSITORY / "docs" / "limits.md"))
    assert found is not None
    assert [int(number) for number in found.groups()] == [alone["restated"], alone["raw"]]


@pytest.mark.parametrize("axis", AXES)
def test_the_majority_column_belongs_to_what_the_model_learned_from(annotated: dict[str, Row], axis: str) -> None:
    """The README's, of the reports that minilm-v9 learned from; those withdrawn since change no majority."""
    learned = [row for row in annotated.values() if row["split"] == "train"]
    test = [row[axis] for row in annotated.values() if row["split"] == "test" and row[axis] is not None]
    answer, _ = Counter(row[axis] for row in learned if row[axis] is not None).most_common(1)[0]
    accuracy = test.count(answer) / len(test)
    macro_f1 = 2 * accuracy / (1 + accuracy) / len({*test})
    _, majority, *_ = cells(REPOSITORY / "README.md", f"| {axis} | .")
    assert majority == f"{accuracy:.3f} / {macro_f1:.3f}".replace("0.", ".")
    assert f"{len(LEARNED):,} reports" in words(REPOSITORY / "README.md")
