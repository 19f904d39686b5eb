from __future__ import annotations

import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import agents
from agents import AgentError
from guandan_env import Engine, SingleSeatEnv, SingleSeatVectorEnv, observation
from guandan_env.errors import CardError, GuandanError, IllegalActionError, StateError
from guandan_env.rules import RuleSet
from guandan_env.single_seat import INFO

GREEDY = agents.make("greedy")
RANDOM = agents.make("random")
SHORT = RuleSet(max_deals=2)
LAST_CARDS = {"hands": ["S3 S4", "S5", "S6", "S7"], "level": "2"}


class Counting:
    """Plays as `random` and notes what it is asked."""

    name = "counting"

    def __init__(self):
        self.asked = []
        self.resets = 0

    def reset(self):
        self.resets += 1

    def act(self, decisions):
        self.asked.append(decisions)
        return RANDOM.act(decisions)


def choose(mask, numbers):
    """A legal row for each mask, by numbers in [0, 1)."""
    legal = np.atleast_2d(mask)
    nth = (legal.sum(axis=1) * numbers).astype(int)
    return (legal.cumsum(axis=1) > nth[:, None]).argmax(axis=1)


def episodes(env, number, seed=None):
    """Play so many episodes at random; yields what every reset and step returned."""
    rng = np.random.default_rng(0)
    for i in range(number):
        seen, info = env.reset(seed=seed if i == 0 else None)
        yield seen, 0.0, False, False, info
        ended = False
        while not ended:
            step = env.step(int(choose(env.action_masks(), rng.random(1))[0]))
            ended = step[2]
            yield step


# ------------------------------------------------------------------ one table


@pytest.mark.parametrize("form", ["dict", "flat"])
@pytest.mark.parametrize("illegal", ["end", "raise"])
def test_what_is_returned(form, illegal):
    env = SingleSeatEnv(GREEDY, seat="random", observation=form, illegal=illegal)
    for seen, reward, terminated, truncated, info in episodes(env, 3, seed=1):
        assert seen in env.observation_space
        assert type(reward) is float
        assert (type(terminated), truncated) == (bool, False)
        assert set(info) == set(INFO if terminated else list(INFO)[:2])
        mask = env.action_masks()
        assert (mask.shape, mask.dtype) == ((2244,), np.bool_)
        assert np.array_equal(mask, info["action_mask"])
        assert info["action_mask"].dtype == np.int8
        assert mask.any() != terminated
        if form == "dict":
            assert np.array_equal(seen["action_mask"], mask)
        if terminated:
            assert (info["order"].shape, info["order"].dtype) == ((4,), np.int8)
            assert (info["steps"].shape, info["steps"].dtype) == ((2,), np.int16)
            assert info["winner"] == info["order"][0] % 2
            assert (reward > 0) == (info["seat"] % 2 == info["winner"])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("parameters", [
    {}, {"observation": "flat", "seat": "random"}, {"episode": "game", "reward": "game", "seat": 3},
])  # fmt: skip
def test_gymnasium_finds_no_fault(parameters):
    pytest.importorskip("PIL")
    check_env(gymnasium.make("Guandan-v0", **parameters).unwrapped)


def test_it_is_the_aec_environment_with_three_seats_played():
    """The same deals with the same players give the same observations and rewards."""
    from guandan_env import raw_env

    aec, env = raw_env(), SingleSeatEnv(GREEDY, seat=2)
    numbers = np.random.default_rng(3)
    aec.reset(seed=9)
    for episode in range(3):
        if episode:
            aec.reset()
        seen, _ = env.reset(seed=9 if episode == 0 else None)
        paid = ended = 0
        while not ended:
            while aec.agent_selection != "player_2" and not aec.terminations["player_2"]:
                aec.step(int(GREEDY.act(aec.engine.decisions())[0]))
                paid += aec.rewards["player_2"]
            ended = aec.terminations["player_2"]
            theirs = aec.observe("player_2")
            assert np.array_equal(seen["observation"], theirs["observation"])
            if not ended:
                assert np.array_equal(seen["action_mask"], theirs["action_mask"])
                row = int(choose(seen["action_mask"], numbers.random(1))[0])
                aec.step(row)
                paid = aec.rewards["player_2"]
                before = env.tables.engine.state.deal[0]
                seen, reward, terminated, _, _ = env.step(row)
                assert before == aec.engine.state.deal[0]
        assert terminated
        assert paid == reward != 0


