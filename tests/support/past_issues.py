"""A repository's past issues whose labels follow from words, and what `distriage learn` makes of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

REPOSITORY = "owner/repo"
DAY_S = 86_400
WORDS = {"docs": "The page of the manual has a typo", "crash": "segfault in the loader", "speed": "It is slow, grows"}


def past_issue(number: int, text: str, labels: Sequence[str], **changes: Any) -> dict[str, Any]:
    """An item as GitHub lists it, filed on day `number`."""
    return {
        "number": number,
        "title": f"{text} {number}",
        "body": f"{text}. Version {number % 7}.",
        "html_url": f"https://github.com/{REPOSITORY}/issues/{number}",
        "created_at": f"2024-{1 + number // 28 % 12:02}-{1 + number % 28:02}T00:00:00Z",
        "user": {"type": "User"},
        "labels": list(labels),
        **changes,
    }


def plain_history(count: int = 300) -> list[dict[str, Any]]:
    """Issues with `docs`, `crash` or `speed`, told by their words; every fourth is `stale`, some have a rare label."""
    items = []
    for number in range(count):
        label = list(WORDS)[number % 3]
        extra = ["stale"] * (number % 4 == 0) + ["rare"] * (number % 60 == 0)
        items.append(past_issue(number, WORDS[label], [label, *extra]))
    return items


def write_history(file: Path, items: Sequence[Mapping[str, Any]]) -> Path:
    """A file as `distriage.github.history` keeps it."""
    header = {"format": 1, "repository": REPOSITORY, "fetched_at": 1.7e9}
    lines = [header, {"items": list(reversed(items)), "next": None}]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return file


def learned_folder(folder: Path, bundle: Path, items: Sequence[Mapping[str, Any]] | None = None) -> Path:
    """What `distriage learn` writes for these items; None: for `plain_history`."""
    from distriage.classifier import Classifier
    from distriage.github.history import load_history
    from distriage_training.learn.examples import Wishes, usable
    from distriage_training.learn.features import features_of
    from distriage_training.learn.run import learn_and_measure, write
    from distriage_training.learn.thresholds import Promise

    folder.mkdir(parents=True, exist_ok=True)
    _, history = load_history(write_history(folder / "history.jsonl", plain_history() if items is None else items))
    classifier, past, promise = Classifier(bundle, threads=1), usable(history.issues), Promise(0.8, 0.9)
    rows = features_of(classifier, past.kept, lambda *_: None, workers=1)
    result = learn_and_measure(past, Wishes(), rows, promise, lambda *_: None)
    write(folder / "own", REPOSITORY, classifier, result, promise)
    return folder / "own"
