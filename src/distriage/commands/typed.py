"""Runs a command line; what the parser of options refuses becomes one line like every error of ours."""

from __future__ import annotations

import sys
from typing import Any

import typer

from distriage.base.errors import InputError
from distriage.base.validation import plain

_REFUSED: Any = typer.BadParameter.__mro__[1]  # `UsageError`, which Typer does not export


def run(app: typer.Typer, called: str | None = None) -> None:
    """Do what was typed, and end.

    Args:
        called: How the command is typed, where that is not the name of the program's file.

    Raises:
        InputError: the parser refuses it.
    """
    try:
        code = app(standalone_mode=False, prog_name=called)
    except _REFUSED as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # which has printed the help
            sys.exit(2)
        raise InputError(_in_one_line(error)) from None
    except typer.Abort:
        sys.exit(130)
    sys.exit(code)


def _in_one_line(error: Any) -> str:
    """The option, its value and what was expected; for another slip, what it is and where to read on."""
    if error.message and isinstance(error, typer.BadParameter):
        place = error.param_hint or "/".join(error.param.opts if error.param is not None else ())
        said = plain(error.message).partition(", unable to parse")[0].removesuffix(".")
        faults: list[Any] = getattr(error.__cause__, "errors", list)()  # pydantic's, which has the value
        found = repr(faults[0]["input"]) if faults else ""
        return f"{place}: {said}" + (f", found {found}" if found not in said else "")
    slip: str = error.format_message()
    if error.ctx is None:
        return slip
    return f"{slip}{'' if slip.endswith(('.', '?')) else '.'} See `{error.ctx.command_path} --help`"
