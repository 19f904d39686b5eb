"""What follows a deal at tables of the engine: levels moved, games decided, the next level.

And what follows earlier games of a match: how many deals are left.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from guandan_env import promotion
from guandan_env.cards import RANKS
from guandan_env.checks import as_whole, check_within, whole_array
from guandan_env.errors import GuandanError
from guandan_env.rules import RuleSet
from guandan_env.state import State

_MOST_DEALS_USED = 2**30  # state.deals goes on counting from there
_STANDING = ("steps", "declarer", "attempts", "debt", "last_run", "first_run", "deals")


def settle(
    s: State,
    rules: RuleSet,
    ended: NDArray[np.intp],
    order: NDArray[np.int64],
    side: NDArray[np.int64],
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Move the levels at tables of games; returns the tables whose game is over, and the others.

    `order` `(n, 4)` are the complete finishing orders, `side` `(n,)` the sides that won.
    """
    sudden = s.sudden_death[ended]
    s.winner[ended[sudden]] = side[sudden]
    s.deals[ended[sudden]] += 1
    usual = ended[~sudden]
    before = promotion.Standing(*(getattr(s, n)[usual].astype(np.int64) for n in _STANDING))
    after, winner = promotion.settle(rules, before, order[~sudden])
    for name in _STANDING:
        getattr(s, name)[usual] = getattr(after, name)
    if rules.max_deals is not None:
        limit = (winner < 0) & (after.deals >= rules.max_deals)
        if rules.at_limit == "sudden_death":
            s.sudden_death[usual[limit]] = True
        else:
            judged = promotion.limit_winner(rules, after)
            winner = np.where(limit, judged, winner)
    s.winner[usual] = winner
    over = s.winner[ended] >= 0
    return ended[over], ended[~over]


def next_level(s: State, rules: RuleSet, tables: NDArray[np.integer]) -> NDArray[np.int64]:
    """Rank of the next deal's level at tables between two deals of a game."""
    if rules.fixed_level is not None:
        return np.full(len(tables), RANKS.index(rules.fixed_level))
    level = s.steps[tables, s.declarer[tables]].astype(np.int64) % 13
    return np.where(s.sudden_death[tables], promotion.ACE, level)


def check_used(rules: RuleSet, episode: str, deals_used: object, n: int) -> NDArray[np.integer]:
    """`deals_used`, one number or `(n,)`, as `Engine.start` takes it, else `GuandanError`."""
    shape = () if as_whole(deals_used) is not None else (n,)
    used = whole_array(deals_used, "deals_used", shape)
    check_within(used, "deals_used", 0, _MOST_DEALS_USED)
    if used.any():
        if episode != "game" or rules.max_deals is None or rules.limit_scope != "match":
            raise GuandanError(
                "deals_used is for games under rules with max_deals and limit_scope='match'"
            )
        if rules.at_limit != "sudden_death" and (used >= rules.max_deals).any():
            raise GuandanError(
                f"deals_used reaches {used.max()}; after {rules.max_deals} deals these rules "
                "begin no game any more"
            )
    return used
