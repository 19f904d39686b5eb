"""One pending decision of our own as the platform asks it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from agents.njupt.actions import STAGES, Action, legal_actions, sorted_cards
from agents.njupt.messages import Message, Talk
from guandan_env.cards import KIND_NAMES, RANKS
from guandan_env.decisions import Decisions
from guandan_env.record import level_name
from guandan_env.state import Phase


def question(
    decisions: Decisions, i: int, talk: Talk, fields: dict[str, Any] | None = None
) -> tuple[Message, list[Action]]:
    """The `act` message of decision i, with `fields` added, and the actions that it lists.

    `talk` was told the plays of the deal so far. Raises `PlayError` for a decision to resist or to
    choose between tributes, which the platform does not know.
    """
    seat, phase = int(decisions.seat[i]), Phase(decisions.phase[i])
    level = int(decisions.level[i])
    actions = legal_actions(
        np.flatnonzero(decisions.mask[i]).tolist(),
        decisions.hand[i],
        level,
        phase,
        flush_straight_as_straight=decisions.rules.flush_straight_as_straight,
    )
    own, other = (level_name(decisions.rules, int(decisions.steps[i, s])) for s in sides(seat))
    message = talk.ask(
        STAGES[phase],
        seat,
        hand=sorted_cards(decisions.hand[i], level),
        actions=actions,
        levels=(own, other, RANKS[level]),
        rest=decisions.counts[i].tolist(),
        received=_received(decisions, i) if phase is Phase.RETURN else None,
    )
    return message | (fields or {}), actions


def sides(seat: int) -> tuple[int, int]:
    """The side of a seat and the other one."""
    return seat % 2, 1 - seat % 2


def tributes(
    payers: Sequence[int], to_first: int, previous: Sequence[int], paid: Sequence[int]
) -> list[tuple[int, int, str]]:
    """Who paid whom which card, the first payer first; arguments as fields of `Decisions`."""
    out = []
    for index, payer in enumerate(payers):
        if payer >= 0 and paid[index] >= 0:
            receiver = previous[0 if to_first == index else 1]
            out.append((int(payer), int(receiver), KIND_NAMES[paid[index]]))
    return out


def returns(
    payers: Sequence[int], to_first: int, previous: Sequence[int], returned: Sequence[int]
) -> list[tuple[int, int, str]]:
    """Who returned whom which card, the first player first; arguments as fields of `Decisions`."""
    out = []
    for place, kind in enumerate(returned):
        if kind >= 0:
            payer = payers[to_first if place == 0 else 1 - to_first]
            out.append((int(previous[place]), int(payer), KIND_NAMES[kind]))
    return out


def _received(decisions: Decisions, i: int) -> tuple[int, str]:
    """In a return: the seat that paid, and its card."""
    gifts = tributes(
        decisions.payers[i].tolist(),
        int(decisions.to_first[i]),
        decisions.previous[i].tolist(),
        decisions.paid[i].tolist(),
    )
    return next((giver, card) for giver, taker, card in gifts if taker == decisions.seat[i])
