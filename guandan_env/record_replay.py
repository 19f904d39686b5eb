"""Playing records again on the engine: move by move to look at them, or many at once to verify.

A record is verified by playing its moves and making the record of what was played: it must be the
same, down to the claims, the receivers of tribute, the result and the levels after it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guandan_env import legality, record
from guandan_env.actions import PASS, RESIST
from guandan_env.cards import KIND_OF, NUM_KINDS, RANKS, to_counts
from guandan_env.decisions import Decisions
from guandan_env.engine import Engine
from guandan_env.errors import shown
from guandan_env.notation import row_name
from guandan_env.record import DealStarts
from guandan_env.record_file import read_records
from guandan_env.record_shape import RecordError, first_difference
from guandan_env.record_start import begin, check_begun, check_start
from guandan_env.state import Phase
from guandan_env.suits import match_cards

CHUNK = 512  # records that are played at once
_DECISION, _YIELD, _END = range(3)
_KINDS = {
    Phase.RESIST: ("resist", "decline"),
    Phase.PAY: ("pay",),
    Phase.CHOOSE: ("choose",),
    Phase.RETURN: ("return",),
    Phase.PLAY: ("play", "pass"),
    Phase.OVER: (),
}
Record = Mapping[str, Any]
# Is shown the index of each record in which a decision is pending, `(n,)`, the decisions, and what
# was decided: rows `(n,)` and cards `(n, 54)`, all 0 where none are played, paid or returned.
Watch = Callable[[NDArray[np.intp], Decisions, NDArray[np.int64], NDArray[np.uint8]], None]


def replay(told: Record) -> Iterator[Engine]:
    """An engine with one table, as the deal of a record begins and after each of its moves.

    The same engine is yielded each time. `told` must have the shape of a record, as those of
    `read_records` have. Raises `RecordError`, with the number of the move, where the record
    contradicts the rules or itself; what was yielded before is sound.
    """
    check_start(told)
    engine, starts = begin([told])
    check_begun(told, engine.rules, starts, 0)
    yield engine
    for number, move in enumerate(told["moves"], start=1):
        reason = _wrong_move(engine, move)
        if reason:
            raise RecordError(reason, move=number)
        if move["move"] == "yield":
            starts.note_yield(engine.state, np.array([0]))
            engine.yield_lead(np.array([0]))
        else:
            engine.step(np.array([move["row"]]), _counts(move)[None], go_on=False)
        yield engine
    _compare(told, engine, 0, starts)


def verify(told: Record) -> None:
    """Raise `RecordError` unless a record (of the right shape) is sound by the rules."""
    for _ in replay(told):
        pass


@dataclass(frozen=True)
class Verified:
    """What `verify_file` found: deals and moves that are sound, and the first fault or None."""

    deals: int
    moves: int
    fault: RecordError | None


def verify_file(
    path: str | os.PathLike[str], progress: Callable[[int], None] | None = None
) -> Verified:
    """Play all records of a file again, until the first fault.

    `progress` is told how many deals have been verified. A fault is in what is returned;
    `RecordError` is raised only if the file cannot be read at all.
    """
    deals = moves = 0
    records = read_records(path)
    while True:
        chunk, broken = next_chunk(records)
        wrong = first_wrong(chunk)
        sound = len(chunk) if wrong is None else wrong
        deals += sound
        moves += sum(len(told["moves"]) for told in chunk[:sound])
        if progress is not None:
            progress(deals)
        if wrong is not None:
            return Verified(deals, moves, fault_of(chunk[wrong], deals + 1))
        if broken is not None or len(chunk) < CHUNK:
            return Verified(deals, moves, broken)


def next_chunk(
    records: Iterator[dict[str, Any]],
) -> tuple[list[dict[str, Any]], RecordError | None]:
    """Up to `CHUNK` records of a file, and what is wrong with the line after them, if anything.

    `RecordError` is raised only if the file cannot be read.
    """
    chunk: list[dict[str, Any]] = []
    try:
        for told in islice(records, CHUNK):
            chunk.append(told)
    except RecordError as error:
        if error.deal is None:
            raise
        return chunk, error
    return chunk, None


def fault_of(told: Record, deal: int) -> RecordError:
    """What is wrong with a record that is not sound, the deal of this number in its file."""
    try:
        verify(told)
    except RecordError as error:
        return RecordError(error.reason, deal=deal, move=error.move)
    raise AssertionError(f"deal {deal} is wrong among others, and right alone")


def first_wrong(records: Sequence[Record], watch: Watch | None = None) -> int | None:
    """Index of the first of some records (of the right shape) that is not sound; None if all are.

    All are played at once, which is many times faster than `verify` on each. `watch` is shown
    every decision, also those of records that turn out wrong in the end.
    """
    alike: dict[str, list[int]] = {}
    wrong: list[int] = []
    for index, told in enumerate(records):
        try:
            check_start(told)
        except RecordError:
            wrong.append(index)
        else:
            alike.setdefault(f"{told['episode']} {told['rules']}", []).append(index)
    for indices in alike.values():
        good = _play_again([records[index] for index in indices], np.array(indices), watch)
        wrong += [index for index, is_good in zip(indices, good, strict=True) if not is_good]
    return min(wrong, default=None)


@dataclass
class _Script:
    """The moves of n records: arrays `(n, longest + 1)`, kind `_END` after the last of each.

    cards: `(n, longest + 1, 54) uint8`.
    """

    kind: NDArray[np.int8]
    seat: NDArray[np.int8]
    row: NDArray[np.int64]
    cards: NDArray[np.uint8]

    @classmethod
    def of(cls, records: Sequence[Record]) -> _Script:
        shape = len(records), 1 + max(len(told["moves"]) for told in records)
        script = cls(
            np.full(shape, _END, dtype=np.int8),
            np.zeros(shape, dtype=np.int8),
            np.zeros(shape, dtype=np.int64),
            np.zeros((*shape, NUM_KINDS), dtype=np.uint8),
        )
        for i, told in enumerate(records):
            moves = told["moves"]
            n = len(moves)
            script.kind[i, :n] = [_YIELD if m["move"] == "yield" else _DECISION for m in moves]
            script.seat[i, :n] = [move["seat"] for move in moves]
            script.row[i, :n] = [move.get("row", PASS) for move in moves]
            names = [move.get("cards", "").split() for move in moves]
            at = [NUM_KINDS * m + KIND_OF[name] for m, cards in enumerate(names) for name in cards]
            counted = np.bincount(np.array(at, dtype=np.intp), minlength=NUM_KINDS * n)
            script.cards[i, :n] = counted.reshape(n, NUM_KINDS)
        return script


def _play_again(
    records: Sequence[Record], index: NDArray[np.intp], watch: Watch | None
) -> NDArray[np.bool_]:
    """Which of some records of the same rules are sound, all played at once.

    `index` is what to call them when `watch` is shown their decisions.
    """
    engine, starts = begin(records)
    state, script = engine.state, _Script.of(records)
    good = np.ones(len(records), dtype=bool)
    done = np.zeros(len(records), dtype=np.int64)  # moves made at each table
    live = np.arange(len(records))

    def drop(tables: NDArray[np.intp]) -> None:
        good[tables] = False
        engine.stop(tables)

    while live.size:
        kind = script.kind[live, done[live]]
        for at in live[kind == _END].tolist():
            good[at] = _is_same(records[at], engine, at, starts)
        engine.stop(live[kind == _END])
        live, kind = live[kind != _END], kind[kind != _END]
        out_of_turn = script.seat[live, done[live]] != state.seat[live]
        gives = kind == _YIELD
        out_of_turn |= gives & ((state.phase[live] != Phase.PLAY) | (state.lead[live] != PASS))
        drop(live[out_of_turn])
        live, gives = live[~out_of_turn], gives[~out_of_turn]
        if gives.any():
            starts.note_yield(state, live[gives])
            engine.yield_lead(live[gives])
            done[live[gives]] += 1
            continue
        rows = np.zeros(len(records), dtype=np.int64)
        cards = np.zeros((len(records), NUM_KINDS), dtype=np.uint8)
        rows[live], cards[live] = script.row[live, done[live]], script.cards[live, done[live]]
        packed = engine.packed_masks()
        drop(live[_illegal(engine, live, rows[live], cards[live], packed[live])])
        live = live[good[live]]
        if watch is not None and live.size:
            pending = engine.decisions(live, packed_masks=packed)
            watch(index[live], pending, rows[live], cards[live])
        engine.step(rows, cards, packed_masks=packed, go_on=False)
        done[live] += 1
    return good


def _illegal(
    engine: Engine,
    tables: NDArray[np.intp],
    rows: NDArray[np.int64],
    cards: NDArray[np.uint8],
    packed: NDArray[np.uint64],
) -> NDArray[np.bool_]:
    """Where rows at some tables are not legal, or cannot be played with these cards."""
    state = engine.state
    wrong: NDArray[np.bool_] = ~legality.is_set(packed, rows)
    wrong |= (cards > 2).any(axis=1)
    playing = np.flatnonzero((state.phase[tables] == Phase.PLAY) & ~wrong)
    at = tables[playing]
    wrong[playing] = match_cards(
        state.hands[at, state.seat[at]],
        rows[playing],
        state.level[at],
        cards[playing],
        flush_is_straight=engine.rules.flush_straight_as_straight,
    )[1]
    return wrong


def _wrong_move(engine: Engine, move: Mapping[str, Any]) -> str:
    """Why a move cannot be made at the one table of an engine; empty if it can."""
    state = engine.state
    seat, phase, kind = int(state.seat[0]), Phase(state.phase[0]), move["move"]
    if phase is Phase.OVER:
        return f"seat {move['seat']} moves, but the deal is over"
    if move["seat"] != seat:
        return f"seat {move['seat']} moves, but it is the turn of seat {seat}"
    if kind == "yield":
        leads = phase is Phase.PLAY and state.lead[0] == PASS
        return "" if leads else f"seat {seat} gives away the lead, but it does not lead"
    if kind not in _KINDS[phase]:
        return f"the move is {kind!r}; here it is {' or '.join(map(repr, _KINDS[phase]))}"
    row = move["row"]
    if move["claim"] != row_name(row):
        return f"the claim is {shown(move['claim'])}, but row {row} is {row_name(row)!r}"
    if (kind in ("pass", "decline")) != (row == PASS) or (kind == "resist") != (row == RESIST):
        return f"the move is {kind!r}, but its claim {row_name(row)!r}"
    cards = _counts(move)
    if not _illegal(engine, np.array([0]), np.array([row]), cards[None], engine.packed_masks())[0]:
        return ""
    beats = row_name(int(state.lead[0])) if state.lead[0] != PASS else "nothing"
    told = f"seat {seat} cannot make {row_name(row)!r} of {move.get('cards') or 'no cards'}"
    if phase is not Phase.PLAY:
        return told
    hand = record.card_texts(to_counts(state.hands[0, [seat]]))[0]
    return f"{told} (to beat: {beats}; level {RANKS[state.level[0]]}; its hand: {hand})"


def _counts(move: Mapping[str, Any]) -> NDArray[np.uint8]:
    """The cards of a move as counts `(54,)`."""
    kinds = [KIND_OF[name] for name in move.get("cards", "").split()]
    return np.bincount(kinds, minlength=NUM_KINDS).astype(np.uint8)


def _is_same(told: Record, engine: Engine, at: int, starts: DealStarts) -> bool:
    try:
        check_begun(told, engine.rules, starts, at)
        _compare(told, engine, at, starts)
    except RecordError:
        return False
    return True


def _compare(told: Record, engine: Engine, at: int, starts: DealStarts) -> None:
    """Raise `RecordError` unless what was played at a table makes the same record."""
    for number, (move, played) in enumerate(
        zip(told["moves"], record.moves(engine, at, starts), strict=True), start=1
    ):
        if "choices" in move:
            move = {name: value for name, value in move.items() if name != "choices"}
        difference = first_difference(move, played, "the move")
        if difference:
            raise RecordError(difference, move=number)
    result = record.result(engine, at, bool(starts.value("sudden_death", at)))
    difference = first_difference(told["result"], result, "result")
    if difference:
        raise RecordError(difference)
    to_act = int(engine.state.seat[at])
    if told["fault"] is not None and told["fault"]["seat"] != to_act:
        now = "the deal is over" if result is not None else f"it is the turn of seat {to_act}"
        raise RecordError(f"fault.seat is {told['fault']['seat']}, but {now}")