def test_seats_and_seeds():
    fixed = SingleSeatEnv(GREEDY, seat=3)
    drawn = SingleSeatEnv(GREEDY, seat="random")
    seats = []
    for i in range(40):
        assert fixed.reset(seed=4 if i == 0 else None)[1]["seat"] == 3
        seats.append(drawn.reset(seed=4 if i == 0 else None)[1]["seat"])
    assert set(seats) == {0, 1, 2, 3}
    again = SingleSeatEnv(GREEDY, seat="random")
    assert [again.reset(seed=4 if i == 0 else None)[1]["seat"] for i in range(40)] == seats
    first, second = (SingleSeatEnv(GREEDY).reset()[0] for _ in range(2))
    assert not np.array_equal(first["observation"], second["observation"])


@pytest.mark.parametrize(("episode", "rules"), [("deal", "default"), ("game", SHORT)])
@pytest.mark.parametrize("reward", ["levels", "sign", "game"])
def test_rewards_are_those_of_the_seat(episode, rules, reward):
    env = SingleSeatEnv(RANDOM, seat=1, episode=episode, rules=rules, reward=reward)
    total, number = 0.0, 0
    for _, paid, ended, _, info in episodes(env, 3, seed=2):
        total += paid
        if ended:
            number += 1
            sign = 0 if info["winner"] == 2 else 1 if info["winner"] == 1 else -1
            if reward == "game":
                assert total == sign
            elif episode == "deal":
                assert np.sign(total) == sign
            if episode == "game" and reward == "levels":
                gained = info["steps"][1] - info["steps"][0]
                assert total == gained
            total = 0.0
    assert number == 3


def test_illegal_actions():
    env = SingleSeatEnv(GREEDY, illegal="end")
    _, info = env.reset(seed=1)
    row = int(np.flatnonzero(info["action_mask"] == 0)[5])
    seen, reward, terminated, _, info = env.step(row)
    assert (reward, terminated, info["illegal_action"], info["winner"]) == (-3.0, True, True, -1)
    assert not seen["action_mask"].any()
    assert seen["observation"][observation.BLOCK["phase"].slice].tolist() == [0, 0, 0, 0, 0, 1]
    with pytest.raises(StateError, match="the episode is over"):
        env.step(row)
    # Nothing lingers: the next episode is that of a table where nothing went wrong.
    other = SingleSeatEnv(GREEDY)
    other.reset(seed=1)
    assert data_equivalence(env.reset(), other.reset())
    assert SingleSeatEnv(GREEDY, reward="sign").tables.worst == -1

    env = SingleSeatEnv(GREEDY, illegal="raise")
    _, info = env.reset(seed=1)
    before = env.tables.engine.state.to_bytes()
    with pytest.raises(IllegalActionError, match="table 0, seat 0: action"):
        env.step(row)
    for wrong in (2244, -1, 0.5, "pass", None, [1, 2], True):
        with pytest.raises(IllegalActionError, match="allowed"):
            env.step(wrong)
    assert env.tables.engine.state.to_bytes() == before
    env.step(int(np.flatnonzero(info["action_mask"])[0]))


