"""What one seat would have heard on the platform, put together from the decisions it is asked.

Our agents are shown decisions; bots of the platform hear messages as the game goes on. Between two
decisions of a seat the history tells what the others did, and what each has played by now which
cards it took. What happens after a seat's last decision of a deal it hears when the next deal
begins, but for the cards that were left.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agents.njupt import messages
from agents.njupt.actions import Action, Form, play_action, sorted_cards
from agents.njupt.asking import question, returns, tributes
from agents.njupt.messages import Message, Talk
from guandan_env.actions import FIRST_CARD, PASS, RESIST, ROW_NATURALS, ROW_WILDS, ROWS, Pattern
from guandan_env.cards import (
    BIG_JOKER,
    KIND_NAMES,
    KIND_OF,
    KIND_RANK,
    RANKS,
    Counts,
    card_names,
    wild_kind,
)
from guandan_env.decisions import Decisions
from guandan_env.state import Phase


class SeatTalk:
    """The messages to one seat at one table."""

    def __init__(self, form: Form = Form.OLD) -> None:
        self.form = form
        self._deal: tuple[int, int] | None = None
        self._level = "2"
        self._forget()

    def _forget(self) -> None:
        self.talk = Talk(self.form)
        self.told: list[Message] = []  # all notes of this deal, for a program that begins anew
        self._length = 0  # of the history, at the last decision
        self._heard = 0  # entries of the history that were told
        self._in_play = False
        self._paid = self._returned = False
        self._played: NDArray[np.int64] = np.zeros((4, len(KIND_NAMES)), dtype=np.int64)

    def hear(self, decisions: Decisions, i: int) -> list[Message]:
        """What was said since decision i's seat was asked last."""
        new: list[Message] = []
        deal = int(decisions.table[i]), int(decisions.deal[i])
        # A deal may be played again, as in a position that is tried from both sides.
        if deal != self._deal or decisions.length[i] < self._length:
            if self._deal == (deal[0], deal[1] - 1) and decisions.previous[i, 0] >= 0:
                order = decisions.previous[i].tolist()
                new.append(messages.episode_over(order, self._level, {}))
            self._forget()
            self._deal, self._level = deal, RANKS[decisions.level[i]]
            begun = len(new)
            new.append(self._beginning(decisions, i))
        else:
            begun = 0
        self._length = int(decisions.length[i])
        new += self._tribute(decisions, i)
        if decisions.phase[i] == Phase.PLAY:
            new += self._plays(decisions, i)
        self.told += new[begun:]
        return new

    def question(self, decisions: Decisions, i: int) -> tuple[Message, list[Action]]:
        """The `act` message of decision i, of which everything was heard."""
        return question(decisions, i, self.talk)

    def _beginning(self, decisions: Decisions, i: int) -> Message:
        """The hand as it was dealt: before what was paid, returned and played."""
        seat, level = int(decisions.seat[i]), int(decisions.level[i])
        hand = decisions.hand[i].astype(np.int64) + decisions.played[i, seat]
        for giver, taker, card in (*self._gifts(decisions, i), *self._backs(decisions, i)):
            hand[KIND_OF[card]] += (giver == seat) - (taker == seat)
        return messages.beginning(sorted_cards(hand.astype(np.uint8), level), seat)

    @staticmethod
    def _gifts(decisions: Decisions, i: int) -> list[tuple[int, int, str]]:
        d = decisions
        told = d.payers[i].tolist(), int(d.to_first[i]), d.previous[i].tolist()
        return tributes(*told, d.paid[i].tolist())

    @staticmethod
    def _backs(decisions: Decisions, i: int) -> list[tuple[int, int, str]]:
        d = decisions
        told = d.payers[i].tolist(), int(d.to_first[i]), d.previous[i].tolist()
        return returns(*told, d.returned[i].tolist())

    def _tribute(self, decisions: Decisions, i: int) -> list[Message]:
        new: list[Message] = []
        if not self._paid:
            if decisions.resisted[i]:
                self._paid = True
                new.append(messages.anti_tribute(self._resisters(decisions, i)))
            elif gifts := self._gifts(decisions, i):
                self._paid = True
                new.append(messages.exchanged("tribute", gifts))
        if not self._returned and (backs := self._backs(decisions, i)):
            self._returned = True
            new.append(messages.exchanged("back", backs))
        return new

    def _resisters(self, decisions: Decisions, i: int) -> list[int]:
        """Seats with big jokers, as far as this one can know: else all that were to pay."""
        payers = [int(payer) for payer in decisions.payers[i] if payer >= 0]
        seat = int(decisions.seat[i])
        own = int(decisions.hand[i, BIG_JOKER] + decisions.played[i, seat, BIG_JOKER])
        if seat in payers and own != 1:
            return [seat] if own else [payer for payer in payers if payer != seat]
        return payers

    def _plays(self, decisions: Decisions, i: int) -> list[Message]:
        d = decisions
        played = d.played[i].astype(np.int64)
        if not self._in_play:
            self._in_play = True
            self.talk.rest = (d.counts[i].astype(np.int64) + played.sum(axis=1)).tolist()
            self._heard = _first_play(d.history[i])
        rows = d.history[i, self._heard : d.length[i]].tolist()
        seats = d.history_seat[i, self._heard : d.length[i]].tolist()
        self._heard = int(d.length[i])
        level = int(d.level[i])
        taken: dict[int, list[tuple[str, ...]]] = {}
        for seat in set(seats):
            own = [row for row, s in zip(rows, seats, strict=True) if s == seat and row != PASS]
            taken[seat] = share_out(own, played[seat] - self._played[seat], level)
        self._played = played
        return [
            self.talk.play(seat, play_action(row, () if row == PASS else taken[seat].pop(0), level))
            for row, seat in zip(rows, seats, strict=True)
        ]


def _first_play(history: NDArray[np.int16]) -> int:
    """How many entries of a deal's history come before the first play: those of tribute."""
    is_play = (history != PASS) & (history >= 0) & (history < FIRST_CARD) & (history != RESIST)
    return int(np.argmax(is_play)) if is_play.any() else int((history >= 0).sum())


def share_out(
    rows: list[int], cards: Counts | NDArray[np.int64], level: int
) -> list[tuple[str, ...]]:
    """The cards of each of several plays of one seat, of which all cards together are known.

    rows: the plays. cards: `(54,)`, exactly those that they took. A single play took them all; of
    several, ranks are certain but suits are only where a straight flush fixes them.
    """
    left = np.array(cards, dtype=np.int64)
    if len(rows) == 1:
        return [tuple(card_names(left.tolist()))]
    wild = wild_kind(level)
    shares: dict[int, NDArray[np.int64]] = {}
    # Straight flushes first: they leave no choice.
    for place in sorted(range(len(rows)), key=lambda p: ROWS[rows[p]].suit < 0):
        row = rows[place]
        needs = ROW_NATURALS[row].astype(np.int64)
        share = np.zeros_like(left)
        for kind in range(len(left)):
            if kind == wild:
                share[kind] = ROW_WILDS[row]
            elif ROWS[row].pattern is not Pattern.STRAIGHT_FLUSH or kind % 4 == ROWS[row].suit:
                share[kind] = min(left[kind], needs[KIND_RANK[kind]])
                needs[KIND_RANK[kind]] -= share[kind]
        left -= share
        shares[place] = share
    return [tuple(card_names(shares[place].tolist())) for place in range(len(rows))]
