"""The batch engine: B tables of Guandan, advanced together by operations on arrays.

Each step, every table whose episode is not over has one seat to act. `packed_masks()` says which
rows of the action table are legal, `step(actions)` plays them. An episode is one deal or a whole
game; tribute and return are decisions like any other. There is no loop over tables, seats or rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guandan_env import after_deal, dealing, legality, promotion, tribute_phase
from guandan_env.action_check import check_cards, check_packed, check_rows
from guandan_env.actions import PASS, RESIST
from guandan_env.cards import RANKS, add, parse_rank, remove
from guandan_env.checks import (
    MOST_SEED,
    check_choice,
    check_flag,
    check_indices,
    check_seed,
    check_within,
    whole_array,
    whole_number,
)
from guandan_env.decisions import Decisions, pending
from guandan_env.errors import GuandanError, StateError, shown
from guandan_env.rules import RuleSet
from guandan_env.state import MOST_TABLES, Phase, State
from guandan_env.suits import choose_cards
from guandan_env.tribute_phase import kinds_to_rows
from guandan_env.turns import NEXT, NUM_ACTIVE, SIDE_OUT

EPISODES = ("deal", "game")
PREVIOUS = ("half", "random")  # or None
_PLAY = int(Phase.PLAY)  # arrays compare far slower with an IntEnum
_SEATS = np.arange(4)

_PLAY_FIELDS = (
    "played", "active", "lead", "lead_seat", "passes", "last", "order", "finished", "payers",
    "paid", "to_first", "returned", "resisted", "history", "history_seat", "length", "play_cards",
    "plays",
)  # fmt: skip
_GAME_FIELDS = (
    "declarer", "previous", "attempts", "debt", "last_run", "first_run", "deals", "sudden_death",
    "winner",
)  # fmt: skip


@dataclass(frozen=True)
class StepResult:
    """What a step did. Arrays over all B tables.

    reward: `(B, 4) float32`, levels won by each seat's side in a deal that ended, else 0.
    deal_over: `(B,) bool`, a deal ended. over: `(B,) bool`, the episode ended in this step.
    order: `(B, 4) int8`, complete finishing order of a deal that ended, else -1.
    """

    reward: NDArray[np.float32]
    deal_over: NDArray[np.bool_]
    over: NDArray[np.bool_]
    order: NDArray[np.int8]


class Engine:
    """B tables under one RuleSet.

    Parameters: `num_tables` (B, 1 to 1,048,576); `rules`, a RuleSet, the name of a preset, or
    None for the preset `default`; `seed`, 0 to 2**63 - 1, from which with the table and the number
    of the deal everything random follows; `episode`, `"deal"` or `"game"`; for deals `level` (a
    character, or None for the rules' fixed one, else a random one each deal) and `previous`,
    whether a finishing order precedes it and with it tribute: `"random"`, None, or `"half"` (one
    deal in two, the default); `tables`, the numbers of the tables in random keys (default 0 … B-1).

    `state` may be read, and set to another `State`, such as one that was saved: the engine has as
    many tables as its state. Indices of tables are arrays of whole numbers from 0 to B-1.

    Everything that is given and not allowed raises `GuandanError` or a subclass of it, and changes
    nothing.
    """

    def __init__(
        self,
        num_tables: int,
        rules: RuleSet | str | None = None,
        *,
        seed: int = 0,
        episode: str = "deal",
        level: str | None = None,
        previous: str | None = "half",
        tables: NDArray[np.integer] | None = None,
    ) -> None:
        b = whole_number(num_tables, "num_tables", 1, MOST_TABLES)
        self.rules = RuleSet.of("default" if rules is None else rules)
        self.seed = check_seed(seed)
        self.episode = check_choice(episode, "episode", EPISODES)
        self.level = None if level is None else parse_rank(level)
        self.previous = None if previous is None else check_choice(previous, "previous", PREVIOUS)
        numbers: NDArray[np.integer] = np.arange(b)
        if tables is not None:
            numbers = whole_array(tables, "tables", (b,))
            check_within(numbers, "tables", 0, MOST_SEED)
        self.state = State.fresh(b)
        self.state.table[:] = numbers
        self._lead_index, self._lead_masks = legality.beating_masks()
        self.start(np.arange(b))

    @property
    def state(self) -> State:
        """The state of all tables; another one that is set takes its place."""
        return self._state

    @state.setter
    def state(self, state: State) -> None:
        if not isinstance(state, State):
            raise StateError(f"{shown(state)} is no State")
        self._state = state
        self.num_tables = len(state)

    def reset(self, seed: int | None = None) -> None:
        """Begin anew at every table with deal 0, under another seed if one is given."""
        if seed is not None:
            self.seed = check_seed(seed)
        fresh = State.fresh(self.num_tables)
        fresh.table[:] = self.state.table
        self.state = fresh
        self.start(np.arange(self.num_tables))

    # ------------------------------------------------------------------ starting

    def start(
        self, tables: NDArray[np.integer], *, deals_used: NDArray[np.integer] | int = 0
    ) -> None:
        """Begin the next episode at some tables (indices), whatever they were doing.

        `deals_used`, one number or `(n,)`: how many deals earlier games of the match have used
        up, for rules whose limit is of the match (RULES 5.14). At the limit a game is one deal of
        sudden death (5.17); where the rules have none, it cannot begin: `GuandanError`.
        """
        tables = self._checked_tables(tables)
        used = after_deal.check_used(self.rules, self.episode, deals_used, len(tables))
        s = self.state
        s.clear(tables, _GAME_FIELDS)
        s.over[tables] = False
        if self.episode == "game":
            s.steps[tables] = RANKS.index(self.rules.start_level)
            level = s.steps[tables, 0] if self.rules.fixed_level is None else None
            if level is not None and self.rules.max_deals is not None and used.any():
                s.deals[tables] = used
                s.sudden_death[tables] = used >= self.rules.max_deals
                level = np.where(s.sudden_death[tables], promotion.ACE, level)
        else:
            number = s.deal[tables] + 1
            if self.level is not None:
                level = np.full(len(tables), self.level)
            elif self.rules.fixed_level is None:
                level = dealing.levels(self.seed, s.table[tables], number)
            else:
                level = np.full(len(tables), RANKS.index(self.rules.fixed_level))
            s.steps[tables] = level[:, None]
            if self.previous is not None and self.rules.tribute:
                order = dealing.previous_orders(
                    self.seed, s.table[tables], number, half=self.previous == "half"
                )
                s.previous[tables] = order
                s.declarer[tables] = np.where(order[:, 0] >= 0, order[:, 0] % 2, -1)
        if level is None:
            assert self.rules.fixed_level is not None
            level = np.full(len(tables), RANKS.index(self.rules.fixed_level))
            s.steps[tables] = 0
        self._begin_deal(tables, level)

    def _checked_tables(self, tables: object) -> NDArray[np.intp]:
        return check_indices(tables, "tables", self.num_tables, distinct=True)

    def _begin_deal(self, tables: NDArray[np.integer], level: NDArray[np.integer]) -> None:
        """Deal the next deal at some tables at the given level ranks."""
        s = self.state
        s.clear(tables, _PLAY_FIELDS)
        s.deal[tables] += 1
        s.level[tables] = level
        cards = dealing.deal(self.seed, s.table[tables], s.deal[tables])
        s.hands[tables] = cards.hands
        first = s.previous[tables, 0]
        turned = dealing.turned(self.seed, s.table[tables], s.deal[tables])
        if self.rules.first_lead == "heart_level":
            turned = np.where(s.sudden_death[tables], turned, cards.first_heart(level))
        s.leader[tables] = np.where(first >= 0, first, turned)
        s.seat[tables] = s.leader[tables]
        s.phase[tables] = Phase.PLAY
        if self.rules.tribute:
            tribute_phase.begin(s, self.rules, tables[first >= 0])
        self.refresh_masks(tables)

    def refresh_masks(self, tables: NDArray[np.integer]) -> None:
        """Compute the row masks of all four hands of some tables (indices)."""
        s = self.state
        tables = check_indices(tables, "tables", self.num_tables)
        s.hand_masks[tables] = legality.hand_masks(
            s.hands[tables].reshape(-1, 2),
            np.repeat(s.level[tables], 4),
            flush_is_straight=self.rules.flush_straight_as_straight,
        ).reshape(-1, 4, legality.MASK_WORDS)

    # ------------------------------------------------------------------ acting

    def packed_masks(self) -> NDArray[np.uint64]:
        """Legal rows of the seat to act at every table, packed `(B, 36) uint64`; 0 when over."""
        s = self.state
        hand = 4 * np.arange(self.num_tables) + np.maximum(s.seat, 0)
        masks = s.hand_masks.reshape(-1, legality.MASK_WORDS).take(hand, axis=0)
        masks &= self._lead_masks.take(self._lead_index[s.level, s.lead], axis=0)
        other = (s.phase != _PLAY).nonzero()[0]
        if other.size:
            kinds, resist = tribute_phase.legal(s, self.rules, other)
            masks[other] = kinds_to_rows(kinds)
            asked = other[resist]
            masks[asked] = 0
            masks[asked, PASS // 64] |= np.uint64(1 << PASS % 64)
            masks[asked, RESIST // 64] |= np.uint64(1 << RESIST % 64)
        return masks

    def masks(self) -> NDArray[np.int8]:
        """Legal rows of the seat to act at every table, `(B, 2244) int8` of 0 and 1."""
        return legality.unpack(self.packed_masks())

    def decisions(
        self,
        tables: NDArray[np.integer] | None = None,
        *,
        packed_masks: NDArray[np.uint64] | None = None,
    ) -> Decisions:
        """The decisions pending at some tables (indices; default all where a seat is to act)."""
        if tables is None:
            chosen = np.flatnonzero(self.state.seat >= 0)
        else:
            chosen = check_indices(tables, "tables", self.num_tables)
        packed = self._given_or_own(packed_masks)
        return pending(self.state, self.rules, self.seed, packed[chosen], chosen)

    def _given_or_own(self, packed_masks: object) -> NDArray[np.uint64]:
        if packed_masks is None:
            return self.packed_masks()
        return check_packed(packed_masks, self.num_tables)

    def step(
        self,
        actions: NDArray[np.integer],
        cards: NDArray[np.uint8] | None = None,
        *,
        packed_masks: NDArray[np.uint64] | None = None,
        tables: NDArray[np.integer] | None = None,
        go_on: bool = True,
    ) -> StepResult:
        """Play row `actions[t]` at every table t where a seat is to act (elsewhere it is ignored).

        `cards` `(B, 54)`, if given, says which cards are played, else the engine chooses suits
        (`suits.choose_cards`); all-zero rows of it leave the choice to the engine too.
        `packed_masks` saves computing again what `packed_masks()` returned for this state. With
        `tables` (indices of tables where a seat is to act) the others stand still. With
        `go_on=False` a table whose deal ended inside a game stays as it is, the levels settled,
        until `next_deal`. Raises `IllegalActionError`, naming the first table at fault, and changes
        nothing.
        """
        s, go_on = self.state, check_flag(go_on, "go_on")
        live = (s.seat >= 0).nonzero()[0] if tables is None else self._checked_live(tables)
        rows = check_rows(s, actions, self._given_or_own(packed_masks), live)
        playing = live[s.phase[live] == _PLAY]
        bits = None if cards is None else check_cards(s, self.rules, rows, cards, playing)
        s.history[live, s.length[live]] = rows[live]
        s.history_seat[live, s.length[live]] = s.seat[live]
        s.length[live] += 1
        if len(playing) < len(live):
            rest = live[s.phase[live] != _PLAY]
            tribute_phase.act(s, self.rules, rest, rows[rest])
            self.refresh_masks(rest[s.phase[rest] == _PLAY])
        ended = self._play(playing, rows[playing], bits)
        return self._finish(ended, go_on)

    def _checked_live(self, tables: object) -> NDArray[np.intp]:
        live = self._checked_tables(tables)
        idle = live[self.state.seat[live] < 0]
        if idle.size:
            raise GuandanError(f"tables name {idle[0]}, where no seat is to act")
        return live

    def _play(
        self,
        tables: NDArray[np.intp],
        actions: NDArray[np.int64],
        bits: NDArray[np.uint64] | None,
    ) -> NDArray[np.intp]:
        """Plays and passes at some tables; returns the tables whose deal is over."""
        s = self.state
        seats = s.seat[tables]
        is_play = actions != PASS
        ended = np.zeros(0, dtype=np.intp)
        if is_play.any():
            p, rows, who = tables[is_play], actions[is_play], seats[is_play]
            hands = s.hands[p, who]
            flush = self.rules.flush_straight_as_straight
            if bits is None:
                cards = choose_cards(hands, rows, s.level[p], flush_is_straight=flush)
            else:
                cards = bits[is_play]
            hands = remove(hands, cards)
            s.hands[p, who] = hands
            s.played[p, who] = add(s.played[p, who], cards)
            s.play_cards[p, s.plays[p]] = cards
            s.plays[p] += 1
            s.hand_masks[p, who] = legality.hand_masks(hands, s.level[p], flush_is_straight=flush)
            s.lead[p], s.lead_seat[p] = rows, who
            out = hands[:, 0] == 0
            if out.any():
                f, gone = p[out], who[out]
                s.order[f, s.finished[f]] = gone
                s.finished[f] += 1
                s.active[f] &= ~(np.uint8(1) << gone.astype(np.uint8))
                ended = f[SIDE_OUT[s.active[f]] | s.sudden_death[f]]
        s.last[tables, seats] = actions
        passes = np.where(is_play, 0, s.passes[tables] + 1)
        s.passes[tables] = passes
        active, leader = s.active[tables], s.lead_seat[tables]
        s.seat[tables] = NEXT[active, seats]
        leads = (active >> leader.astype(np.uint8)) & 1
        trick_over = passes >= NUM_ACTIVE[active] - leads.astype(np.int8)
        if trick_over.any():
            e = tables[trick_over]
            active, leader, leads = active[trick_over], leader[trick_over], leads[trick_over]
            wind = (leader + 2) % 4 if self.rules.wind == "partner" else NEXT[active, leader]
            s.seat[e] = np.where(leads == 1, leader, wind)
            s.clear(e, ("lead", "lead_seat", "passes", "last"))
        return ended

    # ------------------------------------------------------------------ the end of a deal

    def _finish(self, ended: NDArray[np.intp], go_on: bool) -> StepResult:
        """Settle the deals that are over and, with `go_on`, begin the next ones."""
        b = self.num_tables
        result = StepResult(
            np.zeros((b, 4), dtype=np.float32),
            np.zeros(b, dtype=bool),
            np.zeros(b, dtype=bool),
            np.full((b, 4), -1, dtype=np.int8),
        )
        if not ended.size:
            return result
        s = self.state
        order = promotion.complete_order(s.order[ended].astype(np.int64))
        result.deal_over[ended] = True
        result.order[ended] = s.order[ended] = order
        side, levels = promotion.gains(self.rules, order)
        levels = np.where(s.sudden_death[ended], 1, levels)
        result.reward[ended] = np.where(_SEATS % 2 == side[:, None], 1, -1) * levels[:, None]
        over, carry_on = ended, ended[:0]
        if self.episode == "deal":
            s.winner[ended] = side
        else:
            over, carry_on = after_deal.settle(s, self.rules, ended, order, side)
        s.over[over] = result.over[over] = True
        s.phase[ended] = Phase.OVER
        s.seat[ended] = -1
        s.hand_masks[ended] = 0
        if go_on and carry_on.size:
            self.next_deal(carry_on)
        return result

    def next_deal(self, tables: NDArray[np.integer]) -> None:
        """Begin the next deal of the game at some tables (indices) that stand between two deals."""
        s, tables = self.state, self._checked_tables(tables)
        wrong = tables[s.over[tables] | (s.phase[tables] != Phase.OVER)]
        if wrong.size:
            raise GuandanError(
                f"tables name {wrong[0]}; tables between two deals of a game are allowed"
            )
        s.previous[tables] = np.where(s.sudden_death[tables, None], -1, s.order[tables])
        self._begin_deal(tables, after_deal.next_level(s, self.rules, tables))

    def stop(self, tables: NDArray[np.integer]) -> None:
        """End the episode at some tables (indices) at once, without a result."""
        s, tables = self.state, self._checked_tables(tables)
        s.over[tables] = True
        s.phase[tables] = Phase.OVER
        s.seat[tables] = -1
        s.hand_masks[tables] = 0

    def yield_lead(self, tables: NDArray[np.integer]) -> None:
        """Give the lead at some tables (indices) to the next seat with cards.

        No move of the game: what a conductor of matches does about a wrong lead (RULES 7.4).
        """
        s, tables = self.state, self._checked_tables(tables)
        wrong = tables[(s.phase[tables] != Phase.PLAY) | (s.lead[tables] != PASS)]
        if wrong.size:
            raise GuandanError(
                f"tables name {wrong[0]}; tables where a seat is to lead are allowed"
            )
        s.seat[tables] = NEXT[s.active[tables], s.seat[tables]]
