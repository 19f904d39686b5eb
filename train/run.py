"""A training run: rounds of a learner, evaluations, logs and checkpoints in one folder."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import torch

from agents import make
from agents.policy_net import NetworkPlayer
from agents.weights import WeightsError, load_json, load_network, save_network
from guandan_env.decisions import Agent
from guandan_env.errors import GuandanError, StateError
from guandan_env.rules import RuleSet
from train import checkpoint, workers
from train.evaluation import Score, score
from train.learner import Learner
from train.log import Log

LAST_BEST = "best"
Told = Callable[[Learner, dict[str, float]], None]
Scored = Callable[[dict[str, Score]], None]


def settings_of(folder: Path, kind: str) -> dict[str, Any]:
    """The settings of a learner's run in a folder, by its last sound checkpoint; none without one.

    `GuandanError` where it is the run of another learner.
    """
    for path in reversed(checkpoint.saved(folder)):
        with suppress(WeightsError):
            told = load_json(path / "training.json")
            if told.get("kind", kind) != kind:
                raise GuandanError(f"{folder} is a run of {told['kind']}, not of {kind}")
            config = told.get("config")
            return config if isinstance(config, dict) else {}
    return {}


class Run:
    """Trains a learner in its folder until it is done.

    resume: go on from the last checkpoint that can be read. said: is told in words what happens.
    scored: is given the scores of each evaluation, by opponent; without it they are said.
    """

    def __init__(
        self,
        learner: Learner,
        resume: bool,
        said: Callable[[str], None],
        scored: Scored | None = None,
    ) -> None:
        self.learner, self.said = learner, said
        self.scored = scored or self._say
        self._stopped = False
        config = learner.config
        workers.check(config)
        self.folder = learner.folder
        self._best = self.folder / LAST_BEST / "policy.safetensors"
        # What is wrong with a name is said before anything is trained.
        self._others = {name: make(name) for name in config.eval_against}
        torch.set_num_threads(config.threads or torch.get_num_threads())
        if resume:
            self._resume()
        else:
            self._begin()

    def _begin(self) -> None:
        if checkpoint.saved(self.folder):
            raise GuandanError(
                f"{self.folder} holds a run already; --resume goes on with it, --out takes another"
            )
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            taken = any(self.folder.iterdir())
        except OSError as error:
            where = f"{self.folder} is no folder to write to"
            raise GuandanError(f"{where}: {error.strerror}") from error
        if taken:
            raise GuandanError(f"{self.folder} is not empty; --out takes another folder")

    def _resume(self) -> None:
        reasons = []
        for path in reversed(checkpoint.saved(self.folder)):
            try:
                self.learner.restore(checkpoint.load(path, self.learner.kind), str(path))
            except (WeightsError, StateError) as error:
                reasons.append(str(error))
                self.said(f"passed over: {error}")
                continue
            self.said(f"going on from {path.name}: {self.learner.moves:,} moves")
            return
        why = f": {'; '.join(reasons)}" if reasons else ""
        raise GuandanError(f"{self.folder} holds no checkpoint to go on from{why}")

    def stop(self) -> None:
        """End the run after the present update."""
        self._stopped = True

    def train(self, told: Told) -> bool:
        """Train to the end, or until `stop`; whether it is the end.

        `told` is shown each update's figures.
        """
        learner = self.learner
        saved = time.monotonic()
        with ExitStack() as opened:
            log = opened.enter_context(Log(self.folder, learner))
            update = learner.update
            if learner.config.workers:
                update = opened.enter_context(workers.Workers(learner)).update
            while learner.done < 1 and not self._stopped:
                begun, moves = time.monotonic(), learner.moves
                figures = update()
                took = time.monotonic() - begun
                learner.seconds += took
                figures["charts/SPS"] = (learner.moves - moves) / took
                log.figures(figures)
                told(learner, figures)
                if learner.updates % learner.config.eval_every == 0 or learner.done >= 1:
                    self._evaluate(log)
                if time.monotonic() - saved >= 60 * learner.config.checkpoint_minutes:
                    self.save()
                    saved = time.monotonic()
            self.save()
        return learner.done >= 1

    def save(self) -> None:
        """Write a checkpoint; where the disk does not take it, say so and go on."""
        learner = self.learner
        try:
            checkpoint.save(self.folder, learner.updates, learner.checkpoint())
        except WeightsError as error:
            self.said(f"{error}; the run goes on, the older checkpoint stays")
            return
        if learner.pool is not None:
            kept = [checkpoint.pool_of(path) for path in checkpoint.saved(self.folder)]
            learner.pool.drop_others(set().union(*kept))

    def _evaluate(self, log: Log) -> None:
        """Play against the agents of the settings and the last best, and keep the better one."""
        learner = self.learner
        begun = time.monotonic()
        scores = {name: self.score(name) for name in self._others}
        if self._best.is_file():
            network, _ = load_network(self._best)
            scores[LAST_BEST] = self._against(NetworkPlayer(network, LAST_BEST, half=learner.half))
        for name, found in scores.items():
            log.score(name, found)
        if LAST_BEST not in scores or scores[LAST_BEST].won >= 0.5:
            self._best.parent.mkdir(exist_ok=True)
            counters = {name: getattr(learner, name) for name in learner.COUNTERS}
            about = {"kind": learner.kind, **counters, "config": learner.config.as_dict()}
            save_network(self._best, learner.player, about)
        log.deals(self._player())
        self.scored(scores)
        log.evaluation_seconds(time.monotonic() - begun)

    def score(self, name: str) -> Score:
        """How good the learner is now against one of the agents of its settings."""
        return self._against(self._others[name])

    def _against(self, other: Agent) -> Score:
        config = self.learner.config
        rules = RuleSet.preset(config.rules)
        return score(self._player(), other, config.eval_deals, rules, self.learner.updates)

    def _player(self) -> NetworkPlayer:
        learner = self.learner
        return NetworkPlayer(learner.player, learner.kind, half=learner.half)

    def _say(self, scores: dict[str, Score]) -> None:
        learner = self.learner
        words = ", ".join(
            f"{name} {s.won:.1%} ({s.low:.1%} … {s.high:.1%})" for name, s in scores.items()
        )
        self.said(f"{learner.moves:,} moves, {learner.seconds / 3600:.2f} h, deals won: {words}")
