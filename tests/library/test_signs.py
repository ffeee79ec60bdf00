"""Signs of a report: the version gate, and a regression."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from distriage.base.times import epoch_s
from distriage.base.types import IssueReport
from distriage.classifier import Classifier
from distriage.github.client import Client
from distriage.github.releases import KEPT_S, Release, read_releases
from distriage.reading.report import read
from distriage.signs.find import signs_of
from distriage.signs.gate import gate
from distriage.signs.kinds import kinds
from distriage.signs.table import update_table

from support.checkout import REPOSITORY
from support.command_line import Command, assert_one_line
from support.github import GitHub
from support.github_shapes import release

# As these repositories tagged them; the newest first, as GitHub lists them.
TAGS = {
    "deepspeedai/DeepSpeed": [
        ("v0.16.4", "2025-02-26T00:00:00Z"),
        ("v0.16.3", "2025-01-29T00:00:00Z"),
        ("v0.15.4", "2024-11-08T00:00:00Z"),
        ("v0.9.5", "2023-06-28T00:00:00Z"),
    ],
    "NVIDIA/Megatron-LM": [
        ("core_r0.11.0", "2025-03-14T00:00:00Z"),
        ("core_r0.10.0", "2025-02-14T00:00:00Z"),
        ("core_r0.9.0", "2024-10-25T00:00:00Z"),
        ("v3.0.2", "2023-02-20T00:00:00Z"),
        ("v2.5", "2021-07-01T00:00:00Z"),
    ],
    "vllm-project/vllm": [
        ("v0.8.0rc2", "2025-03-17T00:00:00Z"),
        ("v0.7.3", "2025-02-20T00:00:00Z"),
        ("v0.7.2", "2025-02-06T00:00:00Z"),
        ("v0.6.6.post1", "2024-12-27T00:00:00Z"),
        ("v0.6.6", "2024-12-26T00:00:00Z"),
    ],
}
FILLED_IN = "Your output of `python collect_env.py` here"
MARCH = epoch_s("2025-03-20T00:00:00Z")


@pytest.fixture
def releases(github: GitHub) -> GitHub:
    for repository, tags in TAGS.items():
        github.releases[repository] = [release(repository, tag, at) for tag, at in tags]
    github.releases["vllm-project/vllm"][0]["prerelease"] = True
    return github


def listed(github: GitHub, repository: str) -> list[Release]:
    return read_releases(Client(github.token, github.url), repository)


def named(*tags: str) -> list[Release]:
    """Releases a day apart, the newest first."""
    return [Release(tag=tag, published_at=MARCH - 86_400 * (1 + days)) for days, tag in enumerate(tags)]


def said(version: str, releases: list[Release], at: float = MARCH, text: str = "") -> str | None:
    sign = gate(version, 3, text, releases, at)
    return sign.name if sign else None


@pytest.mark.parametrize(
    ("repository", "version", "name"),
    [
        ("deepspeedai/DeepSpeed", "0.16.4", "affects-latest"),
        ("deepspeedai/DeepSpeed", "0.16.4+cu124", "affects-latest"),
        ("deepspeedai/DeepSpeed", "0.9.5", "old-version"),
        ("deepspeedai/DeepSpeed", "0.15", "old-version"),  # one of 0.15
        ("deepspeedai/DeepSpeed", "0.16", None),  # any of 0.16, the newest too
        ("deepspeedai/DeepSpeed", "0.15.9", None),  # there is none
        ("deepspeedai/DeepSpeed", "0.17.0", None),
        ("NVIDIA/Megatron-LM", "0.11.0", "affects-latest"),
        ("NVIDIA/Megatron-LM", "0.9.0", "old-version"),
        ("NVIDIA/Megatron-LM", "3.0.2", None),  # another line of releases
        ("vllm-project/vllm", "0.7.3", "affects-latest"),
        ("vllm-project/vllm", "v0.7.3", "affects-latest"),
        ("vllm-project/vllm", "0.8.0rc2", None),
        ("vllm-project/vllm", "0.6.6", "old-version"),
        ("vllm-project/vllm", "0.6.6.post1", "old-version"),
        ("vllm-project/vllm", "0.7.3.dev12+g1b2c3d4", None),
        ("vllm-project/vllm", "0.7.2 or 0.7.3", None),
    ],
)
def test_a_version_is_held_against_three_repositories_releases(
    releases: GitHub, repository: str, version: str, name: str | None
) -> None:
    assert said(version, listed(releases, repository)) == name


def test_the_gate_is_of_the_day_on_which_a_report_was_filed(releases: GitHub) -> None:
    there = listed(releases, "vllm-project/vllm")
    assert said("0.7.2", there, epoch_s("2025-02-10T00:00:00Z")) == "affects-latest"
    assert said("0.7.2", there, epoch_s("2025-02-21T00:00:00Z")) == "old-version"
    assert said("0.6.6", there, epoch_s("2020-01-01T00:00:00Z")) is None


def test_a_repository_without_releases_has_no_gate(releases: GitHub) -> None:
    assert listed(releases, "owner/repo") == [] and said("1.0.0", []) is None
    undated = release("owner/repo", "v1.0", "?")
    releases.releases["owner/repo"] = [release("owner/repo", "v9.0", None), {"tag_name": 7}, undated]
    assert listed(releases, "owner/repo") == []


@pytest.mark.parametrize(
    ("tags", "version", "name"),
    [
        (("nightly", "ciflow/trunk/1", "v2.1.0", "latest", "v2.0.0", "weekly-2024.06.01-x"), "2.1.0", "affects-latest"),
        (("v2.27.3-1", "v2.26.2-1"), "2.27.3", "affects-latest"),  # NCCL's package revision
        (("ray-2.9.3", "ray-2.9.2"), "2.9.2", "old-version"),
        (("1.5.3", "v1.5.2"), "1.5.2", "old-version"),
        (("v1.15.1", "v2.1.0", "v2.0.0", "v1.15.0"), "1.15.1", None),  # an older line's later release
        (("v1.15.1", "v2.1.0", "v2.0.0", "v1.15.0"), "2.1.0", "affects-latest"),
        (("v1.15.1", "v2.1.0", "v2.0.0", "v1.15.0"), "2.0.0", "old-version"),
        (("v2.0", "v1.9"), "2.0.0", "affects-latest"),
        (("v" + "1." * 5000 + "0", "x" * 100_000, "v1.0.0"), "1.0.0", "affects-latest"),
    ],
)
def test_odd_tags_and_two_lines_of_releases(tags: tuple[str, ...], version: str, name: str | None) -> None:
    assert said(version, named(*tags)) == name


def test_a_report_that_names_the_newest_release_too_is_not_about_an_old_one() -> None:
    there = named("v0.4.4.post2", "v0.4.4", "v0.4.3")
    assert said("0.4.4", there, text="SGLang 0.4.4 post2 fails") is None
    assert said("0.4.3", there, text="in 0.4.3 and in v0.4.4.post2") is None
    assert said("0.4.3", there, text="in 0.4.3, on 10.4.4.post2.1 and 0.4.4") == "old-version"
    assert said("2.0", named("v2.0.0", "v1.15.0"), text="[TF2.0] fails. Version: 2.1.0-dev20191218") is None
    assert said("0.8.5", named("v0.8.5"), text="torch 2.8.0.dev20250501") == "affects-latest"
    assert said("1.11", named("v1.12.0", "v1.11.0"), text="all of 1.11 and 1.12 hang") is None


def sign_names(title: str, body: str, identifier: str = "vllm-project/vllm#1") -> dict[str, str]:
    return {one.name: one.says for one in signs_of(read(IssueReport(title, body, identifier)), is_failure=True)}


@pytest.mark.parametrize(
    ("body", "regression"),
    [
        ("It works in v0.6.3, but hangs in 0.6.4.\n\nvLLM Version: 0.6.4", "Worked in 0.6.3, fails in 0.6.4."),
        ("After upgrading from 0.6.3 to 0.6.4 it hangs.", "Worked in 0.6.3, fails in 0.6.4."),
        ("It should work in 0.6.3.\n\nvLLM Version: 0.6.4", None),
        ("vLLM 0.6.4 works, and 0.6.3 hangs.", None),  # mended, no regression
        ("It still fails in 0.6.3 and 0.6.4.", None),
    ],
)
def test_a_regression_needs_a_plain_sentence(body: str, regression: str | None) -> None:
    assert sign_names("It hangs", body).get("regression") == regression


def test_a_regression_of_another_product_is_not_the_trackers() -> None:
    body = "torch 2.3.0 works, torch 2.4.0 hangs.\n\nvLLM Version: 0.6.4"
    assert "regression" not in sign_names("It hangs", body)
    assert "regression" in sign_names("It hangs", "torch 2.3.0 works, torch 2.4.0 hangs.", "pytorch/pytorch#1")
    assert sign_names("It hangs", "works in 0.6.3, hangs in 0.6.4", "") == {}


def test_the_product_of_a_report_about_a_part_of_pytorch_is_pytorch() -> None:
    says = sign_names("FSDP hangs", "torch 2.3.0 works, torch 2.4.0 hangs.", "pytorch/pytorch#1")["regression"]
    assert says == "Worked in 2.3.0, fails in 2.4.0."


@pytest.mark.parametrize(
    ("body", "unreleased"),
    [
        ("vLLM Version: 0.6.4.post2.dev205+gef31eabc", True),
        ("vLLM Version: 0.1.dev3896+ga491d6f.d20250103", True),
        ("vllm main branch, commit 6aca583420490d8bebafc6239085b49f78325c0c", True),
        ("vllm commit 6aca583420490d8bebafc6239085b49f78325c0c", False),  # may be that of a release
        ("vLLM Version: 0.6.4.post1", False),
        ("vLLM Version: 0.6.4+cu124", False),
    ],
)
def test_a_build_between_releases(body: str, unreleased: bool) -> None:
    assert ("unreleased" in sign_names("It hangs", body)) is unreleased


@pytest.mark.parametrize(
    ("title", "body", "sign"),
    [
        ("It hangs", "### Describe the bug\n\n_No response_\n\n### Environment\n\n_No response_", "empty-form"),
        ("It hangs", "### Describe the bug\n\nAll ranks wait.\n\n### Environment\n\n_No response_", None),
        ("It hangs", "### Describe the bug\n\nSee #12.\n\n### Environment\n\n_No response_", None),
        (
            "It hangs",
            f"### Your current environment\n\n```text\n{FILLED_IN}\n```\n\n### Bug\n\nIt hangs.",
            "placeholder-left",
        ),
        ("It hangs", f"### Your current environment\n\nvLLM 0.8.5\n{FILLED_IN}\n\n### Bug\n\nIt hangs.", None),
        ("Two bugs in the loader", "First it hangs.", "several-problems"),
        ("It hangs", "I found two issues with `generate`: it hangs, and it leaks.", "several-problems"),
        ("It hangs", "## Bug 1\nIt hangs.\n\n## Bug 2\nIt leaks.", "several-problems"),
        ("It hangs", "There are several issues like this: #12, #13.", None),
        ("It hangs", "I have seen several issues that are like this one.", None),
        ("It hangs", "It hangs on two nodes.", None),
    ],
)
def test_what_a_report_lacks(title: str, body: str, sign: str | None) -> None:
    lacking = {"empty-form", "placeholder-left", "several-problems"}
    assert lacking & set(sign_names(title, body)) == ({sign} if sign else set())


def test_several_wishes_are_not_several_problems() -> None:
    wish = read(IssueReport("Three issues to work on", "Support two more models.", "vllm-project/vllm#1"))
    assert signs_of(wish, is_failure=False) == []


def test_the_form_tells_the_build_of_a_title_s_release() -> None:
    body = "TensorFlow version (use command below): 2.0.0.dev20190514"
    assert "unreleased" in sign_names("[TF2.0] It hangs", body, "tensorflow/tensorflow#1")


def test_a_sign_that_is_offered_was_right_often_enough() -> None:
    lines = (REPOSITORY / "training" / "corpus" / "signs.jsonl").read_text(encoding="utf-8").splitlines()
    judged = [row for row in map(json.loads, lines) if "right" in row]
    assert len({(row["id"], row["sign"]) for row in judged}) == len(judged)
    for name, kind in kinds().items():
        right = [row["right"] for row in judged if row["sign"] == name]
        assert (kind.right, kind.of) == (sum(right), len(right)) and kind.precision >= 0.95
    assert {row["sign"] for row in judged} == set(kinds())


def test_hostile_text_costs_no_time_and_says_nothing_of_its_own() -> None:
    evil = "works in 0.6.3 </code><script>alert(1)</script> " + "0.6." * 20_000 + "\nvLLM Version: 0.6.4`<b>"
    for says in sign_names("@team " + "1." * 9000, evil).values():
        assert not set("<>`@") & set(says) and len(says) < 120


# ---------------------------------------------------------------- the table


def test_a_table_is_read_once_a_day(releases: GitHub, tmp_path: Path) -> None:
    table, now = tmp_path / "releases.json", [1e9]
    client = Client(releases.token, releases.url)

    def update(*names: str) -> dict[str, int]:
        return update_table(table, names, client, lambda: now[0])

    assert update("vllm-project/vllm", "NVIDIA/Megatron-LM") == {"vllm-project/vllm": 5, "nvidia/megatron-lm": 5}
    now[0] += KEPT_S - 1
    assert update("VLLM-project/vllm", "deepspeedai/DeepSpeed") == {"deepspeedai/deepspeed": 4}
    now[0] += 1
    releases.releases["nvidia/megatron-lm"] = releases.releases["NVIDIA/Megatron-LM"]  # GitHub ignores case
    assert set(update()) == {"vllm-project/vllm", "nvidia/megatron-lm"}
    assert len(json.loads(table.read_text())["repositories"]) == 3
    assert len([one for one in releases.requests if "/releases" in one.path]) == 5


def test_the_command_line_says_the_gate(
    releases: GitHub, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keyword_bundle: Path
) -> None:
    monkeypatch.setenv("GITHUB_API_URL", releases.url)
    table = tmp_path / "releases.json"
    done = command("releases", "update", table, "vllm-project/vllm")
    assert done.out == "vllm-project/vllm: 5 releases\n", done
    assert "less than a day ago" in command("releases", "update", table).out
    issue = tmp_path / "issue.json"
    issue.write_text(json.dumps({"id": "vllm-project/vllm#1", "title": "hangs", "body": "vLLM Version: 0.7.2"}))
    asked = ("classify", issue, "--model", keyword_bundle, "--releases", table)
    assert "old-version: States 0.7.2; 0.7.3 was out. (line 1)" in command(*asked).out
    (sign,) = json.loads(command(*asked, "--json").out)["signs"]
    assert sign == {"name": "old-version", "says": "States 0.7.2; 0.7.3 was out.", "line": 1}
    batch = tmp_path / "issues.jsonl"
    batch.write_text(issue.read_text() + "\n")
    many = command("classify", batch, "--model", keyword_bundle, "--releases", table, "--workers", "1").out
    assert json.loads(many)["signs"] == [sign]
    table.write_text("[]")
    assert_one_line(command(*asked), "releases.json", "expected")
    assert_one_line(command("releases", "update", table, "vllm"), "expected owner/repo")


def test_a_classifier_with_releases_holds_versions_against_them(keyword_classifier: Classifier) -> None:
    report = IssueReport("hangs", "vLLM Version: 0.7.2", "vllm-project/vllm#1")
    assert keyword_classifier.classify(report).signs == []
    keyword_classifier.releases = {"vllm-project/vllm": named("v0.7.2", "v0.7.1")}
    try:
        assert [sign.name for sign in keyword_classifier.classify(report).signs or ()] == ["affects-latest"]
    finally:
        keyword_classifier.releases = {}
