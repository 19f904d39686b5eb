"""The exchange before a deal (进贡, 还牌, 抗贡) as decisions of the seats, on arrays (RULES 6).

Order: resist where it is a choice; the payers pay, next(first) or the single payer before
previous(first); the first player picks where it may; first, then second, returns. Cards change
hands only when all cards of the same kind of move have been chosen.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from guandan_env import tribute
from guandan_env.actions import FIRST_CARD, RESIST
from guandan_env.cards import NUM_KINDS, add, remove, single_card
from guandan_env.legality import MASK_WORDS
from guandan_env.rules import RuleSet
from guandan_env.state import Phase, State

_u = np.uint64
Tables = NDArray[np.intp]


def kinds_to_rows(kinds: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Packed masks `(n, 36)` with the card rows of sets of kinds `(n,)`."""
    masks = np.zeros((len(kinds), MASK_WORDS), dtype=np.uint64)
    word, bit = divmod(FIRST_CARD, 64)
    masks[:, word] = kinds << _u(bit)
    if bit + NUM_KINDS > 64:
        masks[:, word + 1] = kinds >> _u(64 - bit)
    return masks


def begin(s: State, rules: RuleSet, tables: Tables) -> None:
    """Open tribute at tables that have a finishing order of the deal before, hands just dealt."""
    if not tables.size:
        return
    previous = s.previous[tables]
    first, last = previous[:, 0], previous[:, 3]
    double = (first + previous[:, 1]) % 2 == 0
    s.payers[tables, 0] = np.where(double, (first + 1) % 4, last)
    s.payers[tables, 1] = np.where(double, (first + 3) % 4, -1)
    own = tribute.big_jokers(s.hands[tables, s.payers[tables, 0]])
    other = np.where(double, tribute.big_jokers(s.hands[tables, s.payers[tables, 1]]), 0)
    able = own + other == 2
    if rules.resist == "must":
        s.resisted[tables] = able
        paying = tables[~able]
    else:
        s.phase[tables[able]] = Phase.RESIST
        asked = np.where(own > 0, s.payers[tables, 0], s.payers[tables, 1])
        s.seat[tables[able]] = asked[able]
        paying = tables[~able]
    s.phase[paying] = Phase.PAY
    s.seat[paying] = s.payers[paying, 0]


