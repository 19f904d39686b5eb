"""PPO: its objective, that it learns what pays, and a run from the command line."""

from __future__ import annotations

import csv
import signal
from pathlib import Path

import numpy as np
import pytest
import torch
from ppo_helpers import TINY, learner, played
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from agents import make
from agents.networks import Tensors, log_softmax
from eval.duplicate import Terms, play_pairs
from guandan_env.cli import EXIT_INTERRUPTED
from guandan_env.errors import GuandanError
from train import checkpoint
from train.commands.train import main
from train.config import ConfigError
from train.ppo import PPO
from train.rollout import Experience

# ------------------------------------------------------------------ the objective


def test_the_clipped_objective_by_hand(tmp_path):
    ppo = learner(tmp_path, clip=0.2)
    ratio = torch.tensor([1.5, 1.5, 0.5, 0.5, 1.1])
    advantage = torch.tensor([1.0, -1.0, 1.0, -1.0, 2.0])
    loss, notes = ppo._clipped(ratio.log(), torch.zeros(5), advantage)
    assert loss.item() == pytest.approx(-(1.2 - 1.5 + 0.5 - 0.8 + 2.2) / 5, abs=1e-6)
    assert notes["losses/clipped"].item() == pytest.approx(0.8)
    assert notes["losses/kl"].item() == pytest.approx((ratio - 1 - ratio.log()).mean().item())


def test_what_pays_becomes_likelier(tmp_path, monkeypatch):
    """Every choice of the last candidate is paid, whoever makes it: all come to choose it."""
    ppo = learner(tmp_path)

    def returns(x: Experience, trace: float) -> tuple[np.ndarray, np.ndarray]:
        paid = np.where(x.acted.chosen == x.views.inputs.number - 1, 1, -1).astype(np.float32)
        return paid, paid + x.acted.value

    monkeypatch.setattr(Experience, "returns", returns)
    shares = []
    collect = ppo.play.collect

    def watched(*args: object, **options: object) -> Experience:
        x = collect(*args, **options)
        shares.append((x.acted.chosen == x.views.inputs.number - 1).mean())
        return x

    ppo.play.collect = watched
    for _ in range(25):
        ppo.update()
    assert np.mean(shares[:2]) < 0.35
    assert np.mean(shares[-2:]) > np.mean(shares[:2]) + 0.15


def test_imitation_comes_to_choose_what_the_teacher_does(tmp_path):
    ppo = learner(tmp_path, bc="greedy", bc_moves=10**5, bc_lr=1e-2, tables=16)
    likelihood = [ppo.update()["losses/likelihood"] for _ in range(24)]
    assert likelihood[-1] > likelihood[0] + 0.25
    assert ppo.imitates


def test_the_critic_learns_who_wins(tmp_path):
    ppo = learner(tmp_path, critic_lr=3e-3, tables=32, steps=64, critic_width=32, trace=1.0)
    explained = [ppo.update()["losses/explained_variance"] for _ in range(10)]
    assert ppo.deals > 10
    assert max(explained[-3:]) > 0.3


def test_old_and_new_probabilities_agree_before_the_first_step(tmp_path):
    ppo = learner(tmp_path)
    x = ppo.play.collect(ppo, 30)
    t = Tensors.of_inputs(x.views.inputs)
    with torch.inference_mode(), ppo.autocast():
        log_p = log_softmax(ppo.policy(t), t.of, len(t)).numpy()
    now = log_p[x.views.inputs.start + x.acted.chosen]
    assert np.abs(now - x.acted.log_probability).max() < 0.05


def test_half_precision_does_not_hide_close_choices(tmp_path):
    """Scores may lie anywhere: softmax is the same for all of them moved by one number."""
    ppo = learner(tmp_path)
    t = Tensors.of_inputs(played(ppo, 10).views.inputs)
    with torch.inference_mode():
        near = log_softmax(ppo.policy(t), t.of, len(t))
        ppo.policy.score.bias += 200
        with torch.autocast("cpu", torch.bfloat16):
            far = log_softmax(ppo.policy(t), t.of, len(t))
    assert near.std() > 0.1
    assert torch.allclose(near, far, atol=0.02)


