"""Checkpoints: a run that was stopped goes on as if it had not been, whatever stopped it."""

from __future__ import annotations

import errno
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from agents import make, weights
from guandan_env.errors import GuandanError
from train import checkpoint
from train.config import from_mapping
from train.learner import LossError
from train.ppo import PPO, PPOConfig
from train.rollout import Experience
from train.run import Run

TINY = {
    "tables": 6, "steps": 30, "minibatch": 32, "minibatch_end": 64, "width": 16, "blocks": 1,
    "candidate_width": 8, "row_width": 4, "critic_width": 16, "critic_blocks": 1, "threads": 1,
    "opponents": {"pool": 0.4, "greedy": 0.2}, "pool_every": 2, "pool_size": 2,
    "bc": "greedy", "bc_moves": 300, "moves": 1400, "eval_every": 1000, "eval_deals": 2,
    "eval_against": ["greedy"], "checkpoint_minutes": 0,
}  # fmt: skip


def learner(folder: Path, **changes: object) -> PPO:
    torch.set_num_threads(1)
    return PPO(from_mapping(PPOConfig, {**TINY, **changes}, "test"), folder)


def run(folder: Path, resume: bool = False, until: int = 100, **changes: object) -> PPO:
    """Train until the end, or stop after so many updates."""
    made = learner(folder, **changes)

    training = Run(made, resume, said.append)

    def told(at: PPO, figures: dict[str, float]) -> None:
        if at.updates >= until:
            training.stop()

    finished = training.train(told)
    assert finished == (made.updates < until)
    return made


said: list[str] = []


def weights_of(made: PPO) -> dict[str, torch.Tensor]:
    return {**made.policy.state_dict(), **made.checkpoint().tensors}


def assert_same(a: PPO, b: PPO) -> None:
    first, second = weights_of(a), weights_of(b)
    assert first.keys() == second.keys()
    for name in first:
        assert torch.equal(first[name], second[name]), name
    assert a.checkpoint().counters | {"seconds": 0} == b.checkpoint().counters | {"seconds": 0}


def test_a_resumed_run_ends_bit_equal_to_one_that_was_never_stopped(tmp_path):
    whole = run(tmp_path / "a")
    assert whole.updates == 8
    assert whole.pool is not None
    assert whole.pool.members == [4, 6]
    for stop in (1, 5):  # while it imitates, and later
        run(tmp_path / "b", until=stop, resume=stop > 1)
    assert_same(run(tmp_path / "b", resume=True), whole)
    lines = [(tmp_path / name / "curve.csv").read_text().splitlines() for name in "ab"]
    assert [line.split(",")[:2] for line in lines[0]] == [line.split(",")[:2] for line in lines[1]]


def test_the_last_two_checkpoints_are_kept_and_the_past_selves_that_they_need(tmp_path):
    run(tmp_path)
    names = [path.name for path in checkpoint.saved(tmp_path)]
    assert names == ["checkpoint-000000007", "checkpoint-000000008"]
    files = {file.stem for file in (tmp_path / "pool").glob("*.safetensors")}
    assert files == {"000000004", "000000006"}
    # A checkpoint is an agent, and so are its past selves and the run.
    assert make(f"ppo:{tmp_path / names[0]}").name.startswith("ppo:")
    assert make(f"ppo:{tmp_path}").version == "ppo-1440"
    assert make(f"ppo:{tmp_path / 'pool' / '000000004.safetensors'}").version == "ppo-0"


def test_what_is_cut_off_while_written_is_not_seen(tmp_path):
    run(tmp_path, until=3)
    partial = tmp_path / ".checkpoint-000000004.partial"
    partial.mkdir()
    (partial / "policy.safetensors").write_bytes(b"half")
    assert run(tmp_path, resume=True, until=5).updates == 5
    assert not partial.exists()


