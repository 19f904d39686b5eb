"""`greedy`: the yardstick that everything else is measured against, specified and frozen.

What `Greedy` does is fixed under the version `greedy-v1`: a change of any decision is a new
version. It looks at nothing but its hand, the play to beat and the numbers of cards held.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from guandan_env import legality
from guandan_env.actions import (
    FIRST_CARD,
    IS_BOMB,
    IS_PLAY,
    LEVEL_KEY,
    NUM_ACTIONS,
    PASS,
    RESIST,
    ROW_KEY,
    ROW_PATTERN,
    ROW_SIZE,
    ROW_WILDS,
    SEQUENCES,
    STRENGTH,
    Pattern,
)
from guandan_env.cards import KIND_RANK, NUM_KINDS, NUM_RANKS, RANKS
from guandan_env.decisions import Decisions
from guandan_env.state import Phase

FEW_CARDS = 10
LEVEL_HEIGHT = 13
JACK = RANKS.index("J")


class Mode(IntEnum):
    """Which of the orders of preference over the rows applies."""

    LEAD = 0
    FOLLOW = 1  # over an opponent, saving wilds and bombs
    ALARM = 2  # over an opponent, whatever it takes
    PARTNER = 3  # over the partner
    TRIBUTE = 4  # resist, pay and choose


class Greedy:
    """Gets rid of low cards first, and spends wilds and bombs only when it must.

    Terms. A *natural* play has no wild and is no bomb; a *wild* play has a wild and is no bomb;
    bombs (with or without wilds) include straight flushes and the joker bomb. The *height* of a
    play puts the keys of all patterns on one scale: 0…12 for a key 2…A, 13 for the level rank,
    14 and 15 for the jokers; straights, tubes and plates have the height of their lowest card in
    natural order, -1 when that is an A. Inside a pattern a play beats another exactly if its
    height is greater. Bombs are compared by what they beat. Whatever remains equal is decided by
    the row number in the action table: the lowest.

    Leading: a natural play if there is one, else a wild play, else a bomb. Among natural and
    among wild plays: the lowest height, and of these the one with most cards. Among bombs: the
    smallest.

    Following an opponent's play:

    1. the natural play of the lowest height that beats it;
    2. failing that, if the *alarm* is on, the wild play of the lowest height that beats it, else
       the smallest bomb that beats it;
    3. failing that, a pass.

    The alarm is on if an opponent still in the deal holds ten cards or fewer, or if the play to
    beat (an opponent's) has the height of the level rank or of a joker, or is the joker bomb, or
    is a bomb of the level rank.

    Following the partner's play: the natural play of the lowest height that beats it, if that
    height is below the jack's (9); else a pass. Never a wild play, never a bomb.

    Tribute: resists whenever it may. Pays, and where it may pick a card picks, the eligible card
    with the lowest row number: of equal ranks the first suit in the order S, H, C, D. Returns,
    of the eligible cards, one of a rank that it holds once, so that no pair or larger group is
    broken, the lowest in level order (RULES 3.1), the first suit; if there is none, the lowest
    eligible card likewise. The wild comes last.
    """

    name = "greedy"
    version = "greedy-v1"

    def reset(self) -> None:
        """Nothing is remembered."""

    def act(self, decisions: Decisions) -> NDArray[np.int64]:
        """A legal row for each decision, `(n,)`."""
        modes = _modes(decisions)
        level = decisions.level.astype(np.int64)
        number = legality.count(decisions.packed)
        at = np.repeat(np.arange(len(decisions)), number)
        rows = np.flatnonzero(decisions.mask.view(bool)) - at * NUM_ACTIONS
        places = PLACE[modes[at], level[at], rows]
        first = np.cumsum(number) - number
        best = np.minimum.reduceat(places, first) if len(decisions) else places
        chosen = PREFERENCE[modes, level, best].astype(np.int64)
        returning = np.flatnonzero(decisions.phase == Phase.RETURN)
        if returning.size:
            chosen[returning] = FIRST_CARD + _returned_kinds(decisions, returning)
        return chosen


def heights(level: int) -> NDArray[np.int64]:
    """Height `(2244,)` of every row at a level (see `Greedy`); of bombs, that of the rank."""
    key = ROW_KEY.astype(np.int64)
    of_rank = np.arange(LEVEL_KEY + 1)
    of_rank[[NUM_RANKS, NUM_RANKS + 1]] = LEVEL_HEIGHT + 1, LEVEL_HEIGHT + 2
    of_rank[[level, LEVEL_KEY]] = LEVEL_HEIGHT
    in_sequence = (key + 1) % NUM_RANKS - 1
    return np.where(np.isin(ROW_PATTERN, SEQUENCES), in_sequence, of_rank[key])


def _preferences(level: int) -> NDArray[np.int16]:
    """Rows from the best liked to the least, `(5, 2244)` by mode, at a level."""
    height, strength = heights(level), STRENGTH[level].astype(np.int64)
    row = np.arange(NUM_ACTIONS)
    is_wild = IS_PLAY & ~IS_BOMB & (ROW_WILDS > 0)
    # 0 natural, 1 wild, 2 bomb, 3 pass, 4 rows that are no plays.
    group = np.select([IS_BOMB, is_wild, IS_PLAY, row == PASS], [2, 1, 0, 3], 4)
    value = np.where(IS_BOMB, strength, height)
    length = np.where(IS_BOMB, 0, -ROW_SIZE.astype(np.int64))
    saving = np.where(group == 3, 0.5, group)
    over_partner = np.where((group == 0) & (height >= JACK), 1, saving)
    orders = {
        Mode.LEAD: np.lexsort((row, length, value, group)),
        Mode.FOLLOW: np.lexsort((row, value, saving)),
        Mode.ALARM: np.lexsort((row, value, group)),
        Mode.PARTNER: np.lexsort((row, value, over_partner)),
        Mode.TRIBUTE: np.lexsort((row, row != RESIST)),
    }
    return np.stack([orders[mode] for mode in Mode]).astype(np.int16)


# [mode, level, place]: the row in that place of the order; and [mode, level, row]: its place.
PREFERENCE: NDArray[np.int16] = np.stack(
    [_preferences(level) for level in range(NUM_RANKS)], axis=1
)
PLACE: NDArray[np.int16] = np.argsort(PREFERENCE, axis=-1).astype(np.int16)
# [level, row]: an opponent's play that is answered with wilds and bombs, if need be.
_ALARMING: NDArray[np.bool_] = np.stack(
    [
        (IS_PLAY & ~np.isin(ROW_PATTERN, SEQUENCES) & (heights(level) >= LEVEL_HEIGHT))
        | (ROW_PATTERN == Pattern.JOKER_BOMB)
        for level in range(NUM_RANKS)
    ]
)


def _modes(decisions: Decisions) -> NDArray[np.int64]:
    """The mode `(n,)` of each decision."""
    seat = decisions.seat.astype(np.int64)
    opponents = (seat[:, None] + (1, 3)) % 4
    left = np.take_along_axis(decisions.counts, opponents, axis=1)
    alarm = ((left > 0) & (left <= FEW_CARDS)).any(axis=1)
    alarm |= _ALARMING[decisions.level, decisions.lead]
    partner = decisions.lead_seat == (seat + 2) % 4
    return np.select(
        [decisions.phase != Phase.PLAY, decisions.lead == PASS, partner, alarm],
        [Mode.TRIBUTE, Mode.LEAD, Mode.PARTNER, Mode.ALARM],
        Mode.FOLLOW,
    ).astype(np.int64)


def _returned_kinds(decisions: Decisions, at: NDArray[np.intp]) -> NDArray[np.int64]:
    """The kind of card that each decision in `at`, all of them returns, gives back."""
    eligible = decisions.mask[at, FIRST_CARD : FIRST_CARD + NUM_KINDS] != 0
    level = decisions.level[at].astype(np.int64)[:, None]
    held = decisions.hand[at]
    of_rank = np.zeros((len(at), LEVEL_KEY), dtype=np.int64)
    of_rank[:, :NUM_RANKS] = held[:, :52].reshape(-1, NUM_RANKS, 4).sum(axis=2)
    of_rank[:, NUM_RANKS:] = held[:, 52:]
    rank = KIND_RANK.astype(np.int64)
    height = np.where(rank == level, LEVEL_HEIGHT, np.where(rank > 12, rank + 1, rank))
    breaks = of_rank[:, rank] > 1
    wild = np.arange(NUM_KINDS) == 4 * level + 1
    cost = (2 * wild + breaks) * 100 + height
    return np.argmin(np.where(eligible, cost, 1000), axis=1).astype(np.int64)