def test_an_update_ends_when_the_policy_has_moved_too_far(tmp_path):
    far = learner(tmp_path, lr=0.05, target_kl=1e-4, epochs=50, steps=200)
    assert far.update()["losses/minibatches"] < 20
    near = learner(tmp_path, lr=0.0, target_kl=1e-1, epochs=50, minibatch=4096)
    assert near.update()["losses/minibatches"] == 50


def test_settings_move_to_their_end_after_imitation(tmp_path):
    ppo = learner(
        tmp_path, moves=1000, bc="greedy", bc_moves=200, entropy=0.5, entropy_end=0.1, lr_end=0.0
    )
    expected = {0: 0.5, 200: 0.5, 600: 0.3, 1000: 0.1, 5000: 0.1}
    for moves, entropy in expected.items():
        ppo.moves = moves
        assert ppo.scheduled("entropy") == pytest.approx(entropy)
    assert ppo.done == 1
    timed = learner(tmp_path, minutes=10.0)
    timed.seconds = 300.0
    assert timed.done == 0.5


# ------------------------------------------------------------------ what plays


def test_what_plays_is_the_teachers_pupil_and_then_an_average(tmp_path):
    ppo = learner(tmp_path, bc="greedy", bc_moves=900, average=0.75, steps=70)
    ppo.update()
    ppo.update()
    assert not ppo.imitates
    assert all(map(torch.equal, ppo.player.parameters(), ppo.policy.parameters()))
    before = [p.clone() for p in ppo.player.parameters()]
    ppo.update()
    for was, now, policy in zip(
        before, ppo.player.parameters(), ppo.policy.parameters(), strict=True
    ):
        assert torch.allclose(now, 0.75 * was + 0.25 * policy, atol=1e-6)
    assert not torch.equal(next(ppo.player.parameters()), next(ppo.policy.parameters()))


def test_a_run_that_was_resumed_has_the_same_average_and_policy(tmp_path):
    settings = {
        "bc": "greedy", "bc_moves": 900, "steps": 70, "opponents": {"pool": 0.25}, "pool_every": 2,
    }  # fmt: skip
    whole = learner(tmp_path / "a", **settings)
    for _ in range(5):
        whole.update()
    first = learner(tmp_path / "b", **settings)
    for _ in range(2):
        first.update()
    assert not first.imitates  # just now: the optimiser knows nothing of the policy
    path = checkpoint.save(tmp_path / "b", 2, first.checkpoint())
    second = learner(tmp_path / "b", **settings)
    second.restore(checkpoint.load(path, "ppo"), "here")
    for _ in range(3):
        second.update()
    for a, b in ((whole.player, second.player), (whole.policy, second.policy)):
        assert all(map(torch.equal, a.parameters(), b.parameters()))
    assert not all(map(torch.equal, whole.player.parameters(), whole.policy.parameters()))


def test_scores_are_sharpened_once_when_imitation_ends(tmp_path):
    plain = learner(tmp_path / "a", bc="greedy", bc_moves=300)
    sharp = learner(tmp_path / "b", bc="greedy", bc_moves=300, sharpen=2.0)
    for _ in range(2):
        plain.update()
        sharp.update()
    x = played(plain, 10).views.inputs
    with torch.inference_mode():
        once, twice = (p.policy(Tensors.of_inputs(x)) for p in (plain, sharp))
    assert torch.allclose(twice, 2 * once, atol=1e-4)


def test_imitation_slows_down_along_a_cosine(tmp_path):
    ppo = learner(tmp_path, bc="greedy", bc_moves=1000, bc_lr=0.1, bc_lr_end=0.02)
    rates = []
    for moves in (0, 500, 1000):
        ppo.moves = moves
        rates.append(ppo._imitation_rate())
    assert rates == pytest.approx([0.1, 0.06, 0.02])