@pytest.mark.parametrize("name", ["training.safetensors", "policy.safetensors", "training.json"])
def test_a_damaged_checkpoint_is_passed_over_for_the_one_before(tmp_path, name):
    run(tmp_path, until=3)
    last, damaged = checkpoint.saved(tmp_path)[-1], tmp_path / "checkpoint-000000003" / name
    assert last == damaged.parent
    damaged.write_bytes(damaged.read_bytes()[:-9])
    said.clear()
    made = learner(tmp_path)
    Run(made, True, said.append)
    assert made.updates == 2
    assert "damaged" in said[0]
    assert name in said[0]
    shutil.rmtree(tmp_path / "checkpoint-000000002")
    with pytest.raises(GuandanError, match=r"no checkpoint to go on from: .*damaged"):
        Run(learner(tmp_path), True, said.append)
    assert damaged.exists()


def test_checkpoints_of_something_else_are_refused(tmp_path):
    run(tmp_path, until=2)
    path = checkpoint.saved(tmp_path)[-1]
    with pytest.raises(weights.WeightsError, match="is of kind 'ppo'; this run has 'dqn'"):
        checkpoint.load(path, "dqn")
    with pytest.raises(GuandanError, match="the network has"):
        Run(learner(tmp_path, width=24), True, said.append)
    with pytest.raises(GuandanError, match="critic"):
        Run(learner(tmp_path, critic_width=24), True, said.append)
    with pytest.raises(GuandanError, match="has 6 tables, the settings 7"):
        Run(learner(tmp_path, tables=7), True, said.append)
    meta = json.loads((path / "training.json").read_text())
    for name in ("actions", "observation", "candidates", "training"):
        (path / "training.json").write_text(json.dumps({**meta, name: "other-v9"}))
        with pytest.raises(weights.WeightsError, match=f"is of {name} 'other-v9'"):
            checkpoint.load(path, "ppo")


def test_a_missing_past_self_is_named(tmp_path):
    run(tmp_path, until=4)
    for file in (tmp_path / "pool").glob("*.safetensors"):
        file.unlink()
    with pytest.raises(GuandanError, match=r"pool.*cannot be read"):
        Run(learner(tmp_path), True, said.append)


def test_when_the_disk_is_full_the_run_says_so_and_older_checkpoints_stay(tmp_path, monkeypatch):
    made = run(tmp_path, until=2)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("checkpoint-*/*")}

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(weights, "save", full)
    said.clear()
    training = Run(made, True, said.append)
    training.save()
    assert "No space left on device" in said[-1]
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("checkpoint-*/*")} == before
    assert not list(tmp_path.glob(".checkpoint*"))
    monkeypatch.undo()
    assert run(tmp_path, resume=True, until=3).updates == 3


def test_a_run_does_not_write_over_another(tmp_path):
    run(tmp_path, until=1)
    with pytest.raises(GuandanError, match="holds a run already; --resume"):
        Run(learner(tmp_path), False, said.append)


def test_a_loss_that_is_no_number_stops_the_run_and_leaves_the_checkpoint(tmp_path):
    run(tmp_path, until=3)
    kept = checkpoint.saved(tmp_path)[-1]
    made = learner(tmp_path)
    training = Run(made, True, said.append)
    before = {name: tensor.clone() for name, tensor in made.policy.state_dict().items()}
    collect = made.play.collect

    def spoilt(*args: object, **options: object) -> Experience:
        experience = collect(*args, **options)
        experience.acted.log_probability[:] = np.nan
        return experience

    made.play.collect = spoilt
    with pytest.raises(LossError, match=r"is nan, .*the last checkpoint is as it was"):
        training.train(lambda at, figures: None)
    assert all(torch.equal(before[name], t) for name, t in made.policy.state_dict().items())
    batch = weights.load_tensors(tmp_path / "failed-batch.safetensors")
    assert len(batch["rows"]) == len(batch["scores"]) > len(batch["observation"])
    assert checkpoint.saved(tmp_path)[-1] == kept
    assert run(tmp_path, resume=True, until=4).updates == 4
