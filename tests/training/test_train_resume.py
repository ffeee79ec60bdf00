"""`distriage train --resume`: only with the settings and the data that a run was begun with."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from distriage.base.errors import ConfigError
from distriage_training.config import Config
from distriage_training.corpus.load import load_splits
from distriage_training.fit.run import WEIGHTS, note_beginning
from distriage_training.fit.train import train

from support.runs import TAXONOMY, four_steps


@pytest.fixture
def begun(tmp_path: Path) -> tuple[Config, Path]:
    """A run that was interrupted after its first checkpoint."""
    config, run = four_steps(tmp_path), tmp_path / "run"
    note_beginning(run, config, TAXONOMY, load_splits(config, TAXONOMY).trained_sha256())
    (run / "checkpoint-2").mkdir()
    (run / "checkpoint-2" / "trainer_state.json").touch()
    return config, run


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("finished", [False, True])
@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"training": {"epochs": 7}}, r"begun with training\.epochs = 1(\.0)?, found 7(\.0)?; --resume needs the same"),
        ({"encoder": {"max_tokens": 32}}, r"begun with encoder\.max_tokens = 48, found 32; --resume needs"),
        ({"top": {"seed": 8}}, r"begun with seed = 7, found 8; --resume needs"),
        ({"data": {"limit": 40}}, r"begun with other data; --resume needs the same\. Train anew with another --output"),
    ],
)
def test_other_settings_or_data_are_refused(
    begun: tuple[Config, Path], tmp_path: Path, finished: bool, tables: dict[str, Any], message: str
) -> None:
    """The weights are not theirs, and the record and the model card would say so."""
    _, run = begun
    if finished:
        (run / WEIGHTS).write_bytes(b"hours of work")
    before = contents(run)
    with pytest.raises(ConfigError, match=f"^{re.escape(str(run))}: {message}"):
        train(four_steps(tmp_path, **tables), run, resume=True, console=Console(file=io.StringIO()))
    assert contents(run) == before


@pytest.mark.parametrize("kept", [True, False])
def test_a_finished_run_is_complete(begun: tuple[Config, Path], kept: bool) -> None:
    """With or without its checkpoints."""
    config, run = begun
    (run / WEIGHTS).write_bytes(b"hours of work")
    if not kept:
        (run / "checkpoint-2" / "trainer_state.json").unlink()
    before = contents(run)
    out = io.StringIO()
    assert train(config, run, resume=True, console=Console(file=out, width=500)) == run / WEIGHTS
    assert f"{run}: the run is complete; nothing to resume" in out.getvalue()
    assert contents(run) == before
