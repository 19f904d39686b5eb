"""A second Guandan engine: slow, scalar, and written to be obviously right.

It is the oracle against which the fast engine is tested, so it imports nothing from
``guandan_env`` and shares none of its tables.  Cards are two-character strings, hands are plain
lists, levels are integer steps (0 is level 2, 12 is level A, 13 is a passed A; under
``ace="wrap"`` steps run on and the rank is ``step % 13``).  Options are any object with the
attributes of a rule set.

- ``cards``: the order of cards, level order, wilds.
- ``plays``: rank-level claims, what beats what, exact plays, the default choice of suits.
- ``tribute``: who pays whom what, and what may be returned.
- ``promotion``: what the result of a deal does to the levels.
- ``game``: :class:`~oracle.game.OracleGame` plays deals and whole games with these.
"""

from __future__ import annotations

from .game import OracleGame
from .plays import beats, choose_cards, claim_of, exact_plays, legal_claims

__all__ = ["OracleGame", "beats", "choose_cards", "claim_of", "exact_plays", "legal_claims"]