def test_a_run_can_start_from_weights(tmp_path):
    first = learner(tmp_path / "a")
    first.update()
    path = checkpoint.save(tmp_path / "a", 1, first.checkpoint())
    second = learner(tmp_path / "b", start=str(path))
    for network in (second.policy, second.player):
        assert all(map(torch.equal, network.parameters(), first.player.parameters()))
    with pytest.raises(ConfigError, match=r"start .* has width=\d+, .*; set these"):
        learner(tmp_path / "c", start=str(path), width=24)


# ------------------------------------------------------------------ what is shipped


def test_the_shipped_agent_plays_by_the_rules_and_beats_greedy():
    pairs = play_pairs(make("ppo:pretrained"), make("greedy"), 0, 60, Terms(seed=11))
    assert pairs.failures.sum() == 0
    assert pairs.won.mean() > 0.85


def test_the_shipped_weights_are_small():
    shipped = Path(__file__).parent.parent / "agents" / "pretrained" / "ppo.safetensors"
    assert shipped.stat().st_size <= 8 << 20


# ------------------------------------------------------------------ the command


def words(out: Path, **changes: object) -> list[str]:
    settings = {
        **TINY, "moves": 800, "eval_every": 2, "eval_deals": 2, "eval_against": "[greedy]",
        "opponents": "{pool: 0.25}", **changes,
    }  # fmt: skip
    told = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    return ["ppo", "--out", str(out), *told]


def test_a_run_leaves_an_agent_a_curve_and_logs(tmp_path, capsys):
    assert main(words(tmp_path)) == 0
    assert "greedy" in capsys.readouterr().err
    assert [path.name for path in checkpoint.saved(tmp_path)] == ["checkpoint-000000005"]
    with (tmp_path / "curve.csv").open() as file:
        rows = list(csv.DictReader(file))
    scored = [(row["update"], row["against"]) for row in rows]
    assert scored == [
        ("2", "greedy"),
        ("4", "greedy"),
        ("4", "best"),
        ("5", "greedy"),
        ("5", "best"),
    ]
    assert all(0 <= float(row["low"]) <= float(row["won"]) <= float(row["high"]) for row in rows)
    assert make(f"ppo:{tmp_path}").name == f"ppo:{tmp_path}"
    logs = EventAccumulator(str(tmp_path / "tensorboard"))
    logs.Reload()
    tags = logs.Tags()
    assert {
        "charts/SPS", "charts/deals", "charts/moves", "charts/forced_share", "losses/policy",
        "losses/value", "losses/entropy", "losses/kl", "eval/greedy/won", "eval/best/low",
    } <= set(tags["scalars"])  # fmt: skip
    assert {"hyperparameters/text_summary", "deals/0/text_summary"} <= set(tags["tensors"])
    assert [event.step for event in logs.Scalars("charts/moves")] == [1, 2, 3, 4, 5]


def test_ctrl_c_saves_and_the_run_is_resumed(tmp_path, monkeypatch, capsys):
    update, handler = PPO.update, signal.getsignal(signal.SIGINT)

    def interrupted(self: PPO) -> dict[str, float]:
        if self.updates == 1:
            signal.raise_signal(signal.SIGINT)
        return update(self)

    monkeypatch.setattr(PPO, "update", interrupted)
    assert main(words(tmp_path)) == EXIT_INTERRUPTED
    assert signal.getsignal(signal.SIGINT) is handler
    assert [path.name for path in checkpoint.saved(tmp_path)] == ["checkpoint-000000002"]
    monkeypatch.undo()
    # The run knows its settings.
    assert main([words(tmp_path)[0], "--out", str(tmp_path), "--resume"]) == 0
    assert "going on from checkpoint-000000002" in capsys.readouterr().err
    with pytest.raises(GuandanError, match="is a run of ppo, not of dqn"):
        main(["dqn", "--out", str(tmp_path), "--resume"])
    assert checkpoint.saved(tmp_path)[-1].name == "checkpoint-000000005"
