"""Playing agents on a suite of deals, and keeping what comes out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations

from eval.crosstable import CrossTable
from eval.duplicate import Pairs
from eval.identity import Identity, identify
from eval.match import Match
from eval.parts import Progress
from eval.store import Result, Store
from eval.suites import Suite
from guandan_env.conduct import Conduct
from guandan_env.errors import GuandanError


@dataclass(frozen=True)
class Benchmark:
    """How agents are compared: the first `deals` of a suite, each played from both sides."""

    suite: Suite
    deals: int
    illegal_play: str = "error"
    workers: int = 1

    def __post_init__(self) -> None:
        if not 2 <= self.deals <= self.suite.count:
            raise GuandanError(
                f"--deals is {self.deals}; {self.suite.name} allows 2 to {self.suite.count}"
            )

    def match(self, a: str, b: str) -> Match:
        """The match of two specs."""
        conduct = Conduct.preset(self.suite.rules).replace(illegal_play=self.illegal_play)
        terms = self.suite.terms(conduct=conduct, context={"suite": self.suite.name})
        return Match(a, b, self.deals, terms, workers=self.workers)

    def play(
        self, a: Identity, b: Identity, store: Store, progress: Progress | None = None
    ) -> tuple[Pairs, Result]:
        """Play a match; the store gets it when it is whole.

        After Ctrl-C both are of fewer deals and the store has nothing.
        """
        pairs = self.match(a.spec, b.spec).play(progress)
        result = Result.of(a, b, self.suite, pairs, self.illegal_play)
        if result.deals == self.deals:
            store.add(result)
        return pairs, result

    def known(self, store: Store) -> list[Result]:
        """What the store has of this suite, cut to as many deals.

        Results with failures are left out if other conduct was in force.
        """
        return [
            result.head(self.deals)
            for result in store.results()
            if result.suite_sha256 == self.suite.sha256
            and (result.illegal_play == self.illegal_play or not any(result.figures["failures"]))
        ]

    def missing(
        self, agents: Sequence[Identity], results: Sequence[Result]
    ) -> list[tuple[int, int]]:
        """Pairs of agents, by index, whose match on all the deals is not among the results."""
        whole = [result for result in results if result.deals >= self.deals]
        met = CrossTable(agents, whole).duels
        return [pair for pair in combinations(range(len(agents)), 2) if pair not in met]


def identities(specs: Sequence[str]) -> list[Identity]:
    """Who plays, each once, in the order given; raises `AgentError` for a spec that is none."""
    return list(dict.fromkeys(identify(spec) for spec in specs))


@contextmanager
def progress_of(deals: int, what: str, show: bool) -> Iterator[Progress | None]:
    """A progress bar for one match, on standard error; None where none is to be shown."""
    if not show:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar
    from rich.progress import TimeRemainingColumn as Remaining

    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
        Remaining(), TextColumn("{task.fields[rate]}", markup=False),
    )  # fmt: skip
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=2 * deals, rate="")
        yield lambda done, rate: bar.update(task, completed=done, rate=f"{rate:.1%} won")
