"""The batch engine and the oracle play the same random games, compared move for move.

Seeds are printed with every failure. The long run (`make test-all`) plays over 20,000 deals.
"""

from __future__ import annotations

import numpy as np
import pytest
from oracle import game
from oracle.cards import canonical

from guandan_env import Engine, RuleSet, dealing, legality, randomness
from guandan_env.actions import FIRST_CARD, PASS, RESIST, ROWS, Pattern
from guandan_env.cards import KIND_NAMES, RANKS, card_names, kinds_of, to_counts
from guandan_env.errors import RulesError

WORDS = (
    "", "Single", "Pair", "Triple", "FullHouse", "Straight", "Tube", "Plate", "Bomb",
    "StraightFlush", "JokerBomb",
)  # fmt: skip
LETTERS = RANKS + "BR"


def oracle_action(row: int, level: str) -> tuple:
    """A row in the oracle's words."""
    if row == PASS:
        return game.PASS
    if row == RESIST:
        return game.RESIST
    if row >= FIRST_CARD:
        return ("card", KIND_NAMES[row - FIRST_CARD])
    r = ROWS[row]
    key = level if r.key == 15 else LETTERS[r.key]
    if r.pattern is Pattern.JOKER_BOMB:
        key = "JOKERS"
    naturals = tuple(sorted((LETTERS[i], n) for i, n in enumerate(r.naturals) if n))
    wild_as = tuple(sorted((LETTERS[i], n) for i, n in enumerate(r.wild_as) if n))
    suit = "SHCD"[r.suit] if r.suit >= 0 else ""
    return ("play", (WORDS[r.pattern], key, naturals, wild_as, suit))


ACTIONS = {level: [oracle_action(row, level) for row in range(len(ROWS))] for level in RANKS}


def dealer(seed: int, table: int, first: int):
    """The oracle's callback: the deals of a table of the engine, from deal `first` on."""

    def deal(number: int) -> tuple:
        at = np.array([table]), np.array([first + number])
        cards = dealing.deal(seed, *at)
        hands = [card_names(c) for c in to_counts(cards.hands[0])]
        hearts = {}
        for i, kind in enumerate(cards.sequence[0]):
            hearts.setdefault(KIND_NAMES[kind], i % 4)
        return hands, int(dealing.turned(seed, *at)[0]), [hearts["H" + r] for r in RANKS]

    return deal


class Oracle(game.OracleGame):
    """The oracle, told for every level which seat was dealt its heart first."""

    known: set | None = None

    def heart_leader(self, given) -> int:
        return given[-1][RANKS.index(self.level_now())]

    def legal(self) -> set:
        # Asked twice a decision, by the comparison and by act(): worked out once.
        if self.known is None:
            self.known = super().legal()
        return self.known

    def act(self, action: tuple, cards: list[str] | None = None) -> None:
        super().act(action, cards)
        self.known = None


def compare(engine: Engine, oracles: list, packed: np.ndarray, where: str) -> None:
    s = engine.state
    masks = legality.unpack(packed)
    for t, oracle in enumerate(oracles):
        at = f"{where}, table {t}, deal {s.deal[t]}, decision {s.length[t]}"
        assert s.seat[t] == oracle.seat, at
        level = RANKS[s.level[t]]
        rows = np.flatnonzero(masks[t])
        ours = {ACTIONS[level][row] for row in rows}
        assert len(ours) == len(rows), at
        assert ours == oracle.legal(), (at, ours ^ oracle.legal())
        for seat in range(4):
            hand = [KIND_NAMES[k] for k in kinds_of(to_counts(s.hands[t, seat]))]
            assert hand == canonical(oracle.hands[seat]), (at, seat)


