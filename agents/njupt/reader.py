"""A server's messages to one seat read as decisions, so that any agent of ours can play there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from agents.njupt.actions import STAGES, Action, Form, play_action, read_action
from agents.njupt.incoming import Told, WireError
from agents.njupt.messages import Talk
from guandan_env import legality, randomness
from guandan_env.actions import FIRST_CARD, NUM_ACTIONS, PASS
from guandan_env.cards import (
    HAND_SIZE,
    KIND_OF,
    NUM_KINDS,
    RANKS,
    counts_of,
    parse_rank,
    to_bits,
    to_counts,
)
from guandan_env.decisions import Decisions
from guandan_env.errors import one_line
from guandan_env.rules import RuleSet
from guandan_env.state import MAX_HISTORY, Phase
from guandan_env.suits import choose_cards

_PHASES = {stage: phase for phase, stage in STAGES.items()}
_MOST_NOTES = 2000  # between two deals


class Reader:
    """What a seat has been told, and the decision that it is asked about.

    Parameters: `rules`, by which the server is thought to play; what is legal it says itself.
    `seed`, for agents that draw random numbers.
    """

    def __init__(self, rules: RuleSet, form: Form, seed: int = 0) -> None:
        self.rules, self.form = rules, form
        self._root = randomness.key(seed)
        self._notes: list[Told] = []  # of this deal; what they mean hangs on its level
        self._deal = -1
        self._previous = [-1] * 4

    def hear(self, told: Told) -> None:
        """Take in a note to all seats."""
        if told.stage == "beginning":
            self._notes = []
            self._deal += 1
        elif told.stage == "episodeOver":
            self._previous = told.order if len(set(told.order)) == 4 else [-1] * 4
        elif told.stage == "gameOver":
            self._previous = [-1] * 4
        elif len(self._notes) < _MOST_NOTES:
            self._notes.append(told)
        else:
            raise WireError(f"more than {_MOST_NOTES} messages in one deal")

    def question(self, told: Told, seat: int) -> tuple[Decisions, list[Action]]:
        """The decision that an `act` message asks for, and the actions that it lists.

        Raises `GuandanError` for a message that makes no sense here.
        """
        phase = _PHASES.get(told.stage)
        if phase is None or len(told.publicInfo) != 4 or not told.actionList:
            raise WireError(f"this asks for no action: {one_line(told)}")
        level = parse_rank(told.curRank)
        actions = [read_action(wire, level) for wire in told.actionList]
        deal = _Deal(self.form, self._previous)
        for note in self._notes:
            deal.hear(note, level)
        deal.hide(phase, seat)
        return self._decisions(told, seat, phase, level, actions, deal), actions

    def _decisions(
        self,
        told: Told,
        seat: int,
        phase: Phase,
        level: int,
        actions: Sequence[Action],
        deal: _Deal,
    ) -> Decisions:
        steps = [0, 0]
        steps[seat % 2], steps[1 - seat % 2] = (
            RANKS.index(told.selfRank),
            RANKS.index(told.oppoRank),
        )
        declarer = deal.previous[0] % 2 if deal.previous[0] >= 0 else -1
        length = len(deal.history)
        if length > MAX_HISTORY:
            raise WireError(f"a deal of {length} decisions; it has {MAX_HISTORY} at most")
        history = np.full(MAX_HISTORY, -1)
        history_seat = np.full(MAX_HISTORY, -1)
        history[:length] = [row for row, _ in deal.history]
        history_seat[:length] = [who for _, who in deal.history]
        greatest = deal.talk.greatest if phase is Phase.PLAY else None
        areas = deal.talk.areas
        hand = counts_of([_kind(card) for card in told.handCards])

        def one(values: object, dtype: type) -> NDArray:
            return np.array([values], dtype=dtype)

        return Decisions(
            rules=self.rules,
            index=one(0, np.int64),
            table=one(0, np.int64),
            deal=one(max(self._deal, 0), np.int64),
            seat=one(seat, np.int8),
            phase=one(phase, np.int8),
            root=np.reshape(self._root, 1),
            packed=_packed([action.row for action in actions]),
            hand_bits=to_bits(hand[None]),
            played_bits=to_bits(np.minimum(deal.played, 2))[None],
            counts=one([place.rest for place in told.publicInfo], np.uint8),
            level=one(level, np.int8),
            steps=one(steps, np.int16),
            declarer=one(declarer, np.int8),
            lead=one(PASS if greatest is None else greatest[1].row, np.int16),
            lead_seat=one(-1 if greatest is None else greatest[0], np.int8),
            last=one([-1 if a is None else a.row for a in areas], np.int16),
            order=one([*deal.out, *[-1] * (4 - len(deal.out))], np.int8),
            previous=one(deal.previous, np.int8),
            resisted=one(deal.resisted, np.bool_),
            payers=one(deal.payers, np.int8),
            to_first=one(deal.to_first, np.int8),
            paid=one(deal.paid, np.int8),
            returned=one(deal.returned, np.int8),
            history=one(history, np.int16),
            history_seat=one(history_seat, np.int8),
            length=one(length, np.int16),
        )


class _Deal:
    """A deal as its notes tell it; fields as those of `Decisions`."""

    def __init__(self, form: Form, previous: Sequence[int]) -> None:
        self.talk = Talk(form)
        self.previous = list(previous)
        self.played = np.zeros((4, NUM_KINDS), dtype=np.int64)
        self.history: list[tuple[int, int]] = []
        self.out: list[int] = []
        self.resisted = False
        self.payers, self.paid, self.returned = _payers(self.previous), [-1, -1], [-1, -1]
        self.to_first = 0

    def hear(self, note: Told, level: int) -> None:
        if note.stage == "tribute":
            self._tribute(note)
        elif note.stage == "back":
            self._back(note)
        elif note.stage == "anti-tribute":
            self.resisted = True
        elif note.stage == "play" and note.curAction is not None and note.curPos >= 0:
            self._play(note.curPos, read_action(note.curAction, level), level)

    def hide(self, phase: Phase, seat: int) -> None:
        """Another seat has chosen a card in secret: that it has, is known."""
        if phase is Phase.PAY and seat == self.payers[1]:
            self.history.append((-1, self.payers[0]))
        if phase is Phase.RETURN and seat == self.previous[1] and self.payers[1] >= 0:
            self.history.append((-1, self.previous[0]))

    def _tribute(self, note: Told) -> None:
        gifts = {giver: (taker, _kind(card)) for giver, taker, card in note.result}
        if set(gifts) != {payer for payer in self.payers if payer >= 0}:
            # The deal before was not seen: the payers are taken as they are told.
            self.payers = [*gifts, -1, -1][:2]
            takers = [taker for taker, _ in gifts.values()]
            self.previous = [*takers, *(s for s in range(4) if s not in takers)]
        for index, payer in enumerate(self.payers):
            if payer >= 0:
                taker, self.paid[index] = gifts[payer]
                self.history.append((FIRST_CARD + self.paid[index], payer))
                if taker == self.previous[0]:
                    self.to_first = index

    def _back(self, note: Told) -> None:
        gifts = {giver: _kind(card) for giver, _, card in note.result}
        for place in (0, 1):
            giver = self.previous[place]
            if giver in gifts:
                self.returned[place] = gifts[giver]
                self.history.append((FIRST_CARD + gifts[giver], giver))

    def _play(self, seat: int, action: Action, level: int) -> None:
        if len(action.cards) > self.talk.rest[seat]:
            raise WireError(f"seat {seat} plays more than {HAND_SIZE} cards")
        if action.stage != "play":
            raise WireError(f"seat {seat} plays {one_line(action.wire())}")
        self.talk.play(seat, play_action(action.row, action.cards, level))
        self.history.append((action.row, seat))
        if action.cards:
            self.played[seat] += action.counts()
            if self.talk.rest[seat] == 0:
                self.out.append(seat)


def chosen_index(
    decisions: Decisions, actions: Sequence[Action], row: int, cards: NDArray[np.uint8]
) -> int:
    """Where in the list of actions an agent's answer stands.

    cards: counts `(54,)`; all zero where the suits are left to us. Raises `GuandanError` for an
    answer that is not in the list.
    """
    if decisions.phase[0] == Phase.PLAY and row != PASS and not cards.any():
        bits = choose_cards(decisions.hand_bits, np.array([row]), decisions.level.astype(np.int64))
        cards = to_counts(bits)[0]
    for index, action in enumerate(actions):
        if action.row == row and (
            action.stage != "play" or not action.cards or (action.counts() == cards).all()
        ):
            return index
    raise WireError(f"action {row} is none of the {len(actions)} that the server allows")


def _payers(previous: Sequence[int]) -> list[int]:
    """Who pays after a finishing order, in the order of `Decisions.payers`."""
    first, second, _, last = previous
    if first < 0:
        return [-1, -1]
    if (first + second) % 2 == 0:
        return [(first + 1) % 4, (first + 3) % 4]
    return [last, -1]


def _kind(card: str) -> int:
    if card not in KIND_OF:
        raise WireError(f"{one_line(card)} is no card")
    return KIND_OF[card]


def _packed(rows: Sequence[int]) -> NDArray[np.uint64]:
    mask = np.zeros((1, NUM_ACTIONS), dtype=bool)
    mask[0, list(rows)] = True
    return legality.pack(mask)
