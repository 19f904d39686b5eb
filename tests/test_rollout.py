"""Experience: who decides where, what is kept, and what deals pay."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from agents import make
from agents.candidates import inputs_of
from agents.choosing import drawn
from eval.equity import Equity
from guandan_env import legality, observation
from guandan_env.actions import PASS
from guandan_env.decisions import Decisions
from guandan_env.engine import Engine
from guandan_env.errors import GuandanError
from guandan_env.rules import RuleSet
from train.replay import to_tensors
from train.rewards import EquityGain, Gain, Win, deal_reward
from train.rollout import Acted, Experience, Opponent, SelfPlay, Views, place_of


class RandomActor:
    """Draws any candidate; its values are numbers that can be recognised."""

    def __init__(self) -> None:
        self.asked: list[Decisions] = []

    def act(self, decisions: Decisions, views: Views) -> Acted:
        self.asked.append(decisions)
        inputs = views.inputs
        chosen = drawn(np.zeros(len(inputs.rows)), inputs, decisions.key)
        logp = -np.log(inputs.number).astype(np.float32)
        return Acted(chosen, logp, self.values(views))

    def values(self, views: Views) -> np.ndarray:
        return (views.inputs.observation[:, :54].sum(axis=1) / 27).astype(np.float32)


class Watched:
    """An agent that notes what it was asked."""

    def __init__(self, name: str) -> None:
        self.agent, self.name = make(name), name
        self.seats: list[tuple[int, int, int]] = []

    def reset(self) -> None:
        self.agent.reset()

    def act(self, decisions: Decisions) -> np.ndarray:
        d = decisions
        self.seats += list(zip(d.table.tolist(), d.deal.tolist(), d.seat.tolist(), strict=True))
        return self.agent.act(d)


def collected(steps: int = 250, tables: int = 8, **options: object) -> Experience:
    return SelfPlay(tables, 5, Gain()).collect(RandomActor(), steps, **options)


# ------------------------------------------------------------------ what is kept


def test_every_free_decision_is_kept_and_forced_moves_are_not_asked():
    actor = RandomActor()
    x = SelfPlay(8, 5, Gain()).collect(actor, 120)
    assert all((legality.count(d.packed) > 1).all() for d in actor.asked)
    assert x.moves == 8 * 120
    assert x.forced == x.moves - len(x) > 0
    assert len(x) == sum(map(len, actor.asked))
    assert (x.views.inputs.number > 1).all()


def test_what_is_kept_is_what_was_played():
    """The same deals played again by the rows that were kept."""
    x = collected(steps=150)
    engine = Engine(8, seed=5)
    rows_of = x.views.inputs.rows[x.views.inputs.start + x.acted.chosen]
    for step in range(150):
        packed = engine.packed_masks()
        rows = legality.select(packed, np.zeros(8, dtype=np.int64))
        mine = np.flatnonzero(x.step == step)
        decisions = engine.decisions(x.table[mine], packed_masks=packed)
        assert (decisions.seat == x.seat[mine]).all()
        assert (x.views.inputs.take(mine).observation == observation.encode(decisions)).all()
        full = observation.encode_full(engine.state, x.table[mine])
        assert (x.views.full[mine] == full).all()
        rows[x.table[mine]] = rows_of[mine]
        result = engine.step(rows, packed_masks=packed)
        assert (result.over == x.ended[step]).all()
        assert (result.reward[:, 0] == x.reward[step]).all()
        engine.start(np.flatnonzero(result.over))
    assert x.ended.any()


def test_collecting_goes_on_where_it_stopped():
    once = collected(steps=90)
    play = SelfPlay(8, 5, Gain())
    parts = [play.collect(RandomActor(), 30)]
    state = play.engine.state.copy()
    play = SelfPlay(8, 5, Gain())
    play.restore(state)
    parts.append(play.collect(RandomActor(), 60))
    chosen = np.concatenate([part.acted.chosen for part in parts])
    assert (chosen == once.acted.chosen).all()
    assert (parts[1].last == once.last).all()


@pytest.mark.parametrize("reward", [Gain, lambda: EquityGain(equity(), 8)])
def test_tables_that_are_shared_out_play_what_they_play_together(reward):
    def play() -> SelfPlay:
        return SelfPlay(8, 5, reward(), opponents=[Opponent("greedy", make("greedy"), 3)])

    whole = play()
    numbers = [np.array([6, 1, 3]), np.array([0, 2, 4, 5, 7])]
    shares = []
    for share in numbers:
        shares.append(play())
        shares[-1].restore(whole.engine.state.take(share))
    kept = play()
    for steps in (130, 70):
        x = whole.collect(RandomActor(), steps)
        y = Experience.join([share.collect(RandomActor(), steps) for share in shares], numbers)
        one, two = to_tensors(x), to_tensors(y)
        assert one.keys() == two.keys()
        different = [name for name in one if not torch.equal(one[name], two[name])]
        assert different == ["last"] * bool(np.isnan(x.last).any())  # nan is not equal to itself
        assert np.array_equal(x.last, y.last, equal_nan=True)
        for share in shares:
            kept.put(share.engine.state)
    assert x.ended.any()
    assert kept.engine.state.to_bytes() == whole.engine.state.to_bytes()
    assert np.isnan(x.last).any()


# ------------------------------------------------------------------ opponents and teachers


def test_opponents_hold_one_side_and_sides_change_with_the_deal():
    watched = Watched("greedy")
    play = SelfPlay(6, 5, Gain(), opponents=[Opponent("greedy", watched, 2)])
    x = play.collect(RandomActor(), 300)
    theirs = set(watched.seats)
    assert {table for table, _, _ in theirs} == {4, 5}
    sides = {(table, deal): {s % 2 for t, d, s in theirs if (t, d) == (table, deal)}
             for table, deal, _ in theirs}  # fmt: skip
    assert all(len(of) == 1 for of in sides.values())
    for (table, deal), of in sides.items():
        assert of == {(table + deal + 1) % 2}
    assert {of.copy().pop() for of in sides.values()} == {0, 1}
    kept = x.table >= 4
    assert (x.views.opponent == np.where(kept, 0, -1)).all()
    assert kept.any()


def test_an_opponent_that_plays_illegally_is_named():
    class Wrong(Watched):
        def act(self, decisions: Decisions) -> np.ndarray:
            return np.full(len(decisions), 2000)

    play = SelfPlay(4, 5, Gain(), opponents=[Opponent("wrong", Wrong("greedy"), 2)])
    with pytest.raises(GuandanError, match="'greedy' failed"):
        play.collect(RandomActor(), 20)


def test_the_teacher_is_noted_and_leads_in_its_part_of_the_deals():
    x = collected(teacher=make("planner"), taught=0.0, steps=60)
    assert (x.label >= 0).all()
    assert (x.label < x.views.inputs.number).all()
    assert (x.label != x.acted.chosen).any()
    greedy = collected(teacher=make("greedy"), taught=1.0, steps=200)
    by_greedy = SelfPlay(
        8, 5, Gain(), opponents=[Opponent("greedy", make("greedy"), 8)]
    )  # the learner's side is played by greedy, too
    both = by_greedy.collect(RandomActor(), 200, teacher=make("greedy"), taught=1.0)
    assert (both.reward == greedy.reward).all()
    assert greedy.ended.any()


def test_places_of_rows():
    decisions = Engine(30, seed=2).decisions()
    inputs = inputs_of(decisions)
    last = np.array([inputs.rows[inputs.of == i][-1] for i in range(30)])
    assert (place_of(inputs, last) == inputs.number - 1).all()


# ------------------------------------------------------------------ returns


def slow_returns(x: Experience, trace: float) -> np.ndarray:
    """TD(λ) of every decision by walking along its table."""
    returns = np.zeros(len(x))
    for table in range(x.reward.shape[1]):
        mine = [i for i in range(len(x)) if x.table[i] == table]
        for place, i in enumerate(mine):
            total, weight = 0.0, 1.0
            value = {j: x.acted.value[j] * (1 if x.seat[j] % 2 == 0 else -1) for j in mine}
            for at in range(place, len(mine)):
                j = mine[at]
                later = mine[at + 1] if at + 1 < len(mine) else None
                until = x.step[later] if later is not None else len(x.reward)
                ends = np.flatnonzero(x.ended[x.step[j] : until, table])
                if ends.size:
                    following = x.reward[x.step[j] + ends[0], table]
                elif later is not None:
                    following = value[later]
                else:
                    following = x.last[table]
                    if np.isnan(following):
                        break
                total += weight * (following - value[j])
                weight *= trace
                if ends.size:
                    break
            sign = 1 if x.seat[i] % 2 == 0 else -1
            returns[i] = sign * total + x.acted.value[i]
    return returns


@pytest.mark.parametrize("trace", [0.0, 0.9, 1.0])
def test_returns_are_those_of_walking_along_the_table(trace):
    play = SelfPlay(6, 5, Gain(), opponents=[Opponent("greedy", make("greedy"), 4)])
    x = play.collect(RandomActor(), 230)
    assert x.ended.sum() >= 5
    assert np.isnan(x.last).any()
    advantage, returns = x.returns(trace)
    assert np.allclose(returns, slow_returns(x, trace), atol=1e-4)
    assert np.allclose(advantage, returns - x.acted.value, atol=1e-5)


def test_with_trace_1_decisions_of_ended_deals_return_what_their_side_was_paid():
    x = collected(steps=300)
    _, returns = x.returns(1.0)
    checked = 0
    for i in range(len(x)):
        ends = np.flatnonzero(x.ended[x.step[i] :, x.table[i]])
        if ends.size:
            paid = x.reward[x.step[i] + ends[0], x.table[i]]
            assert returns[i] == pytest.approx(paid if x.seat[i] % 2 == 0 else -paid, abs=1e-4)
            checked += 1
    assert checked > 100


# ------------------------------------------------------------------ rewards


def test_a_learner_that_had_nothing_to_decide_is_an_error():
    play = SelfPlay(4, 5, Gain(), opponents=[Opponent("greedy", make("greedy"), 3)])
    state = play.engine.state
    theirs = np.flatnonzero(~play._learns())
    assert theirs.size
    play.restore(state.take(theirs[:1]))
    with pytest.raises(GuandanError, match="in 1 steps at 1 tables there was nothing to decide"):
        play.collect(RandomActor(), 1)


def test_win_is_the_sign_of_gain():
    gain, win = (SelfPlay(8, 5, r).collect(RandomActor(), 250).reward for r in (Gain(), Win()))
    assert (win == np.sign(gain)).all()
    assert np.abs(gain).max() > 1


def equity() -> Equity:
    counts = np.tile([6, 3, 1, 5, 2, 1], (3, 1))
    return Equity.of_counts(RuleSet.preset("default"), "test", 0, counts)


def test_equity_pays_a_whole_game_from_a_half_to_its_result():
    reward = EquityGain(equity(), 3)
    engine = Engine(3, seed=2, episode="game")
    reward.begins(engine, np.arange(3))
    paid = np.zeros(3)
    greedy = make("greedy")
    over = np.zeros(3, dtype=bool)
    deals = 0
    while not over.all():
        rows = np.full(3, PASS)
        asked = np.flatnonzero(~over)
        rows[asked] = greedy.act(engine.decisions(asked))
        result = engine.step(rows, tables=asked, go_on=False)
        ended = np.flatnonzero(result.deal_over)
        if ended.size:
            deals += len(ended)
            paid[ended] += reward.pays(engine, result, ended)
            over |= result.over
            again = ended[~result.over[ended]]
            engine.next_deal(again)
            reward.begins(engine, again)
    assert deals > 10
    won = engine.state.winner == 0
    assert np.allclose(paid / reward.SCALE, won - 0.5, atol=1e-5)


def test_self_play_for_equity_plays_games():
    play = SelfPlay(4, 1, EquityGain(equity(), 4))
    x = play.collect(RandomActor(), 500)
    paid = x.reward[x.ended]
    assert len(paid) >= 4
    assert (paid != 0).all()
    assert play.engine.state.previous[:, 0].min() >= 0  # later deals know the deal before
    assert dataclasses.replace(x).returns(0.9)[1].shape == (len(x),)


def test_rewards_by_name(tmp_path):
    rules = RuleSet.preset("default")
    assert isinstance(deal_reward("gain", 2, rules), Gain)
    assert isinstance(deal_reward("win", 2, rules), Win)
    path = tmp_path / "equity.json"
    equity().save(path)
    assert isinstance(deal_reward("equity", 2, rules, path), EquityGain)
    with pytest.raises(GuandanError, match="needs the table"):
        deal_reward("equity", 2, rules)
    # A table for other rules would pay for a game that is not played.
    others = [RuleSet.preset(name) for name in RuleSet.presets() if name != "default"]
    for other in (*others, rules.replace(ace_pass="double_down")):
        with pytest.raises(GuandanError, match=f"--rules {other.name}"):
            deal_reward("equity", 2, other, path)
