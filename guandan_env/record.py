"""A deal as plain data: everything needed to replay it and to verify it without this code.

`deal_record` makes the record of the deal at a table of an engine, finished or not, as one
JSON object. docs/records.md describes every field, `data/record-v1.schema.json` is its schema;
`record_file` writes and reads files of them, `record_replay` plays them again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guandan_env import dealing, tribute
from guandan_env.actions import ACTION_TABLE_VERSION, FIRST_CARD, PASS, RESIST
from guandan_env.cards import HAND_SIZE, KIND_NAMES, NUM_RANKS, RANKS, Counts, to_counts
from guandan_env.engine import Engine
from guandan_env.errors import StateError
from guandan_env.notation import row_name
from guandan_env.promotion import ACE, DRAW, PASSED_ACE, gains
from guandan_env.rules import RuleSet
from guandan_env.state import Phase, State

FORMAT = "guandan-record-v1"
LONGEST_NAME = 200
STANDING = ("steps", "attempts", "debt", "last_run", "first_run", "deals", "sudden_death")
_SNAPSHOT = ("table", "deal", "hands", "level", "declarer", "previous", "leader", *STANDING)
Standing = dict[str, Any]


class DealStarts:
    """How the deals now at B tables began, and the leads that were given away in them.

    What an engine does not keep: whoever wants records calls `note` when deals have begun, and
    `note_yield` before `Engine.yield_lead`.
    """

    def __init__(self, num_tables: int) -> None:
        fresh = State.fresh(num_tables)
        self._at: dict[str, NDArray[Any]] = {name: getattr(fresh, name) for name in _SNAPSHOT}
        self._yields: dict[int, list[tuple[int, int]]] = {}

    def note(self, state: State, tables: NDArray[np.integer]) -> None:
        """Deals have begun at some tables (indices) and nothing has been decided in them.

        Raises `StateError` where something has, or where a hand is not whole: records begin at
        the beginning.
        """
        tables = np.asarray(tables)
        held = np.bitwise_count(state.hands[tables]).sum(axis=-1)
        if (state.length[tables] > 0).any() or (held != HAND_SIZE).any():
            raise StateError("a record begins with four whole hands, before the first decision")
        for name, array in self._at.items():
            array[tables] = getattr(state, name)[tables]
        for at in tables.tolist():
            self._yields.pop(at, None)

    def note_yield(self, state: State, tables: NDArray[np.integer]) -> None:
        """The seats to act at some tables (indices) are about to give the lead away."""
        for at in np.asarray(tables).tolist():
            event = (int(state.length[at]), int(state.seat[at]))
            self._yields.setdefault(at, []).append(event)

    def yields(self, at: int) -> list[tuple[int, int]]:
        """Leads given away at a table: how many decisions had been made, and the seat."""
        return self._yields.get(at, [])

    def value(self, name: str, at: int) -> Any:
        """A field of the state, by its name in `state.FIELDS`, when the deal at a table began."""
        return self._at[name][at]


def deal_record(
    engine: Engine,
    at: int,
    starts: DealStarts,
    *,
    players: Sequence[str],
    context: Mapping[str, Any] | None = None,
    fault: Mapping[str, Any] | None = None,
    choices: Mapping[int, Sequence[Mapping[str, Any]]] | None = None,
) -> dict[str, Any]:
    """The record of the deal at table `at` of an engine, as it stands; finished or not.

    An engine that plays whole games must be stepped with `go_on=False`, or the deal that ended is
    gone.

    Parameters:
        starts: Was told when this deal began.
        players: Names by seat. What is not printable in them is replaced, the rest after 200
            characters left out.
        context: Anything about the match that JSON can hold.
        fault: Why there is no result: `seat` and `text`, as a rule `agent` and `cause` too.
        choices: What agents thought of their moves, to be shown by replays: number of the
            decision (from 0) to `[{"claim": "pair 55", "value": 0.8}, …]`, the best first.

    Raises `StateError` if `starts` knows another deal of this table.
    """
    state = engine.state
    if starts.value("deal", at) != state.deal[at] or starts.value("table", at) != state.table[at]:
        raise StateError(
            f"the start of deal {state.deal[at]} at table {at} was not noted, "
            f"only that of deal {starts.value('deal', at)}"
        )
    return {
        "format": FORMAT,
        "actions": ACTION_TABLE_VERSION,
        "rules": engine.rules.to_dict(),
        "episode": engine.episode,
        "seed": engine.seed,
        "table": int(state.table[at]),
        "deal": int(state.deal[at]),
        "dealt": is_dealt(engine.rules, engine.seed, starts, at),
        "players": [_name(player) for player in players],
        "context": dict(context or {}),
        "start": start(engine.rules, starts, at),
        "moves": moves(engine, at, starts, choices or {}),
        "fault": None if fault is None else dict(fault),
        "result": result(engine, at, bool(starts.value("sudden_death", at))),
    }


def start(rules: RuleSet, starts: DealStarts, at: int) -> dict[str, Any]:
    """How the deal at a table began: hands before tribute, and the standing of the game."""
    declarer, previous = int(starts.value("declarer", at)), starts.value("previous", at)
    return {
        "hands": card_texts(to_counts(starts.value("hands", at))),
        "level": RANKS[starts.value("level", at)],
        "declarer": None if declarer < 0 else declarer,
        "previous": None if previous[0] < 0 else previous.tolist(),
        "leader": int(starts.value("leader", at)),
        **_standing(rules, {name: starts.value(name, at) for name in STANDING}),
    }


def is_dealt(rules: RuleSet, seed: int, starts: DealStarts, at: int) -> bool:
    """Whether hands and leader of a deal are those that follow from seed, table and deal."""
    table, deal = (starts.value(name, at)[None] for name in ("table", "deal"))
    cards = dealing.deal(seed, table, deal)
    first = int(starts.value("previous", at)[0])
    by_heart = rules.first_lead == "heart_level" and not starts.value("sudden_death", at)
    if first >= 0:
        leader = first
    elif by_heart:
        leader = int(cards.first_heart(starts.value("level", at)[None])[0])
    else:
        leader = int(dealing.turned(seed, table, deal)[0])
    same_hands = bool((cards.hands[0] == starts.value("hands", at)).all())
    return same_hands and leader == int(starts.value("leader", at))


def moves(
    engine: Engine,
    at: int,
    starts: DealStarts,
    choices: Mapping[int, Sequence[Mapping[str, Any]]] = MappingProxyType({}),
) -> list[dict[str, Any]]:
    """Everything that was done in the deal at a table, in order."""
    state = engine.state
    length = int(state.length[at])
    rows, seats = state.history[at, :length].tolist(), state.history_seat[at, :length].tolist()
    cards = card_texts(to_counts(state.play_cards[at, : state.plays[at]]))
    kinds = _tribute_kinds(engine.rules, state, at, rows)
    receivers = _receivers(engine.rules, state, at, kinds)
    yields = starts.yields(at)
    told: list[dict[str, Any]] = []
    plays = 0
    for number, (row, seat) in enumerate(zip(rows, seats, strict=True)):
        while yields and yields[0][0] <= number:
            told.append({"seat": yields[0][1], "move": "yield"})
            yields = yields[1:]
        kind = kinds[number] if number < len(kinds) else "pass" if row == PASS else "play"
        move: dict[str, Any] = {"seat": seat, "move": kind, "claim": row_name(row), "row": row}
        if kind == "play":
            move["cards"] = cards[plays]
            plays += 1
        elif FIRST_CARD <= row < RESIST:
            move["cards"] = KIND_NAMES[row - FIRST_CARD]
            if kind != "choose":
                move["to"] = receivers.get((kind, seat))
        if number in choices:
            move["choices"] = [dict(choice) for choice in choices[number]]
        told.append(move)
    told += [{"seat": seat, "move": "yield"} for _, seat in yields]
    return told


def _tribute_kinds(rules: RuleSet, state: State, at: int, rows: list[int]) -> list[str]:
    """What the decisions of tribute (进贡, 还牌, 抗贡) at a table were, in order."""
    kinds: list[str] = []
    # Nobody passes on the lead: passes before the first card decline to resist.
    for row in rows:
        if row not in (PASS, RESIST):
            break
        kinds.append("resist" if row == RESIST else "decline")
        if row == RESIST:
            return kinds
    payers = int((state.payers[at] >= 0).sum())
    exchange = ["pay"] * payers + ["choose"] * _chooses(rules, state, at) + ["return"] * payers
    number_of_cards = sum(FIRST_CARD <= row < RESIST for row in rows)
    return kinds + exchange[:number_of_cards]


def _chooses(rules: RuleSet, state: State, at: int) -> bool:
    """Whether the first player is asked which of two paid cards it takes (RULES 6.8)."""
    if rules.tribute_tie != "choose" or rules.tribute_pairing != "rank":
        return False
    paid, level = state.paid[at], state.level[at, None]
    if (paid < 0).any() or paid[0] == paid[1]:
        return False
    one, other = (tribute.place_of(paid[i, None], level)[0] for i in (0, 1))
    return bool(one == other)


def _receivers(
    rules: RuleSet, state: State, at: int, kinds: list[str]
) -> dict[tuple[str, int], int]:
    """Who gets what a seat pays or returns, by kind of move and seat; empty while it is open."""
    payers = [int(payer) for payer in state.payers[at] if payer >= 0]
    undecided = _chooses(rules, state, at) and "choose" not in kinds
    if kinds.count("pay") < len(payers) or undecided:
        return {}
    takers = state.previous[at, : len(payers)].tolist()
    if state.to_first[at] == 1:
        takers.reverse()
    pairs = list(zip(payers, takers, strict=True))
    paid = {("pay", payer): taker for payer, taker in pairs}
    return paid | {("return", taker): payer for payer, taker in pairs}


def result(engine: Engine, at: int, sudden_death: bool) -> dict[str, Any] | None:
    """How the deal at a table ended; None if it has not.

    `sudden_death` says whether it was a deal of RULES 5.17, which ends with its first finisher.
    """
    state = engine.state
    order = state.order[at].astype(np.int64)
    if state.phase[at] != Phase.OVER or order[0 if sudden_death else 3] < 0:
        return None
    side, levels = gains(engine.rules, order[None])
    in_game = engine.episode == "game"
    winner = int(state.winner[at])
    after = _standing(engine.rules, {name: getattr(state, name)[at] for name in STANDING})
    return {
        "order": [seat for seat in order.tolist() if seat >= 0],
        "side": int(side[0]),
        "gain": 1 if sudden_death else int(levels[0]),
        "after": after if in_game else None,
        "winner": None if not in_game or winner < 0 else "draw" if winner == DRAW else winner,
    }


def _standing(rules: RuleSet, values: Mapping[str, Any]) -> Standing:
    """The standing of a game as plain data, levels in steps and as characters."""
    plain: Standing = {name: np.asarray(value).tolist() for name, value in values.items()}
    return {"levels": [level_name(rules, step) for step in plain["steps"]], **plain}


def card_texts(counts: Counts) -> list[str]:
    """Hands `(n, 54)` as texts such as `"S3 H3 SB"`, in canonical order."""
    hand, kind = np.nonzero(counts)
    times = counts[hand, kind]
    names: list[list[str]] = [[] for _ in counts]
    for i, k in zip(np.repeat(hand, times).tolist(), np.repeat(kind, times).tolist(), strict=True):
        names[i].append(KIND_NAMES[k])
    return [" ".join(cards) for cards in names]


def level_name(rules: RuleSet, step: int) -> str:
    """The character of a level in steps (promotion.py): `A` for a passed A too.

    Where the level is fixed, steps are points and the level is always that one.
    """
    if rules.fixed_level is not None:
        return rules.fixed_level
    return RANKS[ACE] if step == PASSED_ACE and rules.ace != "wrap" else RANKS[step % NUM_RANKS]


def _name(player: str) -> str:
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in player)
    return shown[:LONGEST_NAME]
