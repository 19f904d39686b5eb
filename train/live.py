"""A run to look at: a line for each evaluation, and in a terminal a bar of the time."""

from __future__ import annotations

import time
from dataclasses import dataclass

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from train.evaluation import Score
from train.learner import Learner
from train.run import Run

BAR = 32  # characters of a rate of 100%
_COLUMNS = ("seconds", "moves", "deals won", "95% interval", "")


@dataclass(frozen=True)
class Line:
    """One evaluation: when it was, and the deals won with their interval."""

    seconds: float
    moves: int
    won: float
    low: float
    high: float

    def words(self) -> tuple[str, str, str, str]:
        """Its figures as they are shown."""
        interval = f"{self.low:.0%} … {self.high:.0%}"
        return f"{self.seconds:.0f}", f"{self.moves:,}", f"{self.won:.0%}", interval


def bar(line: Line, *, ascii_only: bool = False) -> str:
    """A rate as a bar: its lower half of the interval shaded, its upper half shaded lightly.

    >>> bar(Line(0, 0, 0.5, 0.25, 0.75), ascii_only=True)
    '########++++++++........        '
    """
    sure, likely, possible = "#+." if ascii_only else "█▓░"
    low, won, high = (round(BAR * rate) for rate in (line.low, line.won, line.high))
    return (sure * low + likely * (won - low) + possible * (high - won)).ljust(BAR)


class View:
    """Shows evaluations as they come: a table that grows in a terminal, plain lines elsewhere."""

    def __init__(self, console: Console, against: str, seconds: float) -> None:
        self.console = console
        self.lines: list[Line] = []
        self._title = f"Deals won against {against}"
        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(BAR), TimeRemainingColumn(),
            TextColumn("{task.fields[now]}"),
        )  # fmt: skip
        self._task = self._progress.add_task("training", total=seconds, now="")
        self._live = Live(console=console, refresh_per_second=4)

    def __enter__(self) -> View:
        if self.console.is_terminal:
            self._live.start()
            self._show()
        else:
            self.console.print(self._title)
        return self

    def __exit__(self, *_: object) -> None:
        if self.console.is_terminal:
            self._progress.update(self._task, visible=False)
            self._show()
            self._live.stop()

    def tell(self, text: str) -> None:
        """Say something in words."""
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def add(self, line: Line) -> None:
        """Show an evaluation."""
        self.lines.append(line)
        if self.console.is_terminal:
            self._show()
            return
        seconds, moves, won, interval = line.words()
        drawn = bar(line, ascii_only=self.console.options.ascii_only).rstrip()
        self.tell(f"{seconds:>4} s {moves:>10} moves {won:>5} ({interval}) {drawn}")

    def advance(self, seconds: float, now: str) -> None:
        """Move the bar of the time."""
        if self.console.is_terminal:
            self._progress.update(self._task, completed=seconds, now=now)

    def _show(self) -> None:
        table = Table(title=self._title, title_justify="left", box=None, pad_edge=False)
        for name in _COLUMNS:
            table.add_column(name, justify="right" if name else "left", no_wrap=True)
        for line in self.lines:
            drawn = bar(line, ascii_only=self.console.options.ascii_only)
            table.add_row(*line.words(), Text(drawn, style="green"))
        self._live.update(Group(table, self._progress), refresh=True)


def watch(learner: Learner, against: str, minutes: float, console: Console | None = None) -> View:
    """Train for so many minutes, evaluations included, and show the deals won against an agent.

    The run ends with the evaluation that is nearest to its time, and at least one. `against` must
    be among the agents of the settings. Returns what was shown.
    """
    view = View(console or Console(), against, 60 * minutes)
    begun = time.monotonic()
    last = 0.0  # seconds at the last evaluation

    def scored(scores: dict[str, Score]) -> None:
        nonlocal last
        now = time.monotonic() - begun
        view.add(_line(now, learner, scores[against]))
        if now + (now - last) / 2 > 60 * minutes:
            run.stop()
        last = now

    def told(at: Learner, figures: dict[str, float]) -> None:
        now = f"{at.moves:,} moves, {figures['charts/SPS']:,.0f}/s"
        view.advance(time.monotonic() - begun, now)

    run = Run(learner, False, view.tell, scored)
    with view:
        view.add(_line(0, learner, run.score(against)))  # before it learns anything
        last = time.monotonic() - begun
        run.train(told)
    return view


def _line(seconds: float, learner: Learner, score: Score) -> Line:
    return Line(seconds, learner.moves, score.won, score.low, score.high)