def test_positions():
    env = SingleSeatEnv(GREEDY, seat=0)
    seen, info = env.reset(seed=1, options={**LAST_CARDS, "leader": 0})
    assert observation.BLOCK["hand"].slice.start == 0
    assert seen["observation"][:54].sum() == 2
    assert np.flatnonzero(info["action_mask"]).size == 2
    with pytest.raises(StateError, match="unknown option 'hand'"):
        env.reset(options={"hand": 1})
    with pytest.raises(CardError):
        env.reset(seed=7, options={"level": "1"})
    assert env.step(int(np.flatnonzero(info["action_mask"])[0]))[2]
    # Seats 3 and 1 go out one after the other.
    over = {"hands": ["S3", "S9", "SA", "S4"], "level": "2", "leader": 3}
    with pytest.raises(StateError, match="over before the learner's seat 2"):
        SingleSeatEnv(GREEDY, seat=2).reset(options=over)
    assert env.reset(seed=1)[1]["action_mask"].any()


def test_before_the_first_reset():
    with pytest.raises(StateError, match="call reset"):
        SingleSeatEnv(GREEDY).step(0)
    with pytest.raises(GuandanError):
        SingleSeatEnv(GREEDY).reset(seed=-1)


@pytest.mark.parametrize(("parameters", "message"), [
    ({"seat": 4}, "seat is 4; 0, 1, 2, 3 and 'random' are allowed"),
    ({"seat": "rnd"}, "seat is 'rnd'"),
    ({"agents": "greedy"}, "agents has 'g'|agents are 'greedy'"),
    ({"agents": (GREEDY, GREEDY)}, "three for the next seat, the partner and the seat before"),
    ({"agents": (GREEDY, GREEDY, 1)}, "agents has 1, which is no agent"),
    ({"observation": "dcit"}, "did you mean 'dict'"),
    ({"illegal": "stop"}, "illegal is 'stop'"),
    ({"reward": "gain"}, "reward is 'gain'"),
    ({"episode": "match"}, "episode is 'match'"),
    ({"rules": "nobody"}, "nobody"),
    ({"render_mode": "ascii"}, "render_mode is 'ascii'"),
    ({"table": -1}, "allowed"),
])  # fmt: skip
def test_bad_parameters(parameters, message):
    given = {"agents": GREEDY, **parameters}
    with pytest.raises(GuandanError, match=message):
        SingleSeatEnv(**given)


def test_rendering(capsys):
    pytest.importorskip("PIL")
    for mode in ("ansi", "rgb_array"):
        env = SingleSeatEnv(GREEDY, render_mode=mode)
        env.reset(seed=1)
        picture = env.render()
        assert isinstance(picture, str) if mode == "ansi" else picture.shape == (720, 960, 3)
    env = SingleSeatEnv(GREEDY, render_mode="human")
    env.reset(seed=1)
    assert "player_0" in capsys.readouterr().out
    vec = SingleSeatVectorEnv(2, GREEDY, render_mode="ansi")
    vec.reset(seed=1)
    assert [type(text) for text in vec.render()] == [str, str]
    with pytest.warns(UserWarning, match="without a render_mode"):
        assert SingleSeatVectorEnv(2, GREEDY).render() is None


# ------------------------------------------------------------------ many tables


def test_agents_are_asked_together():
    side, mate = Counting(), Counting()
    vec = SingleSeatVectorEnv(32, (side, mate, side), seat="random", previous=None)
    seen, _ = vec.reset(seed=5)
    rounds = len(side.asked)
    assert (side.resets, mate.resets, rounds <= 3) == (1, 1, True)
    for agent, places in ((side, {1, 3}), (mate, {2})):
        for asked in agent.asked:  # before the learner's first decisions
            assert set(((asked.seat - vec.tables.seat[asked.index]) % 4).tolist()) <= places
    for _ in range(30):
        seen, *_ = vec.step(choose(seen["action_mask"], np.full(32, 0.5)))
    for agent in (side, mate):
        sizes = [len(decisions) for decisions in agent.asked]
        assert max(sizes) > 16
        assert agent.resets == 1
        for decisions in agent.asked:
            assert len(set(decisions.index.tolist())) == len(decisions)


