"""The checkout that a file lies in: part of where a result comes from."""

from __future__ import annotations

import subprocess
from pathlib import Path


def commit_of(folder: Path) -> str:
    """The commit of the checkout around a folder, with `-dirty` where tracked files were changed; `unknown` outside."""
    return _git(folder, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*") or "unknown"


def name_in_checkout(path: Path) -> str:
    """A path from the top of its checkout, so that it is the same in a clone; outside, the last part of it."""
    top = _git(path if path.is_dir() else path.parent, "rev-parse", "--show-toplevel")
    return path.resolve().relative_to(Path(top).resolve()).as_posix() if top else path.name


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, capture_output=True, text=True, encoding="utf-8", check=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
