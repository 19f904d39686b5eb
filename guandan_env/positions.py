"""Setting up a given position at one table of an engine, with validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guandan_env import actions, dealing, legality, tribute_phase
from guandan_env.cards import (
    HAND_SIZE,
    KIND_NAMES,
    NUM_KINDS,
    RANKS,
    counts_of,
    parse_cards,
    parse_rank,
    to_bits,
    to_counts,
)
from guandan_env.checks import as_whole, items_of, whole_number
from guandan_env.engine import Engine
from guandan_env.errors import StateError, nearest, shown
from guandan_env.state import Phase
from guandan_env.suits import choose_cards
from guandan_env.turns import NEXT

OPTIONS = ("hands", "level", "leader", "scores", "previous", "trick")
AS_CONFIGURED = "as configured"
_ALL_SEATS = 15


@dataclass(frozen=True)
class Position:
    """Options of a position, parsed; None where they are left to the engine."""

    hands: NDArray[np.uint8] | None  # (4, 54)
    level: int | None
    leader: int | None
    scores: tuple[int, int] | None
    previous: tuple[int, ...] | None  # () for none
    draw_previous: bool
    trick: tuple[int, int] | None  # seat, row


def position(engine: Engine, at: int, **options: object) -> None:
    """Begin the next episode at table `at` of an engine from a given position.

    What is not given is as in any other episode: dealt or drawn from (seed, table, deal).

    Parameters:
        hands: Four hands by seat, each a list of two-character cards or one string of them; or a
            mapping from `player_0`…`player_3`. A hand holds 1 to 27 cards, 27 if tribute follows.
            Cards in no hand count as played; which seat played them is filled in by card order.
        level: Level of the deal, `"2"`…`"A"`. Default: that of the scores, else as configured.
        leader: Seat that leads, 0…3 or `"player_0"`…; not together with tribute or a trick.
        scores: Levels of the sides {0, 2} and {1, 3}, such as `("5", "K")`.
        previous: Finishing order of the deal before (four seats, or the two of a double-down), so
            that tribute follows where the rules have it; `"random"`; or None for a first deal.
        trick: `(seat, row)`: the row of the action table that lies on the table, and who played
            it, out of cards in no hand; the next seat is to act. Needs `hands` and `level`.

    Raises `StateError` (`CardError` for unknown cards and levels) and changes nothing if the
    position cannot exist.
    """
    check_options(options)
    _check_table(engine, at)
    place(engine, at, prepare(engine, **options))


def prepare(
    engine: Engine,
    *,
    hands: object = None,
    level: object = None,
    leader: object = None,
    scores: object = None,
    previous: object = AS_CONFIGURED,
    trick: object = None,
) -> Position:
    """The options of `position`, checked against an engine's rules; its state is not used."""
    _check_engine(engine)
    given = Position(
        hands=None if hands is None else _hands(hands),
        level=None if level is None else parse_rank(level),
        leader=None if leader is None else _seat(leader, "leader"),
        scores=None if scores is None else _scores(scores),
        previous=_previous(previous),
        draw_previous=isinstance(previous, str) and previous == "random",
        trick=None if trick is None else _trick(trick),
    )
    _check_together(engine, given)
    return given


def place(engine: Engine, at: int, given: Position) -> None:
    """Begin the next episode at table `at` from a position prepared for this engine's rules."""
    at = _check_table(engine, at)
    if not isinstance(given, Position):
        raise StateError(f"{shown(given)} is no Position; prepare makes one")
    tables = np.array([at])
    engine.start(tables)
    _write(engine, at, given)
    engine.refresh_masks(tables)


def _check_engine(engine: object) -> Engine:
    if not isinstance(engine, Engine):
        raise StateError(f"{shown(engine)} is no Engine")
    return engine


def _check_table(engine: object, at: object) -> int:
    return whole_number(at, "at", 0, _check_engine(engine).num_tables - 1, StateError)


def _hands(hands: object) -> NDArray[np.uint8]:
    if isinstance(hands, Mapping):
        names = [f"player_{seat}" for seat in range(4)]
        given = items_of(hands.keys(), len(names))
        if given is None or len(given) != 4 or not all(name in given for name in names):
            raise StateError(f"hands are given for {shown(given)}; they are allowed for {names}")
        hands = [hands[name] for name in names]
    if isinstance(hands, (str, bytes)) or not isinstance(hands, Sequence) or len(hands) != 4:
        raise StateError(f"hands are {shown(hands)}; four hands are allowed, one for each seat")
    counts = np.stack([counts_of(parse_cards(hand)) for hand in hands])
    for seat, size in enumerate(counts.sum(axis=1, dtype=np.int64)):
        if not 1 <= size <= HAND_SIZE:
            raise StateError(f"seat {seat} is given {size} cards; 1 to {HAND_SIZE} are allowed")
    total = counts.sum(axis=0, dtype=np.int64)
    if (total > 2).any():
        kind = int(np.argmax(total))
        raise StateError(
            f"{KIND_NAMES[kind]} is there {total[kind]} times in the four hands; two decks hold two"
        )
    return counts