def test_agents_may_choose_cards():
    class Suits(Counting):
        def act(self, decisions):
            return RANDOM.act(decisions), np.zeros((len(decisions), 54), dtype=np.uint8)

    class Shapeless(Counting):
        def act(self, decisions):
            return np.zeros((len(decisions), 2), dtype=np.int64)

    plain = SingleSeatVectorEnv(4, RANDOM)
    chosen = SingleSeatVectorEnv(4, Suits())
    assert data_equivalence(plain.reset(seed=3), chosen.reset(seed=3))
    vec = SingleSeatVectorEnv(4, Shapeless())
    with pytest.raises(IllegalActionError, match="the actions of agent 'counting' are"):
        vec.reset(seed=1)
    with pytest.raises(StateError, match="call reset"):
        vec.step(np.zeros(4, dtype=np.int64))


@pytest.mark.parametrize("form", ["dict", "flat"])
@pytest.mark.parametrize(("episode", "rules"), [("deal", "default"), ("game", SHORT)])
def test_it_is_gymnasiums_vector_of_single_tables(form, episode, rules):
    n = 4
    parameters = {"seat": "random", "observation": form, "episode": episode, "rules": rules}

    def single(table):
        return lambda: SingleSeatEnv((GREEDY, RANDOM, GREEDY), table=table, **parameters)

    sync = SyncVectorEnv(
        [single(table) for table in range(n)], autoreset_mode=AutoresetMode.SAME_STEP
    )
    vec = SingleSeatVectorEnv(n, (GREEDY, RANDOM, GREEDY), **parameters)
    assert vec.observation_space == sync.observation_space
    assert vec.action_space == sync.action_space
    ours, theirs = vec.reset(seed=11), sync.reset(seed=[11] * n)
    assert data_equivalence(ours, theirs, exact=True)
    rng = np.random.default_rng(0)
    ended = wrong = 0
    for i in range(150):
        rows = choose(ours[-1]["action_mask"], rng.random(n))
        if i % 50 == 49:
            rows[i % n] = (ours[-1]["action_mask"][i % n] == 0).argmax()
            wrong += 1
        ours, theirs = vec.step(rows), sync.step(rows)
        assert data_equivalence(ours, theirs, exact=True)
        assert ours[0] in vec.observation_space
        masks = vec.action_masks()
        assert (masks.shape, masks.dtype) == ((n, 2244), np.bool_)
        assert np.array_equal(masks, ours[-1]["action_mask"])
        ended += ours[2].sum()
    assert ended >= n + wrong


def test_a_table_is_the_same_in_any_number():
    few, many = (SingleSeatVectorEnv(n, RANDOM, seat="random") for n in (3, 17))
    ours, theirs = few.reset(seed=6), many.reset(seed=6)
    rng = np.random.default_rng(0)
    for _ in range(60):
        numbers = rng.random(17)
        for key in ("observation", "action_mask"):
            assert np.array_equal(ours[0][key], theirs[0][key][:3])
        ours = few.step(choose(ours[0]["action_mask"], numbers[:3]))
        theirs = many.step(choose(theirs[0]["action_mask"], numbers))
        assert np.array_equal(ours[1], theirs[1][:3])
        assert np.array_equal(ours[2], theirs[2][:3])


def test_reset_mask():
    vec = SingleSeatVectorEnv(3, GREEDY)
    seen, info = vec.reset(seed=1)
    first = seen["observation"]
    second = vec.step(choose(seen["action_mask"], np.zeros(3)))[0]["observation"]
    seen, info = vec.reset(options={"reset_mask": np.array([False, True, False])})
    same = [np.array_equal(a, b) for a, b in zip(seen["observation"], second, strict=True)]
    assert same == [True, False, True]
    assert info["_seat"].tolist() == [False, True, False]
    assert vec.tables.engine.state.deal.tolist() == [0, 1, 0]
    for mask in (np.zeros(3, bool), np.ones(2, bool), [True] * 3, 1):
        with pytest.raises(StateError, match="reset_mask"):
            vec.reset(options={"reset_mask": mask})
    with pytest.raises(GuandanError, match="with a seed"):
        vec.reset(seed=1, options={"reset_mask": np.ones(3, bool)})
    assert np.array_equal(vec.reset(seed=1)[0]["observation"], first)
    seen, _ = vec.reset(seed=1, options={**LAST_CARDS, "leader": 0})
    assert (seen["observation"][:, :54].sum(axis=1) == 2).all()


