"""Tables of results, made once and shown in the terminal, in Markdown and in reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """Rows of texts under columns; the first column holds names, the others numbers."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def markdown(self) -> str:
        """As a Markdown table, without title, the note behind it."""
        lines = [self.columns, ["---", *["---:"] * (len(self.columns) - 1)], *self.rows]
        text = "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)
        return text + (f"\n{self.note}\n" if self.note else "")

    def show(self) -> None:
        """Print it for people."""
        from rich.console import Console
        from rich.table import Table as Drawn
        from rich.text import Text

        drawn = Drawn()
        for place, column in enumerate(self.columns):
            drawn.add_column(Text(column), justify="left" if place == 0 else "right")
        for row in self.rows:
            drawn.add_row(*map(Text, row))
        console = Console()
        console.print(Text(self.title, style="bold"))
        console.print(drawn)
        if self.note:
            console.print(Text(self.note))


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")