def _seat(seat: object, what: str) -> int:
    if isinstance(seat, str) and seat in ("player_0", "player_1", "player_2", "player_3"):
        return int(seat[-1])
    number = as_whole(seat)
    if number is None or not 0 <= number < 4:
        raise StateError(
            f"{what} is {shown(seat)}; a seat 0 to 3 or 'player_0' to 'player_3' is allowed"
        )
    return number


def _scores(scores: object) -> tuple[int, int]:
    levels = items_of(scores, 2)
    if levels is None or len(levels) != 2:
        raise StateError(f"scores are {shown(scores)}; two levels are allowed, such as ('2', 'A')")
    return parse_rank(levels[0]), parse_rank(levels[1])


def _previous(previous: object) -> tuple[int, ...] | None:
    if isinstance(previous, str) and previous in (AS_CONFIGURED, "random"):
        return None
    if previous is None:
        return ()
    seats = items_of(previous, 4)
    if seats is None:
        raise StateError(
            f"previous is {shown(previous)}; a finishing order of seats, 'random' or None is "
            "allowed"
        )
    order = [_seat(seat, "a place of previous") for seat in seats]
    double = len(order) >= 2 and (order[0] - order[1]) % 4 == 2
    whole = [order[0], order[1], (order[0] + 3) % 4, (order[0] + 1) % 4] if double else order
    if sorted(whole) != [0, 1, 2, 3] or order not in (whole, whole[:2]):
        hint = f"; after this double-down it is {whole}" if double else ""
        raise StateError(
            f"previous is {shown(previous)}; an order of all four seats is allowed{hint}"
        )
    return tuple(whole)


def _trick(trick: object) -> tuple[int, int]:
    items = items_of(trick, 2)
    if items is None or len(items) != 2:
        raise StateError(f"trick is {shown(trick)}; (seat, row of the action table) is allowed")
    row = as_whole(items[1])
    if row is None or not 0 < row < actions.FIRST_CARD:
        raise StateError(
            f"the row of the trick is {shown(items[1])}; "
            f"the row of a play is allowed, 1 to {actions.FIRST_CARD - 1}"
        )
    return _seat(items[0], "the seat of the trick"), row


def _check_together(engine: Engine, g: Position) -> None:
    rules = engine.rules
    if (g.draw_previous or g.previous) and rules.tribute:
        short = g.hands is not None and bool((g.hands.sum(axis=1) != HAND_SIZE).any())
        named = {"leader": g.leader is not None, "trick": g.trick is not None}
        named["hands of less than 27 cards"] = short
        clash = [name for name, there in named.items() if there]
        if clash:
            raise StateError(f"tribute follows from previous; {clash[0]} cannot be given with it")
    if g.leader is not None and g.trick is not None:
        raise StateError("leader and trick are both given; who is next follows from the trick")
    fixed = rules.fixed_level
    if engine.episode == "game" and fixed is not None and g.level is not None:
        if RANKS[g.level] != fixed:
            raise StateError(f"level is {RANKS[g.level]!r}; these rules fix it at {fixed!r}")
    elif g.scores is not None and g.level is not None and g.level not in g.scores:
        levels = [RANKS[score] for score in g.scores]
        raise StateError(f"level is {RANKS[g.level]!r}; with scores {levels} it is one of these")
    if g.scores is not None and g.previous:
        own = g.scores[g.previous[0] % 2]
        if g.level not in (None, own) and fixed is None:
            raise StateError(
                f"level is {RANKS[g.level or 0]!r}; after {list(g.previous)} the winners' "
                f"{RANKS[own]!r} is played"
            )
    if g.trick is not None:
        if g.hands is None or g.level is None:
            raise StateError("trick needs hands and level, to tell which cards lie on the table")
        _check_trick_cards(engine, g.hands, g.level, *g.trick)


def _check_trick_cards(
    engine: Engine, hands: NDArray[np.uint8], level: int, seat: int, row: int
) -> None:
    """The trick must be made of cards in no hand, and fit into the 27 of its seat."""
    left = HAND_SIZE - int(hands[seat].sum(dtype=np.int64))
    size = int(actions.ROW_SIZE[row])
    if left < size:
        raise StateError(f"the trick has {size} cards, but seat {seat} can have played {left} only")
    masks = legality.hand_masks(
        to_bits(_missing(hands))[None],
        np.array([level]),
        flush_is_straight=engine.rules.flush_straight_as_straight,
    )
    if not legality.is_set(masks, np.array([row]))[0]:
        raise StateError(f"row {row} of the trick cannot be made of the cards in no hand")


