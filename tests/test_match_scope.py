"""Games that go on from the deals which earlier games of their match have used up."""

from __future__ import annotations

import numpy as np
import pytest
from test_engine_against_oracle import ACTIONS, Oracle, compare, dealer

from guandan_env import Engine, RuleSet, legality, randomness
from guandan_env.cards import RANKS
from guandan_env.errors import GuandanError

SUDDEN = RuleSet(max_deals=4, limit_scope="match", at_limit="sudden_death")
HIGHER = RuleSet(max_deals=4, limit_scope="match", at_limit="higher", at_limit_tie="draw")
HERE = np.array([0, 1])


@pytest.mark.rule("5.14")
@pytest.mark.rule("5.17")
@pytest.mark.parametrize(
    ("rules", "used"), [(SUDDEN, (0, 3)), (SUDDEN, (4, 4)), (SUDDEN, (2, 9)), (HIGHER, (1, 3))]
)
def test_a_later_game_of_a_match_plays_as_the_oracle(rules, used):
    engine = Engine(2, rules, seed=5, episode="game")
    engine.start(HERE, deals_used=np.array(used))
    s = engine.state
    assert s.sudden_death.tolist() == [n >= 4 for n in used]
    oracles = [
        Oracle(rules, dealer(5, t, 1 - n), deals_played=n) for t, n in enumerate(used)
    ]  # the oracle numbers a game's deals from those used, the table from 1, after deal 0
    step = 0
    while not s.over.any():
        packed = engine.packed_masks()
        compare(engine, oracles, packed, f"step {step}")
        key = randomness.key(5, s.table, s.deal, s.seat, s.length)
        rows = legality.select(packed, randomness.below(key, legality.count(packed)))
        acts = [ACTIONS[RANKS[s.level[t]]][row] for t, row in enumerate(rows)]
        result = engine.step(rows)
        for t, oracle in enumerate(oracles):
            oracle.act(acts[t])
            assert result.over[t] == oracle.game_over
            if result.over[t]:
                winner = oracle.last_result.winner
                assert s.winner[t] == (2 if winner is None else winner)
        step += 1


def test_deals_used_that_cannot_be():
    engine = Engine(2, HIGHER, episode="game")
    before = engine.state.to_bytes()
    for used, message in ((4, "begin no game"), (-1, "whole numbers"), ("x", "whole numbers")):
        with pytest.raises(GuandanError, match=message):
            engine.start(HERE, deals_used=used)
    for other in (
        Engine(2, HIGHER),
        Engine(2, HIGHER.replace(limit_scope="game"), episode="game"),
        Engine(2, episode="game"),
    ):
        with pytest.raises(GuandanError, match="limit_scope='match'"):
            other.start(HERE, deals_used=1)
    assert engine.state.to_bytes() == before
