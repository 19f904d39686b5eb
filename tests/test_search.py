"""`search:BASE`: positions, rollouts, budgets, determinism and strength."""

from __future__ import annotations

import numpy as np
import pytest

import agents.search
from agents import AgentError, make
from agents.hidden_hands import draw, unseen
from agents.search import FIRST_ROUND, Search
from agents.search_candidates import tries
from agents.search_rollouts import play_out, states, world_keys
from eval.duplicate import play_duplicate
from guandan_env import legality
from guandan_env.actions import PASS
from guandan_env.cards import counts_of, parse_cards, parse_rank, to_bits, to_counts
from guandan_env.decisions import Decisions
from guandan_env.engine import Engine
from guandan_env.notation import row_name
from guandan_env.rules import RuleSet
from guandan_env.state import Phase


def engine_after(steps: int, tables: int = 40, seed: int = 7, **options) -> Engine:
    """Tables in the midst of deals between greedy players."""
    engine, greedy = Engine(tables, seed=seed, **options), make("greedy")
    for _ in range(steps):
        advance(engine, greedy)
    return engine


def advance(engine: Engine, agent) -> np.ndarray:
    actions = np.zeros(engine.num_tables, dtype=np.int64)
    pending = engine.decisions()
    actions[pending.index] = agent.act(pending)
    return engine.step(actions).reward


def in_play(engine: Engine) -> Decisions:
    d = engine.decisions()
    return d.take(np.flatnonzero(d.phase == Phase.PLAY))


def true_hands(engine: Engine, d: Decisions) -> np.ndarray:
    seats = (d.seat.astype(int)[:, None] + (1, 2, 3)) % 4
    return engine.state.hands[d.index[:, None], seats]


def the_end(hand: str, others: tuple[str, str, str]) -> Engine:
    """Seat 0 leads at level 2; what nobody holds has been played."""
    engine = Engine(1, level="2", previous=None)
    s = engine.state
    for seat, cards in enumerate((hand, *others)):
        s.hands[0, seat] = to_bits(counts_of(parse_cards(cards)))
    s.played[0] = 0
    s.played[0, 0] = to_bits(2 - to_counts(s.hands[0]).sum(axis=0, dtype=np.uint8))
    s.level[0], s.seat[0] = parse_rank("2"), 0
    engine.refresh_masks(np.array([0]))
    return engine


def worth(engine: Engine, row: int) -> float:
    """Levels that seat 0 wins by a row, if all go on greedily."""
    d = in_play(engine)
    at = np.array([0])
    s = states(d, at, true_hands(engine, d), world_keys(d, at, at))
    return float(play_out(s, engine.rules, np.array([row]), make("greedy"))[0])


# ---------------------------------------------------------------------- rollouts


@pytest.mark.parametrize("rules", ["default", "company", "graduate"])
@pytest.mark.parametrize("steps", [8, 45, 75])
def test_a_rollout_with_the_true_hands_is_the_deal_itself(steps, rules):
    engine = engine_after(steps, rules=RuleSet.preset(rules))
    d, greedy = in_play(engine), make("greedy")
    every = np.arange(len(d))
    s = states(d, every, true_hands(engine, d), world_keys(d, every, every))
    for name in ("active", "finished", "passes", "plays", "hands", "played", "lead", "order"):
        assert (getattr(s, name) == getattr(engine.state, name)[d.index]).all(), name
    found = play_out(s, engine.rules, greedy.act(d), greedy)
    gain = np.zeros((engine.num_tables, 4))
    while (engine.state.seat >= 0).any():
        gain += advance(engine, greedy)
    assert (found == gain[d.index, d.seat]).all()
    assert set(np.abs(found)) <= set(map(float, engine.rules.promotion))


def test_rollouts_with_chance_follow_from_their_keys():
    d = in_play(engine_after(50))
    every = np.arange(len(d))
    keys = world_keys(d, every, every)
    hands, policy = draw(unseen(d), keys), make("random")
    rows = make("greedy").act(d)
    once = play_out(states(d, every, hands, keys), d.rules, rows, policy)
    few = np.arange(0, len(d), 3)
    again = play_out(states(d, few, hands[few], keys[few]), d.rules, rows[few], policy)
    assert (again == once[few]).all()


# ---------------------------------------------------------------------- choices


