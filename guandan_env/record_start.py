"""Tables set to the beginning of recorded deals, once it is sure that deals can begin so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guandan_env import tribute_phase
from guandan_env.cards import KIND_NAMES, KIND_OF, NUM_KINDS, NUM_RANKS, RANKS, to_bits
from guandan_env.engine import Engine
from guandan_env.errors import RulesError
from guandan_env.promotion import ACE
from guandan_env.record import STANDING, DealStarts, is_dealt, start
from guandan_env.record_shape import RecordError, first_difference
from guandan_env.rules import RuleSet
from guandan_env.state import Phase, State

Record = Mapping[str, Any]


def rules_of(told: Record) -> RuleSet:
    """The rules of a record; `RecordError` unless each option is there and allowed."""
    try:
        rules = RuleSet.from_dict(told["rules"])
    except RulesError as error:
        raise RecordError(str(error)) from error
    lacking = [name for name in rules.to_dict() if name not in told["rules"]]
    if lacking:
        raise RecordError(f"rules lack {', '.join(lacking)}")
    return rules


def begin(records: Sequence[Record]) -> tuple[Engine, DealStarts]:
    """An engine with one table for each record, as its deal begins.

    All records are checked by `check_start`, and have the same rules and episode. The seed is
    that of the first one: it bears on the random keys of decisions only.
    """
    rules = rules_of(records[0])
    engine = Engine(len(records), rules, episode=records[0]["episode"])
    engine.seed = records[0]["seed"] or 0
    engine.state = s = State.fresh(len(records))
    tables = np.arange(len(records))
    s.table[:] = [told["table"] or 0 for told in records]
    s.deal[:] = [told["deal"] or 0 for told in records]
    begun = [told["start"] for told in records]
    for name in STANDING:
        getattr(s, name)[:] = [at[name] for at in begun]
    s.hands[:] = to_bits(np.stack([_counts(at) for at in begun]))
    s.level[:] = [RANKS.index(at["level"]) for at in begun]
    s.declarer[:] = [-1 if at["declarer"] is None else at["declarer"] for at in begun]
    s.previous[:] = [at["previous"] or [-1] * 4 for at in begun]
    s.leader[:] = s.seat[:] = [at["leader"] for at in begun]
    s.phase[:] = Phase.PLAY
    s.over[:] = False
    if rules.tribute:
        tribute_phase.begin(s, rules, np.flatnonzero(s.previous[:, 0] >= 0))
    engine.refresh_masks(tables)
    starts = DealStarts(len(records))
    starts.note(s, tables)
    return engine, starts


def _counts(begun: Mapping[str, Any]) -> NDArray[np.uint8]:
    """The four hands as counts `(4, 54)`."""
    at = [
        NUM_KINDS * i + KIND_OF[name]
        for i, hand in enumerate(begun["hands"])
        for name in hand.split()
    ]
    return np.bincount(at, minlength=4 * NUM_KINDS).reshape(4, NUM_KINDS).astype(np.uint8)


def check_start(told: Record) -> None:
    """Raise `RecordError` unless a deal can begin as a record (of the right shape) says."""
    rules, begun = rules_of(told), told["start"]
    for reason in (_wrong_hands(begun), _wrong_seats(begun), _wrong_levels(told, rules)):
        if reason:
            raise RecordError(f"start: {reason}")


def check_begun(told: Record, rules: RuleSet, starts: DealStarts, at: int) -> None:
    """Raise `RecordError` unless the deal that has begun at a table is the recorded one."""
    difference = first_difference(told["start"], start(rules, starts, at), "start")
    if difference:
        raise RecordError(difference)
    numbers = [told[name] for name in ("seed", "table", "deal")]
    dealt = None not in numbers and is_dealt(rules, told["seed"], starts, at)
    if dealt != told["dealt"]:
        follow = "do follow" if dealt else "do not follow"
        raise RecordError(
            f"dealt is {str(told['dealt']).lower()}, but these hands and this leader {follow} from "
            "seed {}, table {} and deal {}".format(*numbers)
        )


def _wrong_hands(begun: Mapping[str, Any]) -> str:
    total = _counts(begun).sum(axis=0, dtype=np.int64)
    if (total != 2).any():
        kind = int(np.argmax(total != 2))
        return f"{KIND_NAMES[kind]} is dealt {total[kind]} times; two decks hold two"
    return ""


def _wrong_seats(begun: Mapping[str, Any]) -> str:
    previous = begun["previous"]
    if previous is None:
        return ""
    first, second = previous[:2]
    whole = [first, second, (first + 3) % 4, (first + 1) % 4]
    if first % 2 == second % 2 and previous != whole:
        return f"previous is {previous}; after this double-down it is {whole}"
    if begun["leader"] != previous[0]:
        return f"leader is {begun['leader']}; before tribute it is the first, {previous[0]}"
    if begun["declarer"] != previous[0] % 2:
        return f"declarer is {begun['declarer']}; the winners of the deal before declare"
    return ""


def _wrong_levels(told: Record, rules: RuleSet) -> str:
    begun = told["start"]
    steps, declarer = begun["steps"], begun["declarer"]
    in_game = told["episode"] == "game"
    if begun["sudden_death"]:
        if not in_game or rules.at_limit != "sudden_death" or rules.max_deals is None:
            return "sudden_death is true; these rules have none"
        if begun["previous"] is not None:
            return "previous is given; a deal of sudden death follows none"
    if in_game and rules.fixed_level is not None:
        possible = [rules.fixed_level]
    elif begun["sudden_death"]:
        possible = [RANKS[ACE]]
    else:
        sides = (0, 1) if declarer is None else (declarer,)
        possible = sorted({RANKS[steps[side] % NUM_RANKS] for side in sides})
        if rules.ace != "wrap" and max(steps) > ACE:
            return f"steps are {steps}; a deal is played at {ACE}, level A, at most"
    if [begun["level"]] != possible:
        return f"level is {begun['level']}; with these levels it is {' or '.join(possible)}"
    return ""
