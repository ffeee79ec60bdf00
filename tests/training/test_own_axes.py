"""docs/own-axes.md from the first listing to a verdict, on a toy table."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'distriage[train]'")

from distriage.model.bundle import Bundle
from distriage_training.fit.run import RUN_INFO, WEIGHTS

from support.checkout import REPOSITORY
from support.command_line import Command, assert_one_line

PAGE = (REPOSITORY / "docs" / "own-axes.md").read_text(encoding="utf-8")


def listing(name: str) -> str:
    found = re.search(rf'^```\w+ title="{re.escape(name)}"\n(.*?)^```$', PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None, name
    return found[1]


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_the_page_s_commands_lead_from_a_table_to_a_verdict(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With a column of groups and published figures beside; `--sparse-only` and `--record` on the way."""
    monkeypatch.chdir(tmp_path)
    header, *rows = listing("issues.csv").splitlines()
    # Four lines show the form; a model needs a few more.
    many = [row.replace(",", f" {number},", 1) + f",o/r{number % 2}" for number in range(15) for row in rows]
    many = [f"{row},https://github.com/o/r/issues/{number}" for number, row in enumerate(many, 1)]
    Path("labels.toml").write_text(listing("labels.toml"), encoding="utf-8")
    for name, part in (("issues.csv", many[:48]), ("test.csv", many[48:])):
        Path(name).write_text("\n".join([f"{header},repo,url", *part]) + "\n", encoding="utf-8")
    settings = listing("acme.toml").replace("max_tokens = 128", "max_tokens = 16").replace("epochs = 3", "epochs = 1")
    settings = settings.replace("layers = 2", "layers = 1").replace("[data]", '[data]\ngroup_column = "repo"')
    Path("acme.toml").write_text(f'{settings}[published]\n"Other system" = 0.5\n', encoding="utf-8")
    Path("report.md").write_text("pip install fails\n\nNo wheel, gcc is missing.", encoding="utf-8")
    train, export, evaluate, classify = [
        shlex.split(line)[1:] for line in PAGE.splitlines() if line.startswith("distriage ")
    ]

    done = command(*train)
    assert done.code == 0, done.err
    assert f"weights: run/{WEIGHTS}" in done.err
    weights = Path("run", WEIGHTS).read_bytes()
    assert_one_line(command(*train), "run: holds the checkpoint checkpoint-")
    done = command(*train, "--sparse-only")
    assert done.code == 0, done.err
    assert Path("run", WEIGHTS).read_bytes() == weights

    done = command(*export)
    assert done.code == 0, done.err
    assert "bundle: acme" in done.err
    known = json.loads(str(np.load("acme/index.npz")["records"]))
    assert f"note: index.npz holds the addresses of {len(known)} issues, in plain text" in done.err
    assert known[0][1].startswith("https://github.com/o/r/issues/")
    manifest = Bundle(Path("acme")).manifest
    assert manifest.axes["area"].labels == ("install", "training")
    assert manifest.provenance.records == json.loads(Path("run", RUN_INFO).read_text(encoding="utf-8"))["records"]

    done = command(*evaluate, "--record")
    assert done.code == 0, done.err
    assert "# acme, split test (12 reports)" in done.out and "| Other system (published) | 0.500 |" in done.out
    document = json.loads(Path("runs", "acme-test", "metrics.json").read_text(encoding="utf-8"))
    groups = {key: row for key, row in document["groups"]["area"].items() if key.startswith("group ")}
    assert set(groups) == {"group o/r0", "group o/r1"}
    mean = sum(row["macro_f1"] for row in groups.values()) / 2
    assert document["group_macro_f1_mean"]["area"] == pytest.approx(mean)
    assert document["axes"]["area"]["accuracy"] > 0.9  # the words of each line tell the labels apart
    assert document["axes"]["area"]["majority"]["accuracy"] == pytest.approx(1 / 2)
    card = Path("acme", "README.md").read_text(encoding="utf-8")
    assert "## Evaluation (test split)" in card and "reports of the table `issues.csv`" in card

    assert "install" in command(*classify).out
    verdict = json.loads(command(*classify, "--json").out)
    assert verdict["axes"].keys() == {"area"} and verdict["axes"]["area"]["label"] == "install"