def test_the_bases_choice_is_tried_first_and_all_are_legal():
    d = in_play(engine_after(40, tables=600))
    chosen = make("random").act(d)
    planner = make("planner")
    found = tries(d, chosen, planner, 4, 2.0)
    assert (found.rows[found.start] == chosen).all()
    assert found.number.max() == 4
    assert found.number.min() == 1
    assert legality.is_set(d.packed[found.of], found.rows).all()
    assert len(np.unique(found.of * 10_000 + found.rows)) == len(found.rows)
    best = planner.act(d)
    assert np.isin(np.arange(len(d)) * 10_000 + best, found.of * 10_000 + found.rows).all()
    some = np.array([1, 5, 300])
    less, alone = found.take(some), tries(d.take(some), chosen[some], planner, 4, 2.0)
    for name in ("of", "rows", "start", "number"):
        assert (getattr(less, name) == getattr(alone, name)).all()


def test_search_sees_what_its_base_does_not():
    """Greedy leads its three, and the next seat goes out; the aces first win the deal."""
    engine = the_end("S3 SA CA", ("HR", "S4 C4 S6 C7", "S5 D8 D9 C9"))
    d = engine.decisions()
    assert row_name(int(make("greedy").act(d)[0])) == "single 3"
    assert row_name(int(make("search:greedy").act(d)[0][0])) == "pair AA"


def test_a_bomb_kept_for_the_end_is_found():
    """Greedy leads its low three into the last hand out; the bomb first takes both places."""
    engine = the_end("S3 S9 H9 C9 D9", ("HR", "S4 C4 S6 C7", "S5 D8 DT CJ"))
    d = engine.decisions()
    base, found = (
        int(make(spec).act(d)[0][0]) for spec in ("search:greedy?margin=1000", "search:greedy")
    )
    assert row_name(base) == "single 3"
    assert row_name(found) == "bomb 9999"
    assert worth(engine, found) > worth(engine, base)


def test_the_margin_keeps_the_bases_choice():
    engine = the_end("S3 SA CA", ("HR", "S4 C4 S6 C7", "S5 D8 D9 C9"))
    d = engine.decisions()
    kept = make("search:greedy?margin=1000").act(d)[0]
    assert kept[0] == make("greedy").act(d)[0]


def test_the_base_decides_tribute_forced_plays_and_full_hands(monkeypatch):
    monkeypatch.setattr(agents.search, "play_out", None)  # a rollout would fail
    engine = engine_after(0, tables=200, previous="random")
    search, greedy = make("search:greedy?cards=40"), make("greedy")
    for _ in range(6):
        d = engine.decisions()
        assert (search.act(d)[0] == greedy.act(d)).all()
        advance(engine, greedy)
    d = in_play(engine_after(20))
    assert (d.counts.sum(axis=1) > search.cards).all()
    assert (search.act(d)[0] == greedy.act(d)).all()
    d = in_play(engine_after(60))
    forced = d.take(np.flatnonzero(legality.count(d.packed) == 1))
    assert len(forced)
    assert (search.act(forced)[0] == PASS).all()


def test_cards_that_the_base_chose_go_with_its_choice():
    class WithCards:
        name = "with cards"

        def reset(self) -> None:
            pass

        def act(self, decisions):
            rows = make("greedy").act(decisions)
            cards = np.zeros((len(decisions), 54), dtype=np.uint8)
            single = (rows >= 1) & (rows <= 13)
            kinds = 4 * (rows[single] - 1)[:, None] + np.arange(4)
            held = np.take_along_axis(decisions.hand[single], kinds, axis=1) > 0
            last = kinds[np.arange(len(kinds)), 3 - np.argmax(held[:, ::-1], axis=1)]
            cards[np.flatnonzero(single), last] = 1
            return rows, cards

    search = Search("greedy", rollouts=24, cards=108, margin=0.5)
    search.base = WithCards()
    d = in_play(engine_after(60))
    base, given = search.base.act(d)
    rows, cards = search.act(d)
    assert (cards[rows == base] == given[rows == base]).all()
    assert given.any()
    assert (rows != base).any()
    assert not cards[rows != base].any()


# ---------------------------------------------------------------------- budgets


@pytest.fixture
def played(monkeypatch) -> list[int]:
    """The numbers of rollouts of each round."""
    rounds: list[int] = []

    def counted(state, rules, rows, policy):
        rounds.append(len(rows))
        return play_out(state, rules, rows, policy)

    monkeypatch.setattr(agents.search, "play_out", counted)
    return rounds


@pytest.mark.parametrize("rollouts", [1, 40, 100])
def test_no_decision_costs_more_rollouts_than_its_budget(played, rollouts):
    d = in_play(engine_after(60))
    search = make(f"search:greedy?rollouts={rollouts}&cards=108")
    rows, _ = search.act(d)
    assert sum(played) <= rollouts * len(d)
    assert (sum(played) > 0) == (rollouts > 1)
    if rollouts == 1:
        assert (rows == make("greedy").act(d)).all()


