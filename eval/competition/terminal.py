"""What a person at the terminal sees of a competition: draws, progress, results, standings."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from eval.competition.page import faults, figure, headings
from eval.competition.play import Done
from eval.competition.results import DRAW, Pairing, Round
from eval.competition.running import Listener, Now
from eval.competition.scoring import Line
from eval.tables import Table

MOST_LINES = 64  # of a table; the page has all


class Terminal(Listener):
    """Shows each draw before its round is played, and the standings after it."""

    def __init__(self) -> None:
        self._console = Console()
        self._bar: Progress | None = None
        self._shown: set[tuple[int, int]] = set()

    def drawn(self, now: Now, known: bool) -> None:
        """The draw of a round, and what is known of it already."""
        present = now.present
        assert present is not None
        stage = now.competition.stages[present.stage].name
        round = present.round
        rows = [
            (str(number), _name(now, pairing.a), _name(now, pairing.b), pairing.label)
            for number, pairing in enumerate(round.pairings, 1)
        ]
        terms = f"{round.deals} deals, the same at all tables" if round.deals else ""
        note = (terms or round.terms.told()) + ("; goes on where it was" if known else "")
        self._table(f"{stage}, {round.name}: the draw", ("match", "", "", ""), rows, note)
        matches = sum(pairing.b is not None for pairing in round.pairings)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
                   TimeElapsedColumn())  # fmt: skip
        # Progress is no result: it does not belong into a file that standard output goes to.
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._bar.add_task("matches", total=matches, completed=len(now.results))
        self._bar.start()

    def played(self, now: Now, games: Sequence[Done], left: int) -> None:
        """How far the round is."""
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=len(now.results))

    def round_over(self, now: Now, lines: Sequence[Line]) -> None:
        """Results and standings."""
        self.stop()
        stage = max(i for i, own in enumerate(now.history) if own)
        past = now.history[stage][-1]
        name = now.competition.stages[stage].name
        rows = []
        for pairing, result in zip(past.round.pairings, past.results, strict=True):
            if result is None:
                continue
            score = f"{result.levels:+d} levels" if past.round.deals else result.score()
            goes_on = "" if past.round.deals else _winner(now, past.round, pairing, result.winner)
            rows.append((_name(now, pairing.a), _name(now, pairing.b), score, goes_on))
        self._table(f"{name}, {past.round.name}: results", ("", "", "", "won by"), rows)
        self._standings(now, f"{name}, after {past.round.name}", lines)

    def stop(self) -> None:
        """Take the progress bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def over(self, now: Now) -> None:
        """Everybody's place at the end, and what went wrong."""
        name = now.competition.name
        self._standings(now, f"{name}: places", now.course.ranking(now.history))
        for entrant, agent, cause, text, count in faults(now):
            line = f"{entrant} ({agent}): {count} × {cause}, the first: {text}"
            self._console.print(Text(line, style="bold red"))

    def _standings(self, now: Now, title: str, lines: Sequence[Line]) -> None:
        shown = [name for name in headings(lines) if name not in ("place", "club", "agents")]
        rows = [
            (
                f"{line.place}. {_name(now, line.entrant)}",
                *(figure(line, name) for name in shown[1:]),
            )
            for line in lines
        ]
        self._table(title, shown, rows)

    def _table(
        self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], note: str = ""
    ) -> None:
        if len(rows) > MOST_LINES:
            more = f"and {len(rows) - MOST_LINES} more, on the page"
            rows, note = rows[:MOST_LINES], f"{note}; {more}" if note else more
        Table(title, columns, rows, note).show()


def _name(now: Now, entrant: int | None) -> str:
    return "bye" if entrant is None else now.competition.entrants[entrant].name


def _winner(now: Now, round: Round, pairing: Pairing, winner: int) -> str:
    if winner == DRAW:
        return "drawn"
    return _name(now, pairing.a if winner == 0 else pairing.b)
