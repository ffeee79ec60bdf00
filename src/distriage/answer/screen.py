"""Lines and tables on a terminal, with Rich. Lines wrap at its width."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text

from distriage.answer.render import Cell, Grid, Line


def print_parts(console: Console, parts: Iterable[Line | Grid]) -> None:
    """Print lines and tables, one under the other."""
    show(console, *(found for part in parts for found in _rendered(console, part)))


def show(console: Console, *parts: RenderableType) -> None:
    """Print one under the other; in a pipe without the blanks that fill a terminal's lines."""
    if console.is_terminal:
        console.print(Group(*parts))
        return
    with console.capture() as captured:
        console.print(Group(*parts))
    console.file.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def _rendered(console: Console, part: Line | Grid) -> Iterator[RenderableType]:
    if isinstance(part, Line):
        text = Text.assemble(*map(_text, part.cells), overflow="ellipsis" if part.cut else "fold", no_wrap=part.cut)
        yield Padding(text, (0, 0, 0, part.indent), expand=False) if part.indent else text
        return
    unbounded = console.options.update(width=10_000)  # else a table is never measured wider than the terminal
    for gap in (2, 1):  # between columns; the narrower one where the terminal needs it
        table = _table(part, gap)
        if not part.else_lines or console.measure(table, options=unbounded).maximum <= console.width:
            yield table
            return
    for line in part.else_lines:
        yield from _rendered(console, line)


def _table(part: Grid, gap: int) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), show_header=bool(part.heads))
    for place, head in enumerate(part.heads or ("",) * len(part.rows[0])):
        side: Literal["left", "right"] = "right" if place in part.right else "left"
        table.add_column(head, justify=side, header_style="dim", overflow="fold", no_wrap=place in part.whole)
    for row in part.rows:
        table.add_row(*map(_text, row))
    return table


def _text(cell: Cell) -> Text:
    return Text(cell.text, Style(link=cell.link) if cell.link else cell.style)
