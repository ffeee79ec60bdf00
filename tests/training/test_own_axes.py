"""docs/own-axes.md from the first listing to a verdict, on a toy table."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'distriage[train]'")

from support.checkout import REPOSITORY
from support.command_line import Command

PAGE = (REPOSITORY / "docs" / "own-axes.md").read_text(encoding="utf-8")


def listing(name: str) -> str:
    found = re.search(rf'^```\w+ title="{re.escape(name)}"\n(.*?)^```$', PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None, name
    return found[1]


@pytest.mark.slow
def test_the_page_s_commands_lead_from_a_table_to_a_verdict(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    header, *rows = listing("issues.csv").splitlines()
    # Four lines show the form; a model needs a few more.
    many = [row.replace(",", f" {number},", 1) for number in range(12) for row in rows]
    Path("labels.toml").write_text(listing("labels.toml"), encoding="utf-8")
    Path("issues.csv").write_text("\n".join([header, *many]) + "\n", encoding="utf-8")
    Path("test.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    Path("acme.toml").write_text(
        listing("acme.toml").replace("max_tokens = 128", "max_tokens = 32").replace("epochs = 3", "epochs = 1"),
        encoding="utf-8",
    )
    Path("report.md").write_text("pip install fails\n\nNo wheel, gcc is missing.", encoding="utf-8")
    steps = [line for line in PAGE.splitlines() if line.startswith("distriage ")]
    assert [step.split()[1] for step in steps] == ["train", "export", "evaluate", "classify"]
    for step in steps:
        done = command(*shlex.split(step)[1:])
        assert done.code == 0, (step, done.err)
    verdict = json.loads(command("classify", "report.md", "--model", "acme", "--json").out)
    assert verdict["axes"].keys() == {"area"} and verdict["axes"]["area"]["label"] in {"install", "training"}
