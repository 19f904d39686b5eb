"""What a person sees of a table: the one description that every renderer draws.

A `Scene` is plain data. Whoever builds it decides whose cards are shown; a renderer draws what
is there and knows no rules beyond the order of the ranks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from guandan_env.cards import KIND_NAMES, KIND_RANK, parse_card, parse_rank, wild_kind
from guandan_env.errors import StateError

SIDE_NAMES = ("0 + 2", "1 + 3")
PLACE_NAMES = ("1st", "2nd", "3rd", "last")


@dataclass(frozen=True)
class SeatView:
    """One seat as the viewer sees it.

    Attributes:
        seat: 0…3.
        name: What to call the player.
        cards: Two-character names of the hand in any order; None where the hand is hidden.
        count: Number of cards held; None where it is not known. With `cards` it may be left out.
        place: Finishing place 1…4 (上游 to 下游), None while the seat plays.
        action: Claim of its last action in this trick (`"pair 55"`, `"pass"`), or `""`.
        action_cards: The cards of that action, in the order to show them.
        to_act: Whether the seat is to decide.

    Raises:
        StateError: A seat, place or count out of range, a count that contradicts the cards, or
            a text with line breaks or control characters.
        CardError: A card that does not exist.
    """

    seat: int
    name: str
    cards: tuple[str, ...] | None = None
    count: int | None = None
    place: int | None = None
    action: str = ""
    action_cards: tuple[str, ...] = ()
    to_act: bool = False

    def __post_init__(self) -> None:
        if self.seat not in range(4):
            raise StateError(f"seat {self.seat!r}: seats are 0 to 3")
        if self.place is not None and self.place not in range(1, 5):
            raise StateError(f"place {self.place!r} of seat {self.seat}: it is 1 to 4, or None")
        _refuse_unprintable(self.name, self.action)
        for card in (*(self.cards or ()), *self.action_cards):
            parse_card(card)
        if self.cards is not None:
            if self.count is None:
                object.__setattr__(self, "count", len(self.cards))
            elif self.count != len(self.cards):
                raise StateError(
                    f"seat {self.seat} holds {len(self.cards)} cards, but its count is {self.count}"
                )
        if self.count is not None and self.count not in range(29):
            raise StateError(f"count {self.count!r} of seat {self.seat}: a hand has 0 to 28 cards")


@dataclass(frozen=True)
class Scene:
    """A table at one moment.

    Attributes:
        level: The rank being played (级数), `2`…`A`.
        levels: The levels of the sides {0, 2} and {1, 3}, as they are to be shown.
        declarer: The side 0 or 1 whose level is played; None in a game's first deal.
        seats: The four seats in turn order.
        phase: What is going on (`"play"`, `"tribute"`, …).
        leader: The seat that holds the trick; None while nothing lies on the table.
        title: What is shown, in a few words.
        message: Further lines to show with the table.

    Raises:
        StateError: Seats out of order, a declarer or leader out of range, or a text with line
            breaks or control characters.
        CardError: A level that is no rank.
    """

    level: str
    levels: tuple[str, str]
    declarer: int | None
    seats: tuple[SeatView, SeatView, SeatView, SeatView]
    phase: str = "play"
    leader: int | None = None
    title: str = ""
    message: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        parse_rank(self.level)
        _refuse_unprintable(*self.levels, self.phase, self.title, *self.message)
        if len(self.levels) != 2:
            raise StateError(f"levels {self.levels!r}: there is one for each of the two sides")
        if [view.seat for view in self.seats] != [0, 1, 2, 3]:
            raise StateError(
                f"seats {[view.seat for view in self.seats]}: a scene has the seats 0, 1, 2, 3"
            )
        if self.declarer not in (None, 0, 1):
            raise StateError(f"declarer {self.declarer!r}: the sides are 0 and 1, or None")
        if self.leader not in (None, 0, 1, 2, 3):
            raise StateError(f"leader {self.leader!r}: seats are 0 to 3, or None")

    @property
    def wild(self) -> str:
        """The wild card (逢人配) of the level, such as `H5`."""
        return KIND_NAMES[wild_kind(parse_rank(self.level))]


def _refuse_unprintable(*texts: str) -> None:
    # A name comes from outside, and an escape sequence in it would reach the terminal.
    for text in texts:
        if not text.isprintable():
            raise StateError(f"{text!r} has line breaks or control characters; only text is shown")


def group_by_rank(cards: Iterable[str], level: str) -> list[tuple[str, ...]]:
    """Cards grouped by rank, high to low in level order (RULES 3.1); in a group, wilds come first.

    The small and the big joker are groups of their own. Suits follow the order S, H, C, D.
    """
    level_rank = parse_rank(level)
    wild = wild_kind(level_rank)

    def height(kind: int) -> float:
        rank = int(KIND_RANK[kind])
        return 12.5 if rank == level_rank else rank

    kinds = sorted(map(parse_card, cards), key=lambda kind: (-height(kind), kind != wild, kind))
    return [tuple(KIND_NAMES[kind] for kind in group) for _, group in groupby(kinds, key=height)]