def _missing(hands: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The cards in none of four hands, `(54,)`."""
    missing: NDArray[np.uint8] = 2 - hands.sum(axis=0, dtype=np.uint8)
    return missing


def _write(engine: Engine, at: int, g: Position) -> None:
    """Change the deal that has just begun at a table into the given position."""
    s, rules = engine.state, engine.rules
    tables = np.array([at])
    previous = g.previous
    if g.draw_previous:
        drawn = dealing.previous_orders(engine.seed, s.table[tables], s.deal[tables], half=False)
        previous = tuple(int(seat) for seat in drawn[0])
    short = g.hands is not None and bool((g.hands.sum(axis=1) != HAND_SIZE).any())
    if previous is None and (g.leader is not None or g.trick is not None or short):
        previous = ()  # such a position lies behind tribute, whatever is configured
    if previous is None:
        previous = tuple(int(seat) for seat in s.previous[at] if seat >= 0)
    declarer = previous[0] % 2 if previous else -1
    level = g.level
    if g.scores is not None:
        side = declarer
        if side < 0 and g.scores[0] != g.scores[1]:
            known = level if level is not None else g.scores[(g.leader or 0) % 2]
            side = g.scores.index(known)
            declarer = side
        if level is None:
            level = g.scores[max(side, 0)]
        s.steps[at] = g.scores
    elif level is not None:
        s.steps[at] = level
    if rules.fixed_level is not None and engine.episode == "game":
        level = RANKS.index(rules.fixed_level)
        if g.scores is None:
            s.steps[at] = 0
    if level is not None:
        s.level[at] = level
    s.declarer[at] = declarer
    s.previous[at] = previous or -1
    if g.hands is not None:
        s.hands[at] = to_bits(g.hands)
        s.played[at] = to_bits(_fill_in(g.hands))
    if g.trick is not None:
        _lay(engine, at, g)
    s.clear(tables, ("payers", "paid", "to_first", "returned", "resisted"))
    s.phase[at] = Phase.PLAY
    if previous:
        s.leader[at] = previous[0]
    elif g.leader is not None:
        s.leader[at] = g.leader
    else:
        s.leader[at] = _first_leader(engine, at, dealt=g.hands is None)
    s.seat[at] = s.leader[at]
    if previous and rules.tribute:
        tribute_phase.begin(s, rules, tables)
    if g.trick is not None:
        s.leader[at] = g.trick[0]
        s.seat[at] = NEXT[_ALL_SEATS, g.trick[0]]


def _first_leader(engine: Engine, at: int, *, dealt: bool) -> int:
    """Who leads without an order before: as in any deal, or by a turned card for given hands."""
    s = engine.state
    table, deal = s.table[[at]], s.deal[[at]]
    if dealt and engine.rules.first_lead == "heart_level":
        return int(dealing.deal(engine.seed, table, deal).first_heart(s.level[[at]])[0])
    return int(dealing.turned(engine.seed, table, deal)[0])


def _lay(engine: Engine, at: int, g: Position) -> None:
    """Put the trick on the table: what was played last, of cards in no hand."""
    assert g.hands is not None
    assert g.trick is not None
    s = engine.state
    seat, row = g.trick
    missing = _missing(g.hands)
    cards = choose_cards(
        to_bits(missing)[None],
        np.array([row]),
        s.level[[at]],
        flush_is_straight=engine.rules.flush_straight_as_straight,
    )
    laid = np.zeros((4, NUM_KINDS), dtype=np.uint8)
    laid[seat] = to_counts(cards)[0]
    s.played[at] = to_bits(laid + _fill_in(g.hands + laid))
    s.play_cards[at, 0] = cards[0]
    s.plays[at] = s.length[at] = 1
    s.history[at, 0] = s.lead[at] = s.last[at, seat] = row
    s.history_seat[at, 0] = s.lead_seat[at] = seat


def _fill_in(hands: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The cards in no hand, `(4, 54)`, shared out so that every seat has had 27."""
    missing = np.repeat(np.arange(NUM_KINDS), _missing(hands))
    owner = np.repeat(np.arange(4), HAND_SIZE - hands.sum(axis=1, dtype=np.int64))
    played = np.zeros_like(hands)
    np.add.at(played, (owner, missing), 1)
    return played


def check_options(options: Mapping[str, object]) -> None:
    """Raise `StateError` for a name that is no option of `position`."""
    if not isinstance(options, Mapping):
        raise StateError(f"options are {shown(options)}; a mapping from names to values is allowed")
    for name in options:
        if not isinstance(name, str) or name not in OPTIONS:
            raise StateError(
                f"unknown option {shown(name)}{nearest(name, OPTIONS)}; "
                f"allowed are {', '.join(OPTIONS)}"
            )
