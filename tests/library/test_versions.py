"""The framework that a report is about, and the versions that it names."""

from __future__ import annotations

import pytest

from distriage.facts.environment import find_facts
from distriage.facts.projects import projects


@pytest.mark.parametrize("name", list(projects().names))
def test_every_framework_is_known_with_its_version(name: str) -> None:
    """A part of PyTorch has PyTorch's."""
    is_part = projects().names[name] in projects().parts
    facts = find_facts("", f"It fails with {name} of torch 1.2.3" if is_part else f"It fails with {name} 1.2.3")
    assert (facts.framework, facts.framework_version) == (projects().names[name], "1.2.3")


def test_a_framework_in_letters_that_only_case_folding_knows_is_read() -> None:
    assert find_facts("", "f\u017fdp hangs").framework == "PyTorch FSDP"
