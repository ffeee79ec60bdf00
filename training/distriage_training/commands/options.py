"""Options that the sub-commands of training share, and a check of the extra they need."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from distriage.base.extras import needs_extra

if TYPE_CHECKING:
    from rich.console import Console

TEXTS = Path(".corpus/texts.jsonl")  # the local store of raw texts
ConfigArgument = Annotated[Path, typer.Argument(metavar="CONFIG", help="A configuration, e.g. configs/base.toml.")]
BASE = Path("configs/base.toml")
ModelOption = Annotated[
    str | None, typer.Option("--model", help="A bundle's folder or a shipped model; default: the configuration's name.")
]
SplitOption = Annotated[str, typer.Option(help="validation or test.")]


def training(extra: str = "train") -> AbstractContextManager[None]:
    """Wraps a training command: `needs_extra`, and tokenizers without threads of their own."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    return needs_extra(extra)


def named_model(model: str | None, name: str) -> str:
    """The model asked for, else the one with the configuration's name: its folder in `models` if there is one."""
    folder = Path("models") / name
    return model or (str(folder) if folder.is_dir() else name)


def check_split(split: str) -> None:
    """Refuse any split but those to measure on.

    Raises:
        typer.BadParameter: neither validation nor test.
    """
    if split not in {"validation", "test"}:
        raise typer.BadParameter(f"{split!r}: expected validation or test", param_hint="--split")


def wide_console() -> Console:
    """Where tables are printed; a file or a pipe takes wide ones, so that no column is cut."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else 160)
