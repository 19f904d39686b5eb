"""`planner`: a rule bot that plans its hand, counts cards, and plays to the plan."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agents.hand_plan import HandPlanner
from agents.planner_tribute import tribute_rows
from agents.planner_weights import WEIGHTS, PlannerWeights
from agents.play_features import NAMES, Candidates, play_features
from agents.thoughts import Rated
from guandan_env import legality
from guandan_env.decisions import Decisions
from guandan_env.state import Phase

# Decisions that are worked on together: their tables then fit the processor's cache.
_TOGETHER = 512


class Planner:
    """Judges every legal play by the hand it leaves and by what it does to the trick.

    1. *Plan.* The hand that a play leaves is cut into the plays of the highest value together: as
       few turns as can be, with as many as can be that win the lead back (`hand_plan`). Wilds go
       where they are worth most. So low cards that nothing goes with leave first, bombs and
       straight flushes are kept whole, and sequences are broken only for something better.
    2. *Count.* What beats a play, and how many of those cards are still out, among the opponents
       and not the partner, says how likely the play stands (`card_count`); a play that nobody can
       beat is known for sure.
    3. *Judge.* The value of the rest, the chance that the play stands, and circumstances are named
       features of a play (`play_features`): whether an opponent is nearly out (danger) and could
       go out over this play, whether the partner could, how near the own hand is to its end,
       whether a pass leaves the trick to an opponent, to the partner, or the partner may still
       answer, what a bomb is spent on. Their sum with the weights of the situation (leading, over
       an opponent, over the partner; `planner_weights`) is the score, and the best play is made;
       among equals the lowest row.
    4. *Tribute* by the value of the hand without the card (`planner_tribute`).

    Nothing is drawn by chance, remembered, or taken from other decisions of the batch.
    """

    name = "planner"
    version = "planner-v1"

    def __init__(self, weights: PlannerWeights = WEIGHTS) -> None:
        self.weights = weights
        self._planner = HandPlanner(weights.plan)
        self._plays = {name: np.array(weights.plays[name]) for name in NAMES}

    def reset(self) -> None:
        """Nothing is remembered."""

    def act(self, decisions: Decisions) -> NDArray[np.int64]:
        """A legal row for each decision, `(n,)`."""
        number = legality.count(decisions.packed)
        chosen = legality.select(decisions.packed, np.zeros(len(decisions), dtype=np.int64))
        playing = decisions.phase == Phase.PLAY
        plays = np.flatnonzero(playing & (number > 1))
        for start in range(0, len(plays), _TOGETHER):
            some = plays[start : start + _TOGETHER]
            chosen[some] = self._best_plays(decisions.take(some))
        tribute = np.flatnonzero(~playing & (number > 1))
        if tribute.size:
            asked = decisions.take(tribute)
            chosen[tribute] = tribute_rows(asked, self._planner, self.weights.help_partner)
        return chosen

    def scores(self, decisions: Decisions) -> tuple[Candidates, NDArray[np.float64]]:
        """All legal plays of decisions in the phase of play, and the score of each `(m,)`.

        The weights were found for choices drawn from a softmax of the scores, so a difference of 1
        makes a play about e times as likely.
        """
        plays = play_features(decisions, self._planner)
        situation = plays.situation[plays.of]
        score = np.zeros(len(plays.of))
        # Added one by one: a matrix product may round differently in batches of other sizes.
        for name in NAMES:
            score += self._plays[name][situation] * plays.values[name]
        return plays, score

    def rated(self, decisions: Decisions) -> Rated:
        """The scores of all plays, see `thoughts.Thinker`; nothing of tribute."""
        playing = np.flatnonzero(decisions.phase == Phase.PLAY)
        if not playing.size:
            return Rated(playing, playing, np.zeros(0))
        plays, score = self.scores(decisions.take(playing))
        return Rated(playing[plays.of], plays.rows, score)

    def _best_plays(self, decisions: Decisions) -> NDArray[np.int64]:
        plays, score = self.scores(decisions)
        best = np.maximum.reduceat(score, plays.start)
        hit = np.flatnonzero(score == best[plays.of])
        first = hit[np.searchsorted(plays.of[hit], np.arange(len(decisions)))]
        rows: NDArray[np.int64] = plays.rows[first]
        return rows
