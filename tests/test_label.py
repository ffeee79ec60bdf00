"""A label is added in two files, its entry in `taxonomy.toml` and its playbook; everything else reads them."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from distriage.answer.playbooks import AXES, playbook_of
from distriage.model.taxonomy import Taxonomy, default_taxonomy, default_taxonomy_text, parse_taxonomy

from support.checkout import REPOSITORY

ENTRY = """
[[symptom]]
id = "token-loss"
family = "correctness"
definition = "Tokens that an engine accepted are missing from the answer."
source = "ours"
since = "1.1.0"
means = ["goes-on"]
aliases = ["lost tokens"]
"""
VERSION = f'version = "{default_taxonomy().version}"'
PLAYBOOK = """
[token-loss]
looks = "A request of 512 tokens is answered with 500, and no log shows an error."
confirm = ["Count the tokens of each request and of each answer."]
unlike = "Tokens are missing. If they are there and wrong, it is `incorrect-output`."
fixes = "Drain the queue before the engine is rebuilt."
ask = ["The request and the answer"]
checks = [{ needs = ["slow"], say = "Count the tokens that go into and come out of the scheduler." }]
"""
# What each place says of the new label, in a process that imports the edited copy.
SCRIPT = """
import json, sys
from pathlib import Path
from distriage.answer.playbooks import checks_for
from distriage.answer.questions import missing_facts
from distriage.commands.taxonomy import taxonomy_answer
from distriage.facts.environment import EnvironmentFacts
from distriage.facts.situation import Situation
from distriage.model.bundle import Bundle
from distriage.model.taxonomy import default_taxonomy, parse_taxonomy
from distriage_serving.configuration.draft import TheirLabel, draft
from distriage_serving.configuration.model import config_schema
from labels import label_pages

taxonomy = default_taxonomy()
older = parse_taxonomy(sys.stdin.read(), "of a bundle").with_use_of(taxonomy)
spoken_of = Situation(library="PyTorch", subjects=frozenset({"error"}))
json.dump(
    {
        "ids": list(taxonomy.axis("symptom").label_ids),
        "listed": [label.id for label in taxonomy_answer(taxonomy, [taxonomy.axis("symptom")]).axes["symptom"].labels],
        "checks": checks_for(taxonomy, {"symptom": "token-loss"}, Situation(seen=frozenset({"slow"}))),
        "asked": [
            missing.fact
            for missing in missing_facts(
                EnvironmentFacts("DeepSpeed", "0.18"),
                has_error=False,
                likely=taxonomy.labels_of({"symptom": "token-loss"}),
                situation=spoken_of,
            )
        ],
        "draft": draft("o/r", [TheirLabel("lost tokens")], taxonomy),
        "schema": json.dumps(config_schema(taxonomy)),
        "page": label_pages()["labels/symptoms.md"],
        "older": sorted(older.axis("symptom").label("token-loss").means),
        "shipped": list(Bundle(Path(sys.argv[1]), whole=False).taxonomy.axis("symptom").label_ids),
    },
    sys.stdout,
)
"""


def test_a_label_that_is_added_in_two_files_is_known_everywhere(tmp_path: Path, shipped_bundle: Path) -> None:
    for package in ("src/distriage", "serving/distriage_serving"):
        shutil.copytree(REPOSITORY / package, tmp_path / package.rpartition("/")[2])
    for file, text in (("model/taxonomy.toml", ENTRY), ("answer/playbooks/symptom.toml", PLAYBOOK)):
        with (tmp_path / "distriage" / file).open("a", encoding="utf-8") as stream:
            stream.write(text)
    edited = tmp_path / "distriage" / "model" / "taxonomy.toml"
    edited.write_text(edited.read_text(encoding="utf-8").replace(VERSION, 'version = "1.1.0"'), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(shipped_bundle)],
        input=default_taxonomy_text() + ENTRY.replace("goes-on", "hang"),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{REPOSITORY / 'docs' / 'generator'}"},
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert "token-loss" in said["ids"] and "token-loss" in said["listed"]
    assert said["checks"] == ["Count the tokens that go into and come out of the scheduler."]
    assert said["asked"] == [], "no error is asked for: the run goes on"
    assert 'token-loss: "lost tokens"' in said["draft"]
    assert '"token-loss"' in said["schema"]
    assert "A request of 512 tokens" in said["page"]
    assert said["older"] == ["goes-on"], "a bundle's own copy is older than the edit"
    assert "token-loss" not in said["shipped"], "the shipped model loads, and knows nothing of it"


def forgotten(taxonomy: Taxonomy) -> list[str]:
    """What labels lack that code needs."""
    labels = [(axis, label) for axis in taxonomy.axes for label in taxonomy.axes[axis].labels if label.retired is None]
    return [
        *(
            f"{label.id}: no playbook"
            for axis, label in labels
            if axis in AXES and not playbook_of(taxonomy, axis, label.id)
        ),
        *(f"{label.id}: no source" for axis, label in labels if axis != "kind" and not label.source),
    ]


def test_nothing_is_forgotten_of_a_label() -> None:
    assert forgotten(default_taxonomy()) == []
    bare = '\n[[symptom]]\nid = "token-loss"\ndefinition = "Tokens are missing."\n'
    added = parse_taxonomy(default_taxonomy_text() + bare, "taxonomy.toml")
    assert forgotten(added) == ["token-loss: no playbook", "token-loss: no source"]


def strings(path: Path) -> Iterator[str]:
    """A module's strings, without its docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in texts:
            yield node.value


@pytest.mark.parametrize("folder", ["src/distriage", "serving/distriage_serving"])
def test_no_code_names_a_label(folder: str) -> None:
    """Whatever is known of it stands in its entry. Help texts may show one."""
    ids = {label for axis in ("stage", *AXES) for label in default_taxonomy().axis(axis).label_ids} - {"inference"}
    found = {
        f"{path.relative_to(REPOSITORY)}: {text}"
        for path in (REPOSITORY / folder).rglob("*.py")
        for text in strings(path)
        if text in ids
    }
    assert found == set()
