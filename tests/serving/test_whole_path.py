"""docs/whole-path.md: each command runs, in order, and prints what the page shows but for its figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'distriage[learn]'")

from support import chromium
from support.command_line import Command
from support.whole_path import BODY, NEW, SHOWN, TITLE, TRACKER, plain, steps, walk


@pytest.mark.slow
@pytest.mark.usefixtures("kept_graphs")
def test_a_maintainer_goes_the_whole_way(
    shipped_bundle: Path, command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    del shipped_bundle  # the default model, which must be there
    monkeypatch.setattr(
        "distriage.engine.spread.FEW", 1_000
    )  # two processes more would load the model for 60 issues each
    page = steps()
    assert sum(line.startswith("distriage ") for step in page for line in step.commands) == 11
    with walk(tmp_path, tmp_path if chromium.IS_HERE else None, every=2, length=160) as walker:
        for step in page:
            if step.commands[0].startswith("distriage reviews"):
                before = walker.own()
            printed = [line for command_line in step.commands for line in walker.run(command_line).splitlines()]
            shown = {plain(line) for line in step.output.splitlines()} - {""}
            assert bool(printed) == bool(shown) and (not shown or shown & set(map(plain, printed))), step.commands
            if step.commands[0].startswith("distriage config"):  # with half of the issues, labels change their order
                assert sorted(step.output.splitlines()) == sorted([*printed[:SHOWN], "..."])
        past = walker.page("/past")
        after = walker.own()
        report = tmp_path / "new.md"
        report.write_text(f"{TITLE}\n{BODY}", encoding="utf-8")
        said = json.loads(command("classify", report, "--own", tmp_path / "own" / TRACKER, "--json").out)["own"]
    assert "<span>#1</span>" in past, "the issue that says the same is named"
    assert before != after == said, "the server reads the new heads"
    for name in ("backtest.html", "review.html", f"own/{TRACKER}/report.html"):
        assert (tmp_path / name).read_text(encoding="utf-8").startswith("<!doctype html>")
    assert f"`{TRACKER}#{NEW}`" in (tmp_path / "summary.md").read_text(encoding="utf-8")
