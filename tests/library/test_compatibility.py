"""The table of versions that fit together, and the versions of a report that do not."""

from __future__ import annotations

import csv
from datetime import date
from importlib import resources

import pytest
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from distriage.facts.compatibility.matrix import COLUMNS, RELEASES, compute_of, listed_releases, mismatches
from distriage.facts.compatibility.misfits import misfits
from distriage.facts.compatibility.requirements import PACKAGES, requirements_of
from distriage.facts.environment import facts_of
from distriage.segments import split

ROWS = list(
    csv.reader(resources.files("distriage.facts.compatibility").joinpath("matrix.csv").read_text("utf-8").splitlines())
)
LISTS = {RELEASES, "compute", "cuda", "rocm"}


def of(body: str, identifier: str = "") -> list[str]:
    segments = split("", body)
    return [str(one.what) for one in misfits(facts_of(segments, identifier), segments)]


def test_each_row_has_its_source_its_day_and_a_readable_requirement() -> None:
    assert tuple(ROWS[0]) == COLUMNS
    for package, first, last, needs, specifier, day, source in ROWS[1:]:
        assert Version(first) <= Version(last), package
        assert source.startswith("https://") and date.fromisoformat(day)
        try:
            assert str(SpecifierSet(specifier))
        except InvalidSpecifier:
            assert needs in LISTS, (package, needs, specifier)


def test_the_releases_of_every_package_are_listed() -> None:
    assert all(listed_releases(package) for package in PACKAGES)


@pytest.mark.parametrize(
    ("versions", "said"),
    [
        (
            {"torch": "2.8.0", "nvidia-nccl-cu12": "2.21.5"},
            ["torch 2.8.0 comes with NCCL 2.27.3; here it is 2.21.5."],
        ),
        ({"torch": "2.8.0", "nvidia-nccl-cu12": "2.27.3"}, []),
        ({"torchvision": "0.19.0", "torch": "2.3.1"}, ["torchvision 0.19.0 requires torch 2.4.0; here it is 2.3.1."]),
        ({"torchvision": "0.19.0", "torch": "2.4"}, []),  # too short to tell
        ({"torchvision": "0.19.0", "torch": "2.3.1a0+git1"}, []),  # somebody's own
        ({"torchvision": "0.19.99", "torch": "2.3.1"}, []),  # never released
        ({"cuda": "12.4", "driver": "470.82.01"}, ["CUDA 12.4 requires an NVIDIA driver >=525; here it is 470.82.01."]),
        ({"cuda": "12.4", "driver": "535.1"}, []),
    ],
)
def test_two_versions_fit_or_do_not(versions: dict[str, str], said: list[str]) -> None:
    assert list(map(str, mismatches(versions))) == said


@pytest.mark.parametrize(
    ("torch", "gpu", "count"),
    [
        ("2.9.0+cu128", "Tesla V100-SXM2-16GB", 0),
        ("2.9.0+cu130", "Tesla V100-SXM2-16GB", 1),
        ("2.9.0+cu126", "NVIDIA GeForce RTX 5090", 1),
        ("2.9.0", "NVIDIA GeForce RTX 5090", 0),
        ("2.9.0+cu126", "Some GPU", 0),
    ],
)
def test_a_build_without_kernels_for_the_gpu_does_not_fit(torch: str, gpu: str, count: int) -> None:
    assert len(mismatches({"torch": torch}, gpu)) == count


@pytest.mark.parametrize(
    ("name", "capability"),
    [("NVIDIA H100 80GB HBM3", "9.0"), ("A100-SXM4-40GB", "8.0"), ("NVIDIA A10G", "8.6"), ("Apple M1", None)],
)
def test_a_gpu_has_its_compute_capability(name: str, capability: str | None) -> None:
    assert compute_of(name) == capability


def test_metadata_gives_what_counts_on_linux() -> None:
    requires = (
        "torch (==2.4.0)",
        "numpy>=1; python_version < '3.11'",
        "numpy>=2; python_version >= '3.11'",
        "triton==3.0.0; platform_system == 'Linux'",
        "peft>=1; extra == 'all'",
        "requests>=2",
    )
    assert requirements_of(requires, ">=3.9") == {"python": ">=3.9", "torch": "==2.4.0", "triton": "==3.0.0"}


def test_a_report_that_lists_two_that_do_not_fit_is_told() -> None:
    body = "torchvision::nms does not exist.\n\n```\ntorch==2.3.1\ntorchvision==0.19.0\nnumpy==1.26.4\n```"
    assert of(body) == ["torchvision 0.19.0 requires torch 2.4.0; here it is 2.3.1."]


@pytest.mark.parametrize(
    "body",
    [
        "```\ntorch==2.3.1\ntorch==2.4.0\ntorchvision==0.19.0\n```",  # two releases: two environments
        "It works with torch 2.4.0, and fails with torch 2.3.1.\n\n```\ntorchvision==0.19.0\n```",
        "```\ntorch==2.4.0\ntorchvision==0.19.0\n```",
        "It hangs.",
    ],
)
def test_nothing_is_said_unless_certain(body: str) -> None:
    assert of(body) == []
