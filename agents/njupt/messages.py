"""What the platform sends: each message as a dict that JSON can hold.

Seats are 0 to 3, levels and ranks characters, actions and lists of cards as `actions` writes
them; -1 and null stand for none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agents.njupt.actions import Action, Form

Message = dict[str, Any]
Exchange = Sequence[tuple[int, int, str]]  # who gave whom which card


def notify(stage: str, **fields: Any) -> Message:
    """A message to all seats, which nobody answers."""
    return {"type": "notify", "stage": stage, **fields}


def beginning(hand: Sequence[str] | None, seat: int | None) -> Message:
    """A deal begins; spectators are shown no hand."""
    own = {} if hand is None else {"handCards": list(hand), "myPos": seat}
    return notify("beginning", **own)


def exchanged(stage: str, result: Exchange) -> Message:
    """Cards were paid (`tribute`) or returned (`back`)."""
    return notify(stage, result=[list(gift) for gift in result])


def anti_tribute(seats: Sequence[int]) -> Message:
    """Nothing is paid: these seats hold the big jokers."""
    return notify("anti-tribute", antiNums=len(seats), antiPos=list(seats))


def episode_over(order: Sequence[int], level: str, rest: Mapping[int, Sequence[str]]) -> Message:
    """A deal is over; rest: the cards that seats still hold."""
    left = [[seat, list(cards)] for seat, cards in sorted(rest.items()) if cards]
    return notify("episodeOver", order=list(order), curRank=level, restCards=left)


def game_over(number: int, of: int) -> Message:
    """Game `number` of `of` is over."""
    return notify("gameOver", curTimes=number, settingTimes=of)


def game_result(form: Form, wins: Sequence[int], draws: int, levels: Sequence[str]) -> Message:
    """All games are over. wins: by side; levels: where both sides stood in the last game."""
    if form is Form.OLD:
        return notify("gameResult", victoryNum=[wins[s % 2] for s in range(4)], draws=[draws] * 4)
    winner = 0 if wins[0] >= wins[1] else 1
    return notify("gameResult", victory=winner, victoryRank=levels[winner])


class Talk:
    """One deal as the platform's messages tell it, move by move.

    It keeps what they repeat: the last action, the one to beat, and what lies before each seat.
    """

    def __init__(self, form: Form = Form.OLD) -> None:
        self.form = form
        self.rest = [27] * 4  # cards held by each seat, once play begins
        self._clear()

    def _clear(self) -> None:
        self.areas: list[Action | None] = [None] * 4
        self.current: tuple[int, Action] | None = None
        self.greatest: tuple[int, Action] | None = None
        self._passes = 0

    def play(self, seat: int, action: Action) -> Message:
        """A seat plays or passes: the message to all; the trick is cleared if that ends it."""
        self.areas[seat] = action
        self.current = (seat, action)
        if action.cards:
            self.greatest = (seat, action)
            self.rest[seat] -= len(action.cards)
            self._passes = 0
        else:
            self._passes += 1
        message = notify("play", **self._positions())
        if self.greatest is not None:
            leads = self.rest[self.greatest[0]] > 0
            if self._passes >= sum(left > 0 for left in self.rest) - leads:
                self._clear()
        return message

    def ask(
        self,
        stage: str,
        seat: int,
        *,
        hand: Sequence[str],
        actions: Sequence[Action],
        levels: tuple[str, str, str],
        rest: Sequence[int],
        received: tuple[int, str] | None = None,
    ) -> Message:
        """The message to the seat that must act.

        Parameters: `stage`, play, tribute or back; `hand`, sorted; `levels`, those of the seat's
        side, the other side and this deal; `rest`, cards that each seat holds; `received`, in
        stage back the seat that paid and its card.
        """
        public: list[Message] = [{"rest": int(left)} for left in rest]
        if self.form is Form.OLD:
            for place, action in zip(public, self.areas, strict=True):
                place["playArea"] = None if action is None else action.wire(self.form)
        own, other, current = levels
        message: Message = {
            "type": "act",
            "stage": stage,
            "handCards": list(hand),
            "publicInfo": public,
            "selfRank": own,
            "oppoRank": other,
            "curRank": current,
            **self._positions(),
            "actionList": [action.wire(self.form) for action in actions],
            "indexRange": len(actions) - 1,
        }
        if received is not None and self.form is Form.OPEN:
            message |= {"tributePos": received[0], "tribute": received[1]}
        return message

    def _positions(self) -> Message:
        def told(who: tuple[int, Action] | None) -> tuple[int, list[Any] | None]:
            return (-1, None) if who is None else (who[0], who[1].wire(self.form))

        (current, action), (greatest, greater) = told(self.current), told(self.greatest)
        return {
            "curPos": current,
            "curAction": action,
            "greaterPos": greatest,
            "greaterAction": greater,
        }
