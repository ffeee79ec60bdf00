"""What the sub-commands of training share: options, and the extra that they need."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from distriage.errors import MissingExtraError

ConfigArgument = Annotated[Path, typer.Argument(metavar="CONFIG", help="A configuration, e.g. configs/base.toml.")]
ModelOption = Annotated[str | None, typer.Option("--model", help="A bundle's folder or a shipped model; default: the configuration's name.")]
SplitOption = Annotated[str, typer.Option(help="validation or test.")]


@contextmanager
def needs_extra(name: str = "train") -> Iterator[None]:
    """Turn a missing package into one line that names the extra to install.

    Raises:
        MissingExtraError: a package of the extra is missing.
    """
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("distriage"):
            raise
        raise MissingExtraError(f"this command needs {error.name}; type: pip install 'distriage[{name}]'") from None


def named_model(model: str | None, name: str) -> str:
    """The model that was asked for, else the one of the configuration's name: its folder in `models` where there is one."""
    folder = Path("models") / name
    return model or (str(folder) if folder.is_dir() else name)


def check_split(split: str) -> None:
    """Refuse what is no split to measure on.

    Raises:
        typer.BadParameter: neither validation nor test.
    """
    if split not in {"validation", "test"}:
        raise typer.BadParameter(f"{split!r}: expected validation or test", param_hint="--split")
