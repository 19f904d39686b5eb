"""What a person sees of a table: the one description that every renderer draws.

A `Scene` is plain data. Whoever builds it decides whose cards are shown; a renderer draws what
is there and knows no rules beyond the order of the ranks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from guandan_env.cards import KIND_NAMES, KIND_RANK, parse_cards, parse_rank, wild_kind
from guandan_env.checks import items_of, whole_number
from guandan_env.errors import StateError, shown

SIDE_NAMES = ("0 + 2", "1 + 3")
PLACE_NAMES = ("1st", "2nd", "3rd", "last")
_MOST_CARDS = 28  # between a payment and the return
_MOST_LINES = 100


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
        whole_number(self.seat, "seat", 0, 3, StateError)
        if self.place is not None:
            whole_number(self.place, f"place of seat {self.seat}", 1, 4, StateError)
        if self.count is not None:
            whole_number(self.count, f"count of seat {self.seat}", 0, _MOST_CARDS, StateError)
        _refuse_unprintable(self.name, self.action)
        _check_cards(self.action_cards)
        if self.cards is not None:
            _check_cards(self.cards)
            if self.count is None:
                object.__setattr__(self, "count", len(self.cards))
            elif self.count != len(self.cards):
                raise StateError(
                    f"seat {self.seat} holds {len(self.cards)} cards, but its count is {self.count}"
                )


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
        levels, message = items_of(self.levels, 2), items_of(self.message, _MOST_LINES)
        if levels is None or len(levels) != 2:
            raise StateError(f"levels {shown(self.levels)}: each of the two sides has one")
        if message is None or len(message) > _MOST_LINES:
            raise StateError(
                f"message {shown(self.message)}: at most {_MOST_LINES} lines are shown"
            )
        _refuse_unprintable(*levels, self.phase, self.title, *message)
        views = items_of(self.seats, 4)
        seats = [view.seat if isinstance(view, SeatView) else None for view in views or ()]
        if seats != [0, 1, 2, 3]:
            raise StateError(f"seats {shown(self.seats)}: a scene has the seats 0, 1, 2, 3")
        if self.declarer is not None:
            whole_number(self.declarer, "the side of the declarer", 0, 1, StateError)
        if self.leader is not None:
            whole_number(self.leader, "leader", 0, 3, StateError)

    @property
    def wild(self) -> str:
        """The wild card (逢人配) of the level, such as `H5`."""
        return KIND_NAMES[wild_kind(parse_rank(self.level))]


def _check_cards(cards: object) -> None:
    if not isinstance(cards, (tuple, list)) or len(cards) > _MOST_CARDS:
        raise StateError(f"{shown(cards)}: a tuple of up to {_MOST_CARDS} cards is allowed")
    parse_cards(cards)


def check_scene(scene: object) -> Scene:
    """`scene` if it is one, else `StateError`: the first thing that a renderer does."""
    if not isinstance(scene, Scene):
        raise StateError(f"{shown(scene)} is no Scene; scene_of makes one of a state")
    return scene


def _refuse_unprintable(*texts: object) -> None:
    # A name comes from outside, and an escape sequence in it would reach the terminal.
    for text in texts:
        if not isinstance(text, str):
            raise StateError(f"{shown(text)} is no text")
        if not text.isprintable():
            raise StateError(
                f"{shown(text)} has line breaks or control characters; only text is shown"
            )


def group_by_rank(cards: Iterable[str], level: str) -> list[tuple[str, ...]]:
    """Cards grouped by rank, high to low in level order (RULES 3.1); in a group, wilds come first.

    The small and the big joker are groups of their own. Suits follow the order S, H, C, D.
    """
    level_rank = parse_rank(level)
    wild = wild_kind(level_rank)

    def height(kind: int) -> float:
        rank = int(KIND_RANK[kind])
        return 12.5 if rank == level_rank else rank

    kinds = sorted(parse_cards(cards), key=lambda kind: (-height(kind), kind != wild, kind))
    return [tuple(KIND_NAMES[kind] for kind in group) for _, group in groupby(kinds, key=height)]
