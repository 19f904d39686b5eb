"""Playing in workers: what they play, that a run follows from its settings, and their ends."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from value_helpers import TINY

from guandan_env.errors import GuandanError
from train import checkpoint
from train.commands.train import main
from train.config import from_mapping
from train.dmc import DMC, DMCConfig
from train.dqn import DQN, DQNConfig
from train.learner import Learner
from train.ppo import PPO, PPOConfig
from train.rollout import Experience
from train.run import Run
from train.workers import WorkerError, Workers

SETTINGS = {
    **TINY, "tables": 16, "steps": 25, "opponents": {"pool": 0.3, "greedy": 0.3}, "pool_every": 2,
    "pool_size": 2, "bc": "greedy", "bc_moves": 700, "bc_lr": 0.03, "moves": 4000,
    "eval_every": 1000, "eval_against": [], "eval_deals": 2, "checkpoint_minutes": 0,
}  # fmt: skip
CONFIGS: dict[type[Learner], type] = {PPO: PPOConfig, DMC: DMCConfig, DQN: DQNConfig}
said: list[str] = []


def learner(kind: type[Learner], folder: Path, **changes: object) -> Learner:
    torch.set_num_threads(1)
    settings = next(config for base, config in CONFIGS.items() if issubclass(kind, base))
    return kind(from_mapping(settings, {**SETTINGS, **changes}, "test"), folder)


def second(at: Learner) -> bool:
    """Whether this is the second worker, about to play its third batch."""
    return at.play.engine.state.table[0] == 1 and at.updates == 2


class Raises(DMC):
    """Its second worker fails."""

    def play_on(self) -> Experience:
        if second(self):
            raise RuntimeError("the cards are gone")
        return super().play_on()


class Exits(DQN):
    """Its second worker ends without a word."""

    def play_on(self) -> Experience:
        if second(self):
            os._exit(3)
        return super().play_on()


def alive(pid: int) -> bool:
    """Whether a process is there, and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def children(pid: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(path.parent.name))
    return found


def until(true: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not come to pass in time"
        time.sleep(0.05)


def tensors_of(made: Learner) -> dict[str, torch.Tensor]:
    return {**made.player.state_dict(), **made.checkpoint().tensors}


def different(one: Learner, two: Learner) -> list[str]:
    a, b = tensors_of(one), tensors_of(two)
    assert a.keys() == b.keys()
    return [name for name in a if not torch.equal(a[name], b[name])]


# ------------------------------------------------------------------ what is played and learned


def by_hand(folder: Path, workers: int, updates: int) -> Learner:
    """What a run of so many workers should be, played and learned in this process in turn."""
    made = learner(PPO, folder)
    shares = [np.arange(i, 16, workers) for i in range(workers)]
    actors = [learner(PPO, folder) for _ in shares]
    for actor, share in zip(actors, shares, strict=True):
        actor.play.restore(made.play.engine.state.take(share))
    orders = pickle.dumps(made.orders())
    for _ in range(updates):
        parts = [actor.obey(pickle.loads(orders)) for actor in actors]
        for actor in actors:
            made.play.put(actor.play.engine.state)
        ends = made.moves < 700 <= made.moves + 400  # imitation, with this batch
        if not ends:
            orders = pickle.dumps(made.orders(ahead=1))
        made.learn_from(Experience.join(parts, shares))
        if ends:
            orders = pickle.dumps(made.orders())
    return made


def two_updates(players: Workers) -> None:
    for _ in range(2):
        players.update()


def test_a_run_follows_from_its_settings_with_one_update_of_lag(tmp_path):
    """Imitation, its end, and PPO against past selves: bit-equal to the same done in turn."""
    made = learner(PPO, tmp_path / "a", workers=2)
    with Workers(made) as players:
        figures = [players.update() for _ in range(5)]
        assert made.updates == 5
        assert not made.imitates
        assert made.pool is not None
        assert made.pool.members == [2, 4]
        assert all(0 <= told["charts/waiting"] <= 1 for told in figures)
        assert different(made, by_hand(tmp_path / "b", 2, 5)) == []
        # One that stands still is not waited for longer than is said.
        pids = players.processes
        os.kill(pids[1], signal.SIGSTOP)
        players.timeout = 0.5
        reason = "worker 2 of 2 has said nothing for 0.5 seconds .*worker_timeout"
        with pytest.raises(WorkerError, match=reason):
            two_updates(players)  # the batch that was asked for before may be there
    assert not any(map(alive, pids))


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (Raises, r"worker 2 of 2 failed:\n(?s:.*)play_on(?s:.*)RuntimeError: the cards are gone"),
        (Exits, "worker 2 of 2 ended with exit status 3"),
    ],
)
def test_learners_of_values_play_in_workers_until_one_of_these_fails(tmp_path, kind, reason):
    made = learner(kind, tmp_path, workers=2, steps=70, bc_moves=1000)
    with Workers(made) as players:
        pids = players.processes
        two_updates(players)
        assert made.updates == 2
        assert made.moves == 2 * 16 * 70
        assert made.deals
        assert not made.imitates
        assert (made.play.engine.state.table == np.arange(16)).all()
        before = made.play.engine.state.copy()
        with pytest.raises(WorkerError, match=reason):
            players.update()
        assert made.updates == 2
        assert (made.play.engine.state.history == before.history).all()
    assert not any(map(alive, pids))