def legal(s: State, rules: RuleSet, tables: Tables) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Kinds that may be chosen at tables not in play, and where resisting is the question."""
    phase, seat = s.phase[tables], s.seat[tables]
    kinds = np.zeros(len(tables), dtype=np.uint64)
    hands = s.hands[tables, np.maximum(seat, 0)]
    level = s.level[tables]
    pay = phase == Phase.PAY
    if pay.any():
        kinds[pay] = tribute.payable(hands[pay], level[pay])
    pick = phase == Phase.CHOOSE
    if pick.any():
        paid = _u(1) << s.paid[tables[pick]].astype(np.uint64)
        kinds[pick] = paid[:, 0] | paid[:, 1]
    give = phase == Phase.RETURN
    if give.any():
        t = tables[give]
        payer = _payer_of(s, t, seat[give])
        received = s.paid[t, payer]
        to_partner = (s.payers[t, payer] - seat[give]) % 2 == 0
        kinds[give] = tribute.returnable(
            hands[give], level[give], received, to_partner, rules.return_limit
        )
    return kinds, phase == Phase.RESIST


def _payer_of(s: State, tables: Tables, receivers: NDArray[np.integer]) -> NDArray[np.int64]:
    """Index 0 or 1 of the payer whose card went to each receiver."""
    to_first = s.to_first[tables].astype(np.int64)
    return np.where(receivers == s.previous[tables, 0], to_first, 1 - to_first)


def act(s: State, rules: RuleSet, tables: Tables, rows: NDArray[np.int64]) -> None:
    """Apply legal rows at tables that are not in play."""
    phase, seat = s.phase[tables].copy(), s.seat[tables].copy()
    kinds = (rows - FIRST_CARD).astype(np.int8)
    for which, move in (
        (Phase.RESIST, _resist),
        (Phase.PAY, _pay),
        (Phase.CHOOSE, _choose),
        (Phase.RETURN, _return),
    ):
        at = phase == which
        if at.any():
            move(s, rules, tables[at], seat[at], rows[at] if which is Phase.RESIST else kinds[at])


def _resist(
    s: State, rules: RuleSet, tables: Tables, seats: NDArray[np.int8], rows: NDArray[np.integer]
) -> None:
    resists = rows == RESIST
    done = tables[resists]
    s.resisted[done] = True
    s.phase[done] = Phase.PLAY
    s.seat[done] = s.leader[done]  # the first player, set when the deal began
    declined, who = tables[~resists], seats[~resists]
    partner = s.payers[declined, 1]
    has_one = tribute.big_jokers(s.hands[declined, who]) == 1
    ask = has_one & (who == s.payers[declined, 0])
    s.seat[declined] = np.where(ask, partner, s.payers[declined, 0])
    s.phase[declined[~ask]] = Phase.PAY


def _pay(
    s: State, rules: RuleSet, tables: Tables, seats: NDArray[np.int8], kinds: NDArray[np.integer]
) -> None:
    index = (seats != s.payers[tables, 0]).astype(np.intp)
    s.paid[tables, index] = kinds
    double = s.payers[tables, 1] >= 0
    waiting = double & (index == 0)
    s.seat[tables[waiting]] = s.payers[tables[waiting], 1]
    single = tables[~double]
    s.leader[single] = s.payers[single, 0]
    _hand_over(s, single)
    both = tables[double & ~waiting]
    if both.size:
        _pair_up(s, rules, both)


def _pair_up(s: State, rules: RuleSet, tables: Tables) -> None:
    """Both losers have paid: who gets which card, and who leads."""
    place = np.stack([tribute.place_of(s.paid[tables, i], s.level[tables]) for i in (0, 1)], axis=1)
    tie = place[:, 0] == place[:, 1]
    higher = np.where(place[:, 1] > place[:, 0], 1, 0)
    s.to_first[tables] = 0 if rules.tribute_pairing == "seat" else higher
    leading = s.payers[tables, higher]
    if rules.tribute_lead == "higher_seat":
        leading = np.where(tie, s.payers[tables].max(axis=1), leading)
    if rules.tribute_lead == "last":
        leading = s.previous[tables, 3]
    s.leader[tables] = leading
    if rules.tribute_tie == "choose" and rules.tribute_pairing == "rank":
        asks = tie & (s.paid[tables, 0] != s.paid[tables, 1])
        s.phase[tables[asks]] = Phase.CHOOSE
        s.seat[tables[asks]] = s.previous[tables[asks], 0]
        tables = tables[~asks]
    _hand_over(s, tables)


def _choose(
    s: State, rules: RuleSet, tables: Tables, seats: NDArray[np.int8], kinds: NDArray[np.integer]
) -> None:
    index = (s.paid[tables, 0] != kinds).astype(np.int8)
    s.to_first[tables] = index
    if rules.tribute_lead != "last":
        s.leader[tables] = s.payers[tables, index]
    _hand_over(s, tables)


def _hand_over(s: State, tables: Tables) -> None:
    """The paid cards change hands; the first player returns next."""
    for index in (0, 1):
        t = tables[s.payers[tables, index] >= 0]
        place = np.where(s.to_first[t] == index, 0, 1)
        _move(s, t, s.payers[t, index], s.previous[t, place], s.paid[t, index])
    s.phase[tables] = Phase.RETURN
    s.seat[tables] = s.previous[tables, 0]


def _move(
    s: State,
    tables: Tables,
    giver: NDArray[np.integer],
    taker: NDArray[np.integer],
    kinds: NDArray[np.integer],
) -> None:
    cards = single_card(kinds)
    s.hands[tables, giver] = remove(s.hands[tables, giver], cards)
    s.hands[tables, taker] = add(s.hands[tables, taker], cards)


def _return(
    s: State, rules: RuleSet, tables: Tables, seats: NDArray[np.int8], kinds: NDArray[np.integer]
) -> None:
    first = seats == s.previous[tables, 0]
    s.returned[tables, np.where(first, 0, 1)] = kinds
    waiting = first & (s.payers[tables, 1] >= 0)
    s.seat[tables[waiting]] = s.previous[tables[waiting], 1]
    done = tables[~waiting]
    for place in (0, 1):
        t = done[s.returned[done, place] >= 0]
        receiver = s.previous[t, place]
        payer = s.payers[t, _payer_of(s, t, receiver)]
        _move(s, t, receiver, payer, s.returned[t, place])
    if rules.return_tie == "choose_lead":
        _lead_by_return(s, done[s.payers[done, 1] >= 0])
    s.phase[done] = Phase.PLAY
    s.seat[done] = s.leader[done]


def _lead_by_return(s: State, tables: Tables) -> None:
    """Of two equal tributes, the payer that got the lower card back leads (003-4)."""
    level = s.level[tables]
    paid = [tribute.place_of(s.paid[tables, i], level) for i in (0, 1)]
    back = [tribute.place_of(s.returned[tables, i], level) for i in (0, 1)]
    to_first = s.to_first[tables].astype(np.int64)
    lower = np.where(back[0] < back[1], to_first, 1 - to_first)
    lower = np.where(back[0] == back[1], 0, lower)
    chosen = s.payers[tables, lower]
    s.leader[tables] = np.where(paid[0] == paid[1], chosen, s.leader[tables])
