"""Configurations of a repository, and how they are read."""

from __future__ import annotations

import pytest

from distriage.model.taxonomy import default_taxonomy
from distriage_serving.configuration.file import parse_config
from distriage_serving.configuration.model import (
    RepositoryConfig,
)
from distriage_serving.configuration.problems import RepositoryConfigError

TAXONOMY = default_taxonomy()
COMPLETE = """
mode: precise
axes:
  stage: true
  symptom:
    mode: balanced
    prefix: "failure/"
    color: d93f0b
    labels:
      runtime-hang: hang
      setup-hang: hang
      native-crash: false
      device-out-of-memory: {name: OOM, color: "#FF0000", description: Out of memory, mode: best}
    families:
      labels:
        memory: memory trouble
  distributed:
    color: 000000
    labels:
      true: distributed
      false: false
  fix: false
needs-triage: needs-triage
comment: |
  Thank you.
  {{ axes }} {{questions}} {{ labels }} {{ model }}
ask-for-environment: true
create-labels: false
dry-run: true
ignore:
  authors: ["*[bot]", alice]
  labels: [wontfix]
  titles: ["[RFC]*"]
"""


def parse(text: str) -> RepositoryConfig:
    """A configuration without mistakes."""
    return parse_config(text, "distriage.yml", TAXONOMY)


def problems(text: str) -> list[str]:
    """The mistakes of one, a line each."""
    with pytest.raises(RepositoryConfigError) as caught:
        parse(text)
    assert all("\n" not in str(problem) for problem in caught.value.problems)
    return [str(problem) for problem in caught.value.problems]
