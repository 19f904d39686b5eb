"""How well drawn hands explain what the other seats did: their likelihood under `planner`.

The decisions that the other seats made last are set up again, with the hand that each would have
had, and `planner`'s scores say how likely the play was that was made. What each play left of the
earlier hand is known by rank; of suits only which cards a seat has played in all, so that the
suits of single plays are a guess.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agents.planner import Planner
from guandan_env import legality
from guandan_env.actions import IS_PLAY, PASS, ROW_NATURALS, ROW_PATTERN, ROW_SIZE, ROW_SUIT, ROW_WILDS, Pattern
from guandan_env.cards import Bits, to_bits, to_counts
from guandan_env.decisions import Decisions
from guandan_env.engine import NUM_ACTIVE

_TOGETHER = 4096  # decisions that are set up at a time
_UNLIKELY = 0.02  # of a play's probability, what is spread over all legal rows
_FLUSH = int(Pattern.STRAIGHT_FLUSH)


@dataclass(frozen=True)
class Past:
    """Decisions that other seats made before n decisions, m together, by ascending decision.

    of: `(m,)`, the later decision. other: `(m,)`, 0 … 2, whose it was, from the later decision's
    seat in turn order. row: `(m,)`, what was played. since: `(m, 54) uint8`, what the seat has
    played from there on. decisions: `(m,)`, as they were, but for hands and legal rows.
    """

    of: NDArray[np.int64]
    other: NDArray[np.int64]
    row: NDArray[np.int64]
    since: NDArray[np.uint8]
    decisions: Decisions


def past(d: Decisions, entries: int) -> Past:
    """What the other seats decided in the last so many entries of the history."""
    n, width = d.history.shape
    entry, each = np.arange(width), np.arange(n)[:, None]
    rows = np.maximum(d.history.astype(np.int64), 0)
    seats = np.maximum(d.history_seat.astype(np.int64), 0)
    is_play = IS_PLAY[rows]
    # The last play before every entry, the numbers of cards there, and so what was led.
    upto = np.maximum.accumulate(np.where(is_play, entry, -1), axis=1)
    before = np.concatenate([np.full((n, 1), -1), upto[:, :-1]], axis=1)
    size = np.where(is_play, ROW_SIZE[rows], 0).astype(np.int64)
    by_seat = size[:, :, None] * (seats[:, :, None] == np.arange(4))
    counts = d.counts[:, None].astype(np.int64) + by_seat[:, ::-1].cumsum(axis=1)[:, ::-1]
    active = ((counts > 0) << np.arange(4)).sum(axis=2)
    leader = seats[each, before]
    leads = active >> leader & 1
    goes_on = (before >= 0) & (entry - 1 - before < NUM_ACTIVE[active] - leads)
    lead = np.where(goes_on, rows[each, before], PASS)
    begun = np.maximum.accumulate(np.where(goes_on, 0, entry), axis=1)
    played = entry >= np.argmax(is_play, axis=1)[:, None]
    first = np.maximum(d.length.astype(np.int64) - entries, 0)[:, None]
    asked = is_play.any(axis=1)[:, None] & played & (entry >= first)
    asked &= (entry < d.length[:, None]) & (seats != d.seat[:, None])
    of, at = np.nonzero(asked)
    last = np.full((len(of), 4), -1, dtype=np.int16)
    for seat in range(4):
        acted = np.maximum.accumulate(np.where(seats == seat, entry, -1), axis=1)
        acted = np.concatenate([np.full((n, 1), -1), acted[:, :-1]], axis=1)[of, at]
        within = acted >= begun[of, at]
        last[:, seat] = np.where(within, rows[of, acted], -1)
    order = d.order[of]
    there = counts[of, at]
    out = np.take_along_axis(there, np.maximum(order, 0).astype(np.int64), axis=1) == 0
    since = _played_since(d, entries)[of, at - first[of, 0]]
    s = d.take(of)
    seat = seats[of, at]
    return Past(
        of=of,
        other=(seat - d.seat[of] - 1) % 4,
        row=rows[of, at],
        since=since[np.arange(len(of)), seat],
        decisions=Decisions(
            **{
                **vars_of(s),
                "seat": seat.astype(np.int8),
                "played_bits": to_bits(s.played - since),
                "counts": there.astype(np.uint8),
                "lead": lead[of, at].astype(np.int16),
                "lead_seat": np.where(goes_on, leader, -1)[of, at].astype(np.int8),
                "last": last,
                "order": np.where(out & (order >= 0), order, -1).astype(np.int8),
                "length": at.astype(np.int16),
            }
        ),
    )


def vars_of(d: Decisions):
    from dataclasses import fields
    return {f.name: getattr(d, f.name) for f in fields(d)}


def _played_since(d: Decisions, entries: int) -> NDArray[np.uint8]:
    """Cards of each seat from each of the last entries on, `(n, entries, 4, 54)`, a guess at suits."""
    n, each = len(d), np.arange(len(d))
    bag = d.played.copy()
    level = d.level.astype(np.int64)
    wild = 4 * level + 1
    since = np.zeros((n, entries, 4, 54), dtype=np.uint8)
    length = d.length.astype(np.int64)
    first = np.maximum(length - entries, 0)
    for back in range(1, entries + 1):
        at = length - back
        there = at >= first
        at = np.maximum(at, 0)
        row = np.where(there, np.maximum(d.history[each, at], 0), 0).astype(np.int64)
        row = np.where(IS_PLAY[row], row, PASS)
        seat = np.maximum(d.history_seat[each, at], 0).astype(np.int64)
        held = bag[each, seat].astype(np.int64)
        wilds = np.minimum(ROW_WILDS[row], held[each, wild])
        held[each, wild] = 0
        suited = held[:, :52].reshape(n, 13, 4)
        flush = (ROW_PATTERN[row] == _FLUSH)[:, None, None]
        suited = suited * (~flush | (np.arange(4) == ROW_SUIT[row][:, None])[:, None, :])
        need = ROW_NATURALS[row].astype(np.int64)
        reach = np.cumsum(suited, axis=2)
        taken = np.minimum(np.maximum(need[:, :13, None] - (reach - suited), 0), suited)
        cards = np.zeros((n, 54), dtype=np.uint8)
        cards[:, :52] = taken.reshape(n, 52)
        cards[:, 52:] = np.minimum(need[:, 13:], held[:, 52:])
        cards[each, wild] = wilds
        bag[each, seat] -= cards
        place = np.maximum(at - first, 0)
        before = since[each, np.minimum(place + 1, entries - 1)]
        if back == 1:
            before = np.zeros_like(before)
        before[each, seat] += cards
        since[each[there], place[there]] = before[there]
    return since


def log_likelihood(
    p: Past, planner: Planner, at: NDArray[np.int64], hands: Bits, temperature: float = 1.0
) -> NDArray[np.float64]:
    """Of hands `(m, 3, 2)` that were drawn for decisions `at` `(m,)`, ascending: `(m,)`."""
    total = np.zeros(len(at))
    number = np.bincount(p.of, minlength=int(at.max(initial=0)) + 1)
    first = np.cumsum(number) - number
    per = number[at]
    world = np.repeat(np.arange(len(at)), per)
    which = first[at[world]] + np.arange(len(world)) - np.repeat(np.cumsum(per) - per, per)
    for start in range(0, len(world), _TOGETHER):
        w, i = world[start : start + _TOGETHER], which[start : start + _TOGETHER]
        total += np.bincount(w, _log_p(p, planner, i, hands[w, p.other[i]], temperature), len(at))
    return total


def _log_p(p: Past, planner: Planner, i: NDArray[np.int64], hands: Bits, temperature: float) -> NDArray[np.float64]:
    d = p.decisions.take(i)
    counts = to_counts(hands) + p.since[i]
    bits = to_bits(np.minimum(counts, 2))
    index, beating = legality.beating_masks()
    packed = legality.hand_masks(
        bits, d.level, flush_is_straight=d.rules.flush_straight_as_straight
    ) & beating[index[d.level, d.lead]]
    number = legality.count(packed)
    logs = np.zeros(len(i))
    free = np.flatnonzero(number > 1)
    for start in range(0, len(free), 512):
        some = free[start : start + 512]
        asked = Decisions(**{**vars_of(d.take(some)), "hand_bits": bits[some], "packed": packed[some]})
        plays, score = planner.scores(asked)
        score = score / temperature
        best = np.maximum.reduceat(score, plays.start)
        e = np.exp(score - best[plays.of])
        share = e / np.add.reduceat(e, plays.start)[plays.of]
        share = (1 - _UNLIKELY) * share + _UNLIKELY / number[some][plays.of]
        made = plays.rows == p.row[i][some][plays.of]
        found = np.full(len(some), np.exp(-2.0))
        found[plays.of[made]] = share[made]
        logs[some] = np.log(found)
    return logs
