"""`distriage doctor`: its options, and its answer for people and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from distriage.commands.machine import Machine


def doctor(
    environment: Annotated[
        Path | None,
        typer.Argument(help="A virtual or Conda environment; default: the active one, else this program's."),
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Say which versions on this machine do not fit together, before a run; exit code 1 if there are any."""
    from distriage.commands.machine import known_problems, read_machine, unfit

    machine = read_machine(environment)
    found = [
        {"problem": str(one), "remedy": one.remedy, "source": one.source, **_apart(one._asdict())}
        for one in unfit(machine)
    ]
    found += [{"problem": one.problem, "remedy": one.remedy, "source": one.source} for one in known_problems(machine)]
    if json_:
        stated = {**machine._asdict(), "libraries": [one._asdict() for one in machine.libraries], "problems": found}
        typer.echo(json.dumps(stated, indent=2, default=dict))
    else:
        _print(machine, found)
    if found:
        raise typer.Exit(1)


def _apart(stated: dict[str, str]) -> dict[str, Any]:
    return {"mismatch": {name: value for name, value in stated.items() if name != "source"}}


def _print(machine: Machine, found: list[dict[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    from distriage.answer.screen import show
    from distriage.base.terminal import output, printable

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    rows = {
        "environment": machine.place,
        "Python": machine.python,
        "CUDA of torch": machine.cuda,
        "nvcc": machine.nvcc,
        "driver": machine.driver,
        "GPUs": ", ".join(machine.gpus) or None,
        **{f"NCCL of {one.path}": one.version for one in machine.libraries},
        **machine.packages,
    }
    for name, value in rows.items():
        table.add_row(Text(printable(name)), Text(printable(value)) if value else Text("not found", style="dim"))
    problems = [
        Text.assemble((printable(one["problem"]), "bold red"), f" {one['remedy']} ", (one["source"], "dim"))
        for one in found
    ]
    show(output(), table, Text(), *(problems or [Text("Nothing that does not fit is known.", style="green")]))
