"""What a run tells: TensorBoard, and `curve.csv` with one line an evaluation and opponent."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from types import TracebackType

from torch.utils.tensorboard import SummaryWriter

from eval.duplicate import Terms, play_pairs
from guandan_env.aside import written_aside
from guandan_env.decisions import Agent
from guandan_env.rules import RuleSet
from train.evaluation import EVAL_SEED, Score
from train.learner import Learner

COLUMNS = (
    "update",
    "moves",
    "decisions",
    "deals",
    "hours",
    "against",
    "won",
    "low",
    "high",
    "gain",
)
SAMPLE_DEALS = 2


class Log:
    """The logs of one run, opened where its learner stands: what was beyond is dropped."""

    def __init__(self, folder: Path, learner: Learner) -> None:
        self.learner = learner
        self._curve = folder / "curve.csv"
        self._writer = SummaryWriter(str(folder / "tensorboard"), purge_step=learner.updates + 1)
        self._cut()
        text = json.dumps(learner.config.as_dict(), indent=1)
        self._writer.add_text("hyperparameters", f"```\n{text}\n```", learner.updates)

    def __enter__(self) -> Log:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._writer.close()

    def figures(self, figures: dict[str, float]) -> None:
        """An update's figures."""
        learner = self.learner
        counts = {"moves": learner.moves, "deals": learner.deals, "decisions": learner.decisions}
        for name, value in figures.items():
            self._writer.add_scalar(name, value, learner.updates)
        for name, count in counts.items():
            self._writer.add_scalar(f"charts/{name}", count, learner.updates)

    def score(self, name: str, score: Score) -> None:
        """An evaluation against one agent."""
        learner = self.learner
        for what in ("won", "low", "high", "gain"):
            self._writer.add_scalar(f"eval/{name}/{what}", getattr(score, what), learner.updates)
        line = (
            learner.updates, learner.moves, learner.decisions, learner.deals,
            round(learner.seconds / 3600, 4), name,
            *(round(x, 4) for x in (score.won, score.low, score.high, score.gain)),
        )  # fmt: skip
        with self._curve.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file).writerow(line)

    def evaluation_seconds(self, seconds: float) -> None:
        """How long an evaluation took."""
        self._writer.add_scalar("charts/evaluation_seconds", seconds, self.learner.updates)

    def deals(self, player: Agent) -> None:
        """A few deals of the present policy with itself, as text."""
        learner = self.learner
        rules = RuleSet.preset(learner.config.rules)
        terms = Terms(rules=rules, seed=EVAL_SEED, record=True)
        pairs = play_pairs(player, player, 0, SAMPLE_DEALS, terms)
        for number, records in enumerate(pairs.records):
            text = json.dumps(records[0], ensure_ascii=False)
            self._writer.add_text(f"deals/{number}", f"```\n{text}\n```", learner.updates)

    def _cut(self) -> None:
        """Have the curve end where the learner stands."""
        lines = [list(COLUMNS)]
        if self._curve.is_file():
            with self._curve.open(newline="", encoding="utf-8") as file:
                rows = list(csv.reader(file))[1:]
            lines += [
                r for r in rows if len(r) == len(COLUMNS) and int(r[0]) <= self.learner.updates
            ]
        with written_aside(self._curve) as out:
            out.write("".join(",".join(line) + "\n" for line in lines).encode())