def test_wrong_actions_of_many():
    vec = SingleSeatVectorEnv(2, GREEDY, illegal="raise")
    vec.reset(seed=1)
    before = vec.tables.engine.state.to_bytes()
    for actions in ([1], np.zeros((2, 1), int), np.zeros(2), np.array([0, 2244]), None):
        with pytest.raises(IllegalActionError, match=r"allowed|0 to 2243"):
            vec.step(actions)
    with pytest.raises(IllegalActionError, match="table 0, seat"):
        vec.step(np.array([2243, 2243]))
    assert vec.tables.engine.state.to_bytes() == before


# ------------------------------------------------------------------ by name


def test_single_seat_of_specs():
    env = agents.single_seat("greedy", "random", seat=1, observation="flat")
    names = [agent.name for agent in env.tables._agents]
    assert (type(env), names) == (SingleSeatEnv, ["greedy", "random"])
    vec = agents.single_seat(GREEDY, num_envs=3)
    assert (type(vec), vec.num_envs, vec.tables._agents) == (SingleSeatVectorEnv, 3, [GREEDY])
    with pytest.raises(AgentError, match="did you mean 'greedy'"):
        agents.single_seat("gready")


def test_vector_entry_point():
    vec = gymnasium.make_vec(
        "Guandan-v0",
        num_envs=3,
        vectorization_mode="vector_entry_point",
        opponents="random",
        seat=2,
    )
    assert isinstance(vec, SingleSeatVectorEnv)
    assert vec.spec.id == "Guandan-v0"
    assert vec.reset(seed=1)[1]["seat"].tolist() == [2, 2, 2]
    sync = gymnasium.make_vec("Guandan-v0", num_envs=2, vectorization_mode="sync", partner="random")
    assert isinstance(sync, SyncVectorEnv)
    sync.reset(seed=1)


@pytest.mark.parametrize("imports", [
    "import guandan_env, gymnasium, pettingzoo",
    "import gymnasium, pettingzoo, guandan_env",
    "import pettingzoo; import importlib.util; importlib.util.find_spec('gymnasium'); "
    "import guandan_env, gymnasium",
    "import gymnasium; gymnasium.make('guandan_env:Guandan-v0'); import pettingzoo",
])  # fmt: skip
def test_the_ids_are_there_in_any_order_of_imports(imports):
    code = (
        f"{imports}\nfrom gymnasium.envs.registration import registry\n"
        "assert 'Guandan-v0' in registry\nimport importlib, guandan_env\n"
        "known = getattr(pettingzoo, 'aec_registry', None)\n"
        "assert known is None or 'guandan-v0' in known\n"
        "gymnasium.make('Guandan-v0').reset(seed=1)"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_importing_guandan_env_imports_neither():
    code = "import guandan_env, sys; print({'gymnasium', 'pettingzoo', 'numpy'} & set(sys.modules))"
    answer = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, encoding="utf-8"
    )
    assert answer.stdout == "set()\n"


def test_pettingzoo_registry():
    pettingzoo = pytest.importorskip("pettingzoo")
    if not hasattr(pettingzoo, "register"):
        pytest.skip("this PettingZoo has no registry")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = pettingzoo.make("aec", "guandan_v0", rules="njupt", episode="game")
    env.reset(seed=1)
    assert env.unwrapped.rules == RuleSet.preset("njupt")
    assert env.unwrapped.engine.episode == Engine(1, episode="game").episode