def test_milliseconds_end_the_search(played, monkeypatch):
    now = [0.0]

    def clock() -> float:
        now[0] += 1.0
        return now[0]

    monkeypatch.setattr(agents.search, "perf_counter", clock)
    d = in_play(engine_after(60)).take(np.arange(10))
    rows, _ = make("search:greedy?milliseconds=1&cards=108").act(d)
    assert len(played) == 1  # a second has gone since: only the round that is always played
    assert legality.is_set(d.packed, rows).all()
    first = played.pop()
    make("search:greedy?milliseconds=2000&cards=108").act(d)
    assert len(played) > 1
    assert played[0] == first


# ---------------------------------------------------------------------- what it depends on


def test_the_answer_is_the_same_in_every_batch(monkeypatch):
    d = in_play(engine_after(55))
    search = make("search:greedy?rollouts=64&cards=108&margin=0.5")
    rows, _ = search.act(d)
    monkeypatch.setattr(agents.search, "_TOGETHER", 37)  # tables, in the midst of a decision
    assert (search.act(d)[0] == rows).all()
    monkeypatch.undo()
    backwards, _ = search.act(d.take(np.arange(len(d))[::-1]))
    assert (backwards[::-1] == rows).all()
    for i in range(0, len(d), 19):
        assert search.act(d.take(np.array([i])))[0][0] == rows[i]
    assert (rows != make("greedy").act(d)).any()


def test_hidden_cards_have_no_influence():
    engine = engine_after(55)
    d = in_play(engine)
    search = make("search:greedy?rollouts=64&cards=108&margin=0.5")
    rows, _ = search.act(d)
    s, swapped = engine.state, 0
    for i, t in enumerate(d.index):
        pool = np.repeat(
            np.arange(54), to_counts(true_hands(engine, d)[i]).sum(axis=0, dtype=np.int64)
        )
        np.random.default_rng(i).shuffle(pool)
        for other in (1, 2, 3):
            seat = (int(d.seat[i]) + other) % 4
            size = int(d.counts[i, seat])
            hand, pool = pool[:size], pool[size:]
            now = to_bits(np.bincount(hand, minlength=54).astype(np.uint8))
            swapped += (s.hands[t, seat] != now).any()
            s.hands[t, seat] = now
    assert swapped > len(d)
    engine.refresh_masks(np.arange(engine.num_tables))
    assert (search.act(in_play(engine))[0] == rows).all()


def test_search_against_itself_comes_out_at_exactly_zero():
    spec = f"search:greedy?rollouts={2 * FIRST_ROUND}&cards=30&margin=0.5"
    pairs = play_duplicate(make(spec), make(spec), 2, seed=5)
    assert (pairs.won.mean(axis=1) == 0.5).all()
    assert (pairs.gain.sum(axis=1) == 0).all()


def test_search_is_stronger_than_its_base():
    spec = "search:greedy?rollouts=16&candidates=2&margin=1"
    pairs = play_duplicate(make(spec), make("greedy"), 6, seed=11)
    gain = pairs.gain.mean(axis=1)
    assert gain.mean() > 2 * gain.std() / np.sqrt(len(gain))


# ---------------------------------------------------------------------- specs


def test_any_spec_can_be_the_base():
    assert make("search:random?rollouts=8").name == "search:random"
    assert make("search:search:greedy").name == "search:search:greedy"
    inner = make("search:search:greedy%3Frollouts=8?rollouts=16")
    assert (inner.rollouts, inner.base.rollouts) == (16, 8)
    assert (make("search:greedy").cards, make("search:planner").cards) == (108, 40)
    assert make("search:greedy").policy.name == "greedy"
    assert make("search:random").policy.name == "planner"
    assert make("search:planner?rollout=greedy").policy.name == "greedy"


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("search", "search:BASE"),
        ("search:gredy", "greedy"),
        ("search:greedy?rollout=plannr", "planner"),
        ("search:greedy?rollouts=0", "rollouts is 0"),
        ("search:greedy?rollouts=2.5", "rollouts is 2.5"),
        ("search:greedy?rollouts=8&milliseconds=5", "one budget"),
        ("search:greedy?milliseconds=soon", "milliseconds is 'soon'"),
        ("search:greedy?candidates=0", "candidates is 0"),
        ("search:greedy?cards=109", "cards is 109; a whole number from 1 to 108"),
        ("search:greedy?rollouts=100001", "rollouts is 100001; .* from 1 to 100000"),
        ("search:greedy?drop=often", "drop is 'often'; a number"),
        ("search:greedy?milliseconds=-1", "milliseconds is -1"),
        ("search:greedy?gap=-1", "gap is -1"),
        ("search:greedy?margin=nan", "margin is nan"),
        ("search:greedy?rolouts=8", "rollouts"),
    ],
)
def test_wrong_options_are_told(spec, says):
    with pytest.raises(AgentError, match=says):
        make(spec)
