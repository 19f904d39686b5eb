"""One game at a table, told in the platform's messages as it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.njupt import messages
from agents.njupt.actions import Action, Form, play_action, sorted_cards
from agents.njupt.asking import question, returns, tributes
from agents.njupt.messages import Message, Talk
from eval.serving.terms import Terms
from guandan_env.actions import PASS
from guandan_env.cards import BIG_JOKER, RANKS, card_names, to_counts
from guandan_env.decisions import Decisions
from guandan_env.engine import Engine, StepResult
from guandan_env.record import DealStarts, deal_record, level_name
from guandan_env.state import Phase

_ONLY = np.array([0])  # the one table of the engine


class Table:
    """A game that has begun. `number` is that of the table in random keys."""

    def __init__(self, terms: Terms, form: Form, number: int) -> None:
        self.form = form
        self._engine = Engine(
            1, terms.rules, seed=terms.seed, episode="game", tables=np.array([number])
        )
        self._starts = DealStarts(1)
        self._deal_begins()

    @property
    def over(self) -> bool:
        """Whether the game is."""
        return bool(self._engine.state.over[0])

    @property
    def winner(self) -> int:
        """The side that won, 2 for a draw, -1 before the end."""
        return int(self._engine.state.winner[0])

    @property
    def levels(self) -> list[str]:
        """Where the two sides stand."""
        return [level_name(self._engine.rules, int(s)) for s in self._engine.state.steps[0]]

    def decisions(self) -> Decisions:
        """The one decision that is pending."""
        return self._engine.decisions()

    def question(self, decisions: Decisions) -> tuple[Message, list[Action]]:
        """The message that asks for it, and the actions that it lists."""
        return question(decisions, 0, self._talk)

    def move(self, row: int, cards: NDArray[np.uint8] | None) -> tuple[list[Message], bool]:
        """Play a legal row, with cards `(54,)` or without; what all are told, and if it ended.

        What ended is the deal; the next one begins with `next_deal`, unless the game is over.
        """
        state = self._engine.state
        seat, phase, number = int(state.seat[0]), Phase(state.phase[0]), int(state.plays[0])
        given = None if cards is None or phase is not Phase.PLAY else cards[None]
        result = self._engine.step(np.array([row]), given, go_on=False)
        if phase is Phase.PLAY:
            used = () if row == PASS else card_names(to_counts(state.play_cards[0, number]))
            told = [self._talk.play(seat, play_action(row, used, int(state.level[0])))]
        else:
            told = self._exchanged(phase)
        if result.deal_over[0]:
            told.append(self._deal_ends(result))
        return told, bool(result.deal_over[0])

    def next_deal(self) -> None:
        """Begin the next deal of the game."""
        self._engine.next_deal(_ONLY)
        self._deal_begins()

    def record(self, players: Sequence[str], **more: Any) -> dict[str, Any]:
        """The deal as it stands as a record; `more` as for `deal_record`."""
        return deal_record(self._engine, 0, self._starts, players=players, **more)

    # ------------------------------------------------------------------ what is told

    def _deal_begins(self) -> None:
        state = self._engine.state
        self._starts.note(state, _ONLY)
        self._talk = Talk(self.form)
        level, hands = int(state.level[0]), to_counts(state.hands[0])
        self.dealt = [sorted_cards(hand, level) for hand in hands]
        self.opening: list[Message] = []  # what all are told after their hands
        if state.resisted[0]:
            seats = [int(p) for p in state.payers[0] if p >= 0 and hands[p, BIG_JOKER]]
            self.opening.append(messages.anti_tribute(seats))

    def _exchanged(self, phase: Phase) -> list[Message]:
        """Cards are turned up when all of a kind have been chosen."""
        state = self._engine.state
        if phase is Phase(state.phase[0]):
            return []
        who = state.payers[0].tolist(), int(state.to_first[0]), state.previous[0].tolist()
        if phase is Phase.PAY:
            return [messages.exchanged("tribute", tributes(*who, state.paid[0].tolist()))]
        return [messages.exchanged("back", returns(*who, state.returned[0].tolist()))]

    def _deal_ends(self, result: StepResult) -> Message:
        state = self._engine.state
        level, hands = int(state.level[0]), to_counts(state.hands[0])
        rest = {seat: sorted_cards(hands[seat], level) for seat in range(4)}
        return messages.episode_over(result.order[0].tolist(), RANKS[level], rest)
