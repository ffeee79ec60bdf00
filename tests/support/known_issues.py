"""Known issues for the toy model of `keyword_model.py`, and its bundle with an index of them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from distriage.model.bundle import INDEX
from distriage.model.taxonomy import parse_taxonomy
from distriage_training.corpus.records import Record
from distriage_training.release.index import write_index

from support.keyword_model import TAXONOMY, seal

TOY = parse_taxonomy(TAXONOMY, "toy")


def issue(number: int, title: str, body: str, symptom: str = "hang", fix: str = "patch", **changes: Any) -> Record:
    values = {
        "split": "train",
        "source": "toys",
        "origin": "restated",
        "group": "toy",
        "url": f"https://github.com/Own/Repo/issues/{number}",
    }
    labels = {"kind": "bug", "symptom": symptom, "fix": fix}
    return Record(f"Own/Repo#{number}", title, body, **{"labels": labels, **values, **changes})


ISSUES = [
    issue(
        1,
        "Watchdog barks at the ring",
        "The ring of eight waits for the watchdog.",
        "hang",
        "tuning",
        note="one rank left the ring",
    ),
    issue(2, "Embedding table is too big", "The embedding table does not fit.", "oom", "tuning"),
    issue(3, "Secret words of a reporter", "The tokenizer falls over its own feet.", "crash", "patch", origin="raw"),
    issue(4, "Checkpoint grows", "Each checkpoint of the embedding grows.", "leak", "patch"),
]


def build(bundle: Path, folder: Path) -> Path:
    """Copy the toy bundle and give it an index of `ISSUES`."""
    shutil.copytree(bundle, folder)
    write_index(ISSUES, TOY, folder / INDEX)
    return seal(folder, extra=[INDEX])
