"""Messages to the runner of GitHub Actions: warnings, outputs, the step summary. Writes to standard output and to the
runner's files.

Facts: https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions. A line of standard output that
begins with `::` is a command, so foreign text is printed only through `warning` and `error`.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path

from distriage.base.errors import InputError

MAX_SUMMARY_BYTES = (1 << 20) - 4096  # GitHub drops a summary of more than 1 MiB whole
_CUT = "\n\n(cut here: GitHub shows at most 1 MiB)\n"


def escape_data(text: str) -> str:
    """A message inside a workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    """A value between `::error ` and `::`."""
    return escape_data(text).replace(":", "%3A").replace(",", "%2C")


def warning(message: str) -> None:
    """Show a warning at the run, without failing it."""
    _print(f"::warning title=Distriage::{escape_data(message)}")


def error(message: str) -> None:
    """Show an error at the run."""
    _print(f"::error title=Distriage::{escape_data(message)}")


def error_at(file: str, line: int, message: str) -> None:
    """Mark a line of a file, in a pull request too."""
    _print(f"::error title=Distriage,file={escape_property(file)},line={line}::{escape_data(message)}")


def notice(message: str) -> None:
    """One line of the log, of our own words."""
    _print(f"distriage: {' '.join(message.split())}")


def _print(line: str) -> None:
    sys.stdout.write(line.encode("utf-8", "replace").decode("utf-8") + "\n")
    sys.stdout.flush()


def write_outputs(values: Mapping[str, str]) -> None:
    """Set outputs of the step. The delimiter is random, so that no value can end it and set another output.

    Raises:
        InputError: the runner's file cannot be written.
    """
    blocks = []
    for name, value in values.items():
        delimiter = f"distriage_{secrets.token_hex(16)}"
        blocks.append(f"{name}<<{delimiter}\n{value}\n{delimiter}\n")
    _append("GITHUB_OUTPUT", "".join(blocks))


def write_summary(markdown: str) -> None:
    """Add to the step summary, cut where it would become too large.

    Raises:
        InputError: the runner's file cannot be written.
    """
    content = markdown.encode("utf-8", "replace")
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    used = Path(path).stat().st_size if path and Path(path).is_file() else 0
    room = MAX_SUMMARY_BYTES - used
    if len(content) > room:
        content = content[: max(0, room - len(_CUT))] + _CUT.encode()
    _append("GITHUB_STEP_SUMMARY", content.decode("utf-8", "ignore"))


def _append(variable: str, text: str) -> None:
    path = os.environ.get(variable)
    if not path:  # outside of a runner
        return
    try:
        with Path(path).open("a", encoding="utf-8", newline="\n") as stream:
            stream.write(text.encode("utf-8", "replace").decode("utf-8"))
    except OSError as error:
        raise InputError(f"{variable}: {path} cannot be written: {error.strerror}") from None
