"""What DQN and deep Monte Carlo share: exploration, imitation, and that a run goes on as it was."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from value_helpers import LEARNERS, learner, stirred

from agents import make, weights
from agents.networks import Tensors
from eval.duplicate import Terms, play_pairs
from guandan_env.decisions import Decisions
from guandan_env.engine import Engine
from guandan_env.errors import GuandanError
from train import checkpoint
from train.config import load
from train.learner import LossError
from train.replay import Played
from train.rewards import Gain
from train.rollout import Experience, SelfPlay, Views
from train.run import Run
from train.value_learner import ValueLearner, explored

KINDS = sorted(LEARNERS)

# ------------------------------------------------------------------ exploration


def opening(tables: int) -> tuple[Decisions, Views]:
    """The first decisions of some deals as an actor is shown them."""
    asked: list[tuple[Decisions, Views]] = []

    class Actor:
        def act(self, decisions: Decisions, views: Views) -> None:
            asked.append((decisions, views))
            raise StopIteration

    with pytest.raises(StopIteration):
        SelfPlay(tables, 2, Gain(), strengths=True).collect(Actor(), 1)
    return asked[0]


def test_exploration_draws_every_legal_row_alike_and_no_other():
    decisions, views = opening(3000)
    inputs = views.inputs
    scores = np.zeros(len(inputs.rows), dtype=np.float32)
    scores[inputs.start] = 1.0  # the first candidate is by far the best
    for epsilon in (0.0, 0.3, 1.0):
        place = explored(scores, views, decisions, 0.01, epsilon)
        assert ((place >= 0) & (place < inputs.number)).all()
        rows = inputs.rows[inputs.start + place]
        assert decisions.mask[np.arange(len(rows)), rows].all()
        others = place > 0
        expected = epsilon * (1 - 1 / inputs.number)
        assert others.mean() == pytest.approx(expected.mean(), abs=0.03)
        if others.any():
            # 0 … 1 along the other candidates of each decision.
            along = (place[others] - 0.5) / (inputs.number[others] - 1)
            assert along.mean() == pytest.approx(0.5, abs=0.03)
            assert along.std() == pytest.approx(12**-0.5, abs=0.03)


def test_without_chance_the_temperature_decides():
    decisions, views = opening(2000)
    scores = np.zeros(len(views.inputs.rows), dtype=np.float32)
    scores[views.inputs.start] = 0.2
    for temperature in (0.05, 0.2, 5.0):
        first = explored(scores, views, decisions, temperature, 0.0) == 0
        weight = np.exp(0.2 / temperature)
        expected = weight / (weight + views.inputs.number - 1)
        assert first.mean() == pytest.approx(expected.mean(), abs=0.03)


def test_what_is_drawn_does_not_hang_on_who_else_is_asked():
    decisions, views = opening(300)
    scores = np.random.default_rng(0).normal(size=len(views.inputs.rows)).astype(np.float32)
    every = explored(scores, views, decisions, 0.5, 0.2)
    some = np.arange(7, len(views), 5)
    of = np.isin(views.inputs.of, some)
    alone = explored(scores[of], views.take(some), decisions.take(some), 0.5, 0.2)
    assert (alone == every[some]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_played_is_always_legal(kind, tmp_path):
    made = learner(kind, tmp_path, epsilon=0.5, epsilon_end=0.5, tables=32)
    step = made.play.engine.step

    def watched(rows, **options):
        legal = made.play.engine.decisions(np.arange(32)).mask
        assert legal[np.arange(32), rows].all()
        return step(rows, **options)

    made.play.engine.step = watched
    for _ in range(4):
        made.update()
    assert made.deals


# ------------------------------------------------------------------ learning


@pytest.mark.parametrize("kind", KINDS)
def test_what_pays_becomes_likelier(kind, tmp_path, monkeypatch):
    """Deals pay nothing, but every pass does: all come to pass more."""
    more = {"n_steps": 200} if kind == "dqn" else {"epochs": 4}
    made = learner(kind, tmp_path, lr=1e-2, lr_end=1e-2, tables=16, steps=80, **more)
    add, shares = made.pending.add, []

    def paid(x: Experience) -> Played:
        rows = x.views.inputs.rows[x.views.inputs.start + x.acted.chosen]
        shares.append((rows == 0).mean())
        played = add(x)
        rows = played.views.inputs.rows[played.views.inputs.start + played.chosen]
        return Played(
            played.views,
            played.chosen,
            np.where(rows == 0, 1, -1).astype(np.float32),
            played.ahead,
        )

    monkeypatch.setattr(made.pending, "add", paid)
    for _ in range(8):
        made.update()
    assert shares[-1] > shares[0] + 0.2


def test_the_loss_of_imitation_by_hand(tmp_path):
    made = stirred(learner("dmc", tmp_path, bc="greedy", temperature=0.5))
    x = made.play.collect(made, 20, teacher=made.teacher, taught=0.5)
    chosen = np.array([5, 0, 40, 17])
    loss, agrees = [], []
    with torch.inference_mode():
        taught = made.imitation(x, chosen)
        for i in chosen:
            scores = made.policy(Tensors.of_inputs(x.views.inputs.take(np.array([i])))).tolist()
            label = x.label[i]
            odds = [math.exp(score / 0.5) for score in scores]
            likely = odds[label] / sum(odds)
            loss.append(-math.log(likely) + scores[label] ** 2)
            agrees.append(max(scores) == scores[label])
    assert taught.loss.item() == pytest.approx(np.mean(loss), rel=1e-4)
    assert taught.notes["losses/agrees"].item() == np.mean(agrees)


@pytest.mark.parametrize("kind", KINDS)
def test_imitation_comes_to_choose_what_the_teacher_does(kind, tmp_path):
    made = learner(
        kind, tmp_path, bc="greedy", bc_moves=10**5, bc_lr=1e-2, tables=16, bc_minibatch=128
    )
    told = [made.update() for _ in range(14)]
    agrees = [figures["losses/agrees"] for figures in told if "losses/agrees" in figures]
    assert agrees[-1] > agrees[0] + 0.2
    assert made.imitates


@pytest.mark.parametrize("kind", KINDS)
def test_rates_are_those_of_the_phase(kind, tmp_path):
    made = learner(
        kind, tmp_path, bc="greedy", bc_moves=200, bc_lr=0.5, lr=0.25, lr_end=0.25,
        critic_lr=0.125, critic_lr_end=0.125,
    )  # fmt: skip
    made.learn = lambda experience: {}
    assert made.update()["charts/learning_rate"] == 0.5
    assert made.update()["charts/learning_rate"] == 0.25
    assert [group["lr"] for group in made.optimizer.param_groups] == [0.25, 0.125]


# ------------------------------------------------------------------ runs

RUN = {
    "tables": 6, "steps": 60, "minibatch": 100, "bc_minibatch": 80, "critic_blocks": 1,
    "opponents": {"pool": 0.4, "greedy": 0.2}, "pool_every": 2, "pool_size": 2,
    "bc": "greedy", "bc_moves": 700, "moves": 2500, "eval_every": 1000, "eval_deals": 2,
    "eval_against": ["greedy"], "checkpoint_minutes": 0,
}  # fmt: skip
said: list[str] = []


def run(kind: str, folder: Path, resume: bool = False, until: int = 100) -> ValueLearner:
    """Train until the end, or stop after so many updates."""
    made = learner(kind, folder, **RUN)
    training = Run(made, resume, said.append)

    def told(at: ValueLearner, figures: dict[str, float]) -> None:
        if at.updates >= until:
            training.stop()

    assert training.train(told) == (made.updates < until)
    return made


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict[str, Path]:
    """A run of some updates of each kind, to be copied."""
    found = {kind: tmp_path_factory.mktemp(kind) for kind in KINDS}
    for kind, folder in found.items():
        run(kind, folder, until=4)
    return found


@pytest.fixture(params=KINDS)
def trained(request, runs) -> tuple[str, Path]:
    """A kind, and its run."""
    return request.param, runs[request.param]


def tensors_of(made: ValueLearner) -> dict[str, torch.Tensor]:
    return {**made.policy.state_dict(), **made.checkpoint().tensors}


@pytest.mark.parametrize("kind", KINDS)
def test_a_resumed_run_ends_bit_equal_to_one_that_was_never_stopped(kind, tmp_path):
    whole = run(kind, tmp_path / "a")
    assert whole.updates == 7
    for stop in (1, 4):  # while it imitates, and later
        run(kind, tmp_path / "b", until=stop, resume=stop > 1)
    resumed = run(kind, tmp_path / "b", resume=True)
    one, two = tensors_of(whole), tensors_of(resumed)
    assert one.keys() == two.keys()
    assert [name for name in one if not torch.equal(one[name], two[name])] == []
    kept = {"pending.table", "optimizer.adam.0.exp_avg"}
    assert one.keys() >= kept | ({"replay.sizes", "target.policy.own"} if kind == "dqn" else set())
    assert one["optimizer.adam.0.step"] > 10


def spoilt(folder: Path, copy: Path, name: str, change) -> None:
    """A copy of a run in which tensors of all checkpoints are changed."""
    shutil.copytree(folder, copy)
    for path in checkpoint.saved(copy):
        tensors = weights.load_tensors(path / "training.safetensors")
        assert name in tensors
        changed = change(tensors.pop(name))
        if changed is not None:
            tensors[name] = changed
        weights.save_tensors(path / "training.safetensors", tensors)


DAMAGES = [
    ("pending.views.inputs.rows", lambda t: t.int(), "rows is int32 .*allowed is int16"),
    ("pending.table", lambda t: t + 6, "no table or seat"),
    ("pending.chosen", lambda t: None, "lacks chosen"),
    ("critic.value.bias", lambda t: t[:0], "critic"),
    ("optimizer.adam.0.exp_avg", lambda t: t[:1], "exp_avg 0 fits no parameter"),
]
DAMAGES_OF_DQN = [
    ("replay.outcome", lambda t: t * torch.nan, "outcome holds numbers that are not finite"),
    ("replay.ahead", lambda t: t + 50, "lack what followed"),
    ("target.critic.value.bias", lambda t: None, "target"),
]


@pytest.mark.parametrize(
    ("trained", "name", "change", "reason"),
    [("dmc", *damage) for damage in DAMAGES]
    + [("dqn", *damage) for damage in DAMAGES + DAMAGES_OF_DQN],
    indirect=["trained"],
)
def test_a_checkpoint_that_does_not_fit_is_refused_with_the_reason(
    trained, tmp_path, name, change, reason
):
    kind, folder = trained
    spoilt(folder, tmp_path / "copy", name, change)
    with pytest.raises(GuandanError, match=f"no checkpoint to go on from: .*{reason}"):
        Run(learner(kind, tmp_path / "copy", **RUN), True, said.append)


def test_a_truncated_checkpoint_is_passed_over_for_the_one_before(trained, tmp_path):
    kind, folder = trained
    shutil.copytree(folder, tmp_path / "copy")
    file = tmp_path / "copy" / "checkpoint-000000004" / "training.safetensors"
    file.write_bytes(file.read_bytes()[:-9])
    said.clear()
    made = learner(kind, tmp_path / "copy", **RUN)
    Run(made, True, said.append)
    assert made.updates == 3
    assert "passed over" in said[0]
    assert "training.safetensors" in said[0]


def test_a_checkpoint_of_another_learner_is_refused(trained, tmp_path):
    kind, folder = trained
    other = "dqn" if kind == "dmc" else "dmc"
    shutil.copytree(folder, tmp_path / "copy")
    with pytest.raises(GuandanError, match=f"is of kind '{kind}'; this run has '{other}'"):
        Run(learner(other, tmp_path / "copy", **RUN), True, said.append)


def test_a_loss_that_is_no_number_stops_the_run_and_leaves_oddsand_checkpoint(trained, tmp_path):
    kind, folder = trained
    shutil.copytree(folder, tmp_path / "copy")
    made = learner(kind, tmp_path / "copy", **RUN)
    training = Run(made, True, said.append)
    before = {name: t.clone() for name, t in tensors_of(made).items()}
    collect = made.play.collect

    def unpayable(*args: object, **options: object) -> Experience:
        experience = collect(*args, **options)
        experience.reward[:] = np.nan
        return experience

    made.play.collect = unpayable
    with pytest.raises(LossError, match=r"is nan, .*the last checkpoint is as it was"):
        training.train(lambda at, figures: None)
    after = tensors_of(made)
    learned = [name for name in before if not name.startswith(("tables", "pending", "replay"))]
    assert len(learned) > 30
    assert all(torch.equal(before[name], after[name]) for name in learned)
    batch = weights.load_tensors(tmp_path / "copy" / "failed-batch.safetensors")
    aims = batch["outcome" if kind == "dmc" else "aims"]
    assert len(aims) == len(batch["observation"])
    assert torch.isnan(aims).any()
    assert checkpoint.saved(tmp_path / "copy")[-1].name == "checkpoint-000000004"
    assert run(kind, tmp_path / "copy", resume=True, until=5).updates == 5


def test_what_was_trained_is_an_agent_that_plays_legally(trained):
    kind, folder = trained
    agent = make(f"{kind}:{folder}")
    assert agent.name == f"{kind}:{folder}"
    assert agent.version == f"{kind}-{4 * 360}"
    pairs = play_pairs(agent, make("greedy"), 0, 6, Terms(seed=4))
    assert not pairs.failed.any()
    assert pairs.decisions[0] > 100
    engine = Engine(64, seed=9)
    decisions = engine.decisions(np.arange(64))
    for spec in (f"{kind}:{folder}", f"{kind}:{folder}?sample=true&temperature=0.5"):
        rows = make(spec).act(decisions)
        assert decisions.mask[np.arange(64), rows].all()


# ------------------------------------------------------------------ what is shipped

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("kind", KINDS)
def test_the_shipped_agent_plays_legally_and_beats_greedy(kind):
    pairs = play_pairs(make(f"{kind}:pretrained"), make("greedy"), 0, 60, Terms(seed=11))
    assert not pairs.failed.any()
    assert pairs.won.mean() > 0.8


@pytest.mark.parametrize("kind", KINDS)
def test_the_shipped_agent_is_small_and_made_by_the_config_that_is_there(kind):
    shipped = ROOT / "agents" / "pretrained" / f"{kind}.safetensors"
    assert shipped.stat().st_size < 8e6
    network, about = weights.load_network(shipped)
    config = load(LEARNERS[kind][1], ROOT / "configs" / f"{kind}.yaml", [])
    made, now = about["config"], config.as_dict()
    threads = {"threads": made["threads"]}  # of the machine it was made on
    assert made == {name: now[name] for name in made} | threads
    assert about["kind"] == kind
    assert about["moves"] <= config.moves + config.tables * config.steps
    assert network.config == config.network
    curve = shipped.with_name(f"{kind}-curve.csv").read_text().splitlines()
    assert any(line.split(",")[0] == str(about["updates"]) for line in curve[1:])