def test_more_workers_than_tables_are_refused(tmp_path):
    made = learner(PPO, tmp_path / "run", workers=17)
    with pytest.raises(GuandanError, match="workers is 17; with 16 tables 0 to 16 are allowed"):
        Run(made, False, said.append)
    assert not (tmp_path / "run").exists()


# ------------------------------------------------------------------ runs


def test_a_run_whose_worker_is_killed_stops_and_can_be_resumed_without_any(tmp_path):
    made = learner(PPO, tmp_path / "a", workers=1)
    alone = learner(PPO, tmp_path / "b")
    pids: list[int] = []

    def told(at: Learner, figures: dict[str, float]) -> None:
        if at.updates == 1:
            alone.update()
            assert different(at, alone) == []  # the first batch is that of no workers
            pids.extend(pid for pid in children(os.getpid()) if "spawn_main" in command(pid))
            os.kill(pids[0], signal.SIGINT)  # Ctrl-C is not for it
        elif at.updates == 2:
            alone.update()
            assert "learning.score.weight" in different(at, alone)  # the second is one update late
        elif at.updates == 3:
            os.kill(pids[0], signal.SIGKILL)

    with pytest.raises(WorkerError, match="worker 1 of 1 was killed by SIGKILL"):
        Run(made, False, said.append).train(told)
    assert len(pids) == 1
    assert not alive(pids[0])
    assert made.updates in (3, 4)  # the batch it was asked for may have been there
    assert checkpoint.saved(made.folder)[-1].name == f"checkpoint-{made.updates:09}"
    resumed = learner(PPO, made.folder, moves=2400)
    training = Run(resumed, True, said.append)
    assert different(made, resumed) == []
    assert training.train(lambda at, figures: None)
    assert resumed.updates == 6


def command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")


def test_no_worker_outlives_a_run_that_is_killed(tmp_path):
    settings = {**SETTINGS, "workers": 1, "eval_against": "[]", "bc": '""', "moves": 10**6}
    words = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    code = "import sys; from guandan_env.cli import main; sys.exit(main())"
    run = subprocess.Popen(
        [sys.executable, "-c", code, "train", "ppo", "--out", str(tmp_path), *words],
        stderr=subprocess.DEVNULL,
    )
    until(lambda: len(checkpoint.saved(tmp_path)) > 1)
    players = children(run.pid)
    assert any("spawn_main" in command(pid) for pid in players)
    run.kill()
    run.wait()
    until(lambda: not any(map(alive, players)), 10)
    done = int(checkpoint.saved(tmp_path)[-1].name[-9:])
    more = ["--resume", "--set", "workers=0", "--set", f"moves={400 * (done + 1)}"]
    assert main(["ppo", "--out", str(tmp_path), *more]) == 0
    assert checkpoint.saved(tmp_path)[-1].name == f"checkpoint-{done + 1:09}"