def play(preset: str | RuleSet, seed: int, tables: int, deals: int, every: int = 1) -> int:
    """Play until at least `deals` deals are over; masks are compared at every `every`-th step."""
    rules = RuleSet.preset(preset) if isinstance(preset, str) else preset
    engine = Engine(tables, rules, seed=seed, episode="game")
    oracles = [Oracle(rules, dealer(seed, t, 0)) for t in range(tables)]
    done = step = 0
    where = f"{preset}, seed {seed}"
    while done < deals:
        s = engine.state
        packed = engine.packed_masks()
        if step % every == 0:
            compare(engine, oracles, packed, where)
        step += 1
        key = randomness.key(seed, s.table, s.deal, s.seat, s.length)
        rows = legality.select(packed, randomness.below(key, legality.count(packed)))
        acts = [ACTIONS[RANKS[s.level[t]]][row] for t, row in enumerate(rows)]
        result = engine.step(rows, packed_masks=packed)
        for t, oracle in enumerate(oracles):
            oracle.act(acts[t])
            if not result.deal_over[t]:
                continue
            done += 1
            last, at = oracle.last_result, f"{where}, table {t}, deal {s.deal[t]}"
            assert tuple(result.order[t][: len(last.order)]) == last.order, at
            if rules.fixed_level is None:
                assert tuple(s.steps[t]) == last.steps, (at, last)
            assert bool(result.over[t]) == last.game_over, (at, last)
            assert not last.game_over or s.winner[t] == (2 if last.winner is None else last.winner)
            if rules.ace_attempts is not None:
                assert tuple(s.attempts[t]) == oracle.attempts, at
            assert tuple(s.debt[t]) == oracle.debt, at
            if last.game_over:
                engine.start(np.array([t]))
                oracles[t] = Oracle(rules, dealer(seed, t, int(s.deal[t])))
    return done


CHOICES = {
    "flush_straight_as_straight": (False, True),
    "wind": ("partner", "next"),
    "first_lead": ("turned", "heart_level"),
    "resist": ("must", "may"),
    "tribute_pairing": ("rank", "seat"),
    "tribute_tie": ("seat", "choose"),
    "tribute_lead": ("higher", "higher_seat", "last"),
    "return_limit": ("ten", "any", "below_level_to_partner"),
    "return_tie": (None, "choose_lead"),
    "start_level": ("2", "J", "K"),
    "max_deals": (None, 3, 5),
    "at_limit": ("higher", "sudden_death"),
    "at_limit_tie": ("last_first", "non_declarer", "overtime", "draw"),
    "ace_attempts": (None, 2),
}


def random_rules(seed: int) -> RuleSet:
    """A rule set with random options that may go together."""
    rng = np.random.default_rng(seed)
    while True:
        options = {name: values[rng.integers(len(values))] for name, values in CHOICES.items()}
        try:
            return RuleSet.preset("default").replace(**options)
        except RulesError:
            continue


@pytest.mark.rule("4.1")
@pytest.mark.rule("4.2")
@pytest.mark.rule("4.4")
@pytest.mark.rule("4.9")
@pytest.mark.rule("1.3")
@pytest.mark.rule("4.11")
@pytest.mark.rule("5.1")
@pytest.mark.rule("5.3")
@pytest.mark.rule("6.1")
@pytest.mark.rule("6.2")
@pytest.mark.rule("6.15")
@pytest.mark.rule("6.17")
@pytest.mark.rule("8.5")
@pytest.mark.parametrize("preset", RuleSet.presets())
def test_engine_plays_as_the_oracle(preset):
    assert play(preset, seed=1, tables=2, deals=6) >= 6


@pytest.mark.parametrize("seed", range(8))
def test_engine_plays_as_the_oracle_under_random_rules(seed):
    assert play(random_rules(seed), seed=seed, tables=2, deals=6, every=2) >= 6


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 130))
def test_engine_plays_as_the_oracle_under_random_rules_for_long(seed):
    assert play(random_rules(seed), seed=seed, tables=8, deals=60, every=3) >= 60


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(10))
@pytest.mark.parametrize("preset", RuleSet.presets())
def test_engine_plays_as_the_oracle_for_long(preset, shard):
    print(f"{preset}: seed {1000 + shard}")
    assert play(preset, seed=1000 + shard, tables=8, deals=190, every=3) >= 190
