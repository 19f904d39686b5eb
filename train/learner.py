"""What all learners share: tables, a network, past selves, counters, and how they are saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from agents import make
from agents.networks import CandidateNetwork
from agents.policy_net import load
from agents.weights import WeightsError, fill, save_tensors
from guandan_env.decisions import Agent, Decisions
from guandan_env.errors import GuandanError, StateError
from guandan_env.rules import RuleSet
from guandan_env.state import State
from train import pool
from train.checkpoint import Checkpoint
from train.config import ConfigError, TrainConfig
from train.pool import Pool
from train.rewards import deal_reward
from train.rollout import Acted, Experience, Floats, Opponent, SelfPlay, Views

MAX_GRADIENT = 0.5  # norm of a group's gradient


class LossError(GuandanError):
    """A loss is no number any more; the message says where the batch is."""


@dataclass(frozen=True)
class Orders:
    """What a batch is to be played by in another process.

    updates, moves, seconds: how far the run is then. member: who of the pool plays, None without
    one. networks: of those that play, by name the arrays of their state, which they go on using.
    """

    updates: int
    moves: int
    seconds: float
    member: int | None
    networks: Mapping[str, Mapping[str, NDArray[Any]]]


class Learner:
    """A network that learns from play; subclasses say how, in `learn`.

    Everything random of update u follows from (seed, u) and the tables, so a learner restored from
    a checkpoint goes on as if it had never stopped. Attributes: `config`; `folder`, of the run;
    `policy`; `player`, the network that is evaluated and kept, the policy unless a subclass says
    another; `critic`, for training only; `play`; `pool`, None unless it is among the opponents;
    `updates`, `moves`, `forced`, `decisions`, `deals`, `seconds`: what has been done so far.
    """

    kind: ClassVar[str] = ""
    STRENGTHS: ClassVar[bool] = False  # whether views have `strengths`
    COUNTERS: ClassVar[tuple[str, ...]] = ("updates", "moves", "forced", "decisions", "deals")
    critic: nn.Module

    def __init__(self, config: TrainConfig, folder: Path) -> None:
        self.config, self.folder = config, folder
        torch.manual_seed(config.seed)
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.half = self.device.type == "cuda" or half_is_fast()
        self.policy = self.player = CandidateNetwork(config.network).to(self.device)
        if config.start:
            begun, _ = load(config.start, self.kind)
            if begun.config != config.network:
                sizes = ", ".join(f"{k}={v}" for k, v in asdict(begun.config).items())
                raise ConfigError(f"the network of start {config.start!r} has {sizes}; set these")
            fill(self.policy, begun.state_dict(), config.start)
        self.pool: Pool | None = None
        opponents = [
            Opponent(name, self._opponent(name), round(share * config.tables))
            for name, share in config.opponents.items()
        ]
        equity = Path(config.equity) if config.equity else None
        rules = RuleSet.preset(config.rules)
        self.play = SelfPlay(
            config.tables,
            config.seed,
            deal_reward(config.reward, config.tables, rules, equity),
            rules,
            opponents,
            strengths=self.STRENGTHS,
        )
        self.teacher = make(config.bc) if config.bc else None
        self.updates = self.moves = self.forced = self.decisions = self.deals = 0
        self.seconds = 0.0

    def _opponent(self, name: str) -> Agent:
        if name != pool.NAME:
            return make(name)
        self.pool = Pool(self.folder / "pool", self.config.pool_size, self.half)
        return self.pool

    # ------------------------------------------------------------------ playing

    def act(self, decisions: Decisions, views: Views) -> Acted:
        """Choose at n decisions; see `rollout.Actor`."""
        raise NotImplementedError

    def values(self, views: Views) -> Floats:
        """What n positions are worth; see `rollout.Actor`."""
        raise NotImplementedError

    def players(self) -> dict[str, nn.Module]:
        """The networks that `act` and `values` ask, by name."""
        return {"policy": self.policy}

    def play_on(self) -> Experience:
        """Play some steps at all tables."""
        return self.play.collect(
            self,
            self.config.steps,
            teacher=self.teacher if self.imitates else None,
            taught=self.config.bc_taught,
        )

    def orders(self, ahead: int = 0) -> Orders:
        """What the next batch, or one `ahead` of it, is to be played by; refreshes the pool."""
        self.refresh_pool(ahead)
        return Orders(
            self.updates + ahead,
            self._moves(ahead),
            self.seconds,
            None if self.pool is None else self.pool.chosen,
            {
                name: {key: t.detach().cpu().numpy() for key, t in module.state_dict().items()}
                for name, module in self.players().items()
            },
        )

    def obey(self, orders: Orders) -> Experience:
        """Play as the learner does that gave the orders, which has the same settings."""
        self.updates, self.moves, self.seconds = orders.updates, orders.moves, orders.seconds
        for name, module in self.players().items():
            arrays = orders.networks[name]
            module.load_state_dict({key: torch.from_numpy(a) for key, a in arrays.items()})
        if self.pool is not None and orders.member is not None:
            self.pool.choose(orders.member)
        return self.play_on()

    # ------------------------------------------------------------------ learning

    def update(self) -> dict[str, float]:
        """Play in this process and learn; what there is to tell of it, by TensorBoard's names."""
        self.refresh_pool()
        return self.learn_from(self.play_on())

    def learn_from(self, experience: Experience) -> dict[str, float]:
        """Learn from a batch and count it; what there is to tell, by TensorBoard's names."""
        rates = self.rates()
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
        told = self.learn(experience)
        self.count(experience)
        paid = experience.reward[experience.ended]
        return {
            **told,
            "charts/learning_rate": rates[0],
            "charts/deal_reward": float(np.abs(paid).mean()) if paid.size else 0.0,
            "charts/forced_share": experience.forced / experience.moves,
            "charts/candidates": len(experience.views.inputs.rows) / len(experience),
        }

    @cached_property
    def optimizer(self) -> torch.optim.AdamW:
        """Of two groups: the policy's parameters and the critic's.

        Made when it is asked for: that takes torch seconds, and a worker learns nothing.
        """
        groups = [{"params": module.parameters()} for module in (self.policy, self.critic)]
        return torch.optim.AdamW(groups, eps=1e-5, weight_decay=0.0)

    def rates(self) -> tuple[float, float]:
        """The learning rates of policy and critic in this update."""
        raise NotImplementedError

    def learn(self, experience: Experience) -> dict[str, float]:
        """Change the networks by what was played; what there is to tell of it."""
        raise NotImplementedError

    @property
    def done(self) -> float:
        """The part of the run that is over, 0 … 1."""
        config = self.config
        by_time = self.seconds / 60 / config.minutes if config.minutes else 0.0
        return min(1.0, max(self.moves / config.moves, by_time))

    @property
    def imitates(self) -> bool:
        """Whether the learner still learns by imitation."""
        return self._imitates(0)

    @property
    def looks_ahead(self) -> bool:
        """Whether the batch after the next one may be played before the next one is learned from.

        Not where the run ends before it, and not where imitation does: what plays then changes.
        """
        return self._moves(1) < self.config.moves and self._imitates(1) == self.imitates

    def _imitates(self, ahead: int) -> bool:
        return self.teacher is not None and self._moves(ahead) < self.config.bc_moves

    def _moves(self, ahead: int) -> int:
        """The moves before a batch `ahead` of the next one."""
        return self.moves + ahead * self.config.tables * self.config.steps

    def rng(self, purpose: int = 0, ahead: int = 0) -> np.random.Generator:
        """A generator of this update, or of one `ahead` of it."""
        return np.random.default_rng([self.config.seed, self.updates + ahead, purpose])

    def scheduled(self, name: str) -> float:
        """Setting `name` on its way to `name_end`, along the run after imitation."""
        config: Any = self.config
        begun = min(config.bc_moves / config.moves, 1.0) if self.teacher is not None else 0.0
        way = max(0.0, self.done - begun) / max(1e-9, 1 - begun)
        start, end = getattr(config, name), getattr(config, name + "_end")
        return start + (end - start) * way

    def refresh_pool(self, ahead: int = 0) -> None:
        """Keep the present self if it is time, and draw who of the past ones plays next.

        ahead: do what is due before a batch so many after the next one.
        """
        if self.pool is None:
            return
        imitates, updates = self._imitates(ahead), self.updates + ahead
        if self.teacher is not None and not imitates and self.pool.members == [0]:
            self.pool.members = []  # what was there before imitation is no opponent
        due = updates % self.config.pool_every == 0 and not imitates
        if not self.pool.members or due:
            self.pool.add(updates, self.player)
        self.pool.shuffle(self.rng(1, ahead))

    def count(self, experience: Experience) -> None:
        """Note what was played."""
        self.updates += 1
        self.moves += experience.moves
        self.forced += experience.forced
        self.decisions += len(experience)
        self.deals += int(experience.ended.sum())

    def autocast(self) -> torch.autocast:
        """Half precision where it is fast."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.half)

    def step(
        self, optimizer: torch.optim.Optimizer, loss: Tensor, batch: Mapping[str, Tensor]
    ) -> None:
        """Go one step down the gradient of a loss, each of the optimiser's groups clipped.

        If loss or gradient are not finite, nothing is changed but the batch saved for inspection,
        and `LossError` raised.
        """
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norms = [
            nn.utils.clip_grad_norm_(group["params"], MAX_GRADIENT)
            for group in optimizer.param_groups
        ]
        if not torch.isfinite(torch.stack([loss.detach(), *norms])).all():
            path = self.folder / "failed-batch.safetensors"
            save_tensors(path, {name: tensor.float() for name, tensor in batch.items()})
            raise LossError(
                f"the loss of update {self.updates} is {loss.item()}, its gradient "
                f"{', '.join(str(norm.item()) for norm in norms)}; its batch is in {path}, and "
                "the last checkpoint is as it was"
            )
        optimizer.step()

    # ------------------------------------------------------------------ saving

    def modules(self) -> dict[str, nn.Module]:
        """Networks beside the player, by name."""
        return {}

    def optimizers(self) -> dict[str, torch.optim.Optimizer]:
        """Optimisers, by name."""
        return {"adam": self.optimizer}

    def checkpoint(self) -> Checkpoint:
        """All that is needed to go on."""
        tensors = {"tables": torch.frombuffer(bytearray(self.play.engine.state.to_bytes()),
                                              dtype=torch.uint8)}  # fmt: skip
        for name, module in self.modules().items():
            tensors |= {f"{name}.{key}": value for key, value in module.state_dict().items()}
        for name, optimizer in self.optimizers().items():
            tensors |= _of_optimizer(name, optimizer)
        counters: dict[str, Any] = {name: getattr(self, name) for name in self.COUNTERS}
        counters["seconds"] = round(self.seconds, 3)
        counters["pool"] = self.pool.members if self.pool is not None else []
        return Checkpoint(self.kind, self.player, tensors, counters, self.config.as_dict())

    def restore(self, checkpoint: Checkpoint, where: str) -> None:
        """Go on from a checkpoint; `WeightsError` or `StateError` if it does not fit."""
        fill(self.player, checkpoint.policy.state_dict(), where)
        tensors = dict(checkpoint.tensors)
        try:
            state = State.from_bytes(tensors.pop("tables").numpy().tobytes())
            for name, module in self.modules().items():
                fill(module, _taken(tensors, name + "."), f"{where}: {name}")
            for name, optimizer in self.optimizers().items():
                _to_optimizer(optimizer, _taken(tensors, f"optimizer.{name}."), where)
            for name in self.COUNTERS:
                setattr(self, name, int(checkpoint.counters[name]))
            self.seconds = float(checkpoint.counters["seconds"])
            members = [int(number) for number in checkpoint.counters["pool"]]
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, GuandanError):
                raise
            raise WeightsError(f"{where} lacks {error}, or it is damaged") from error
        if len(state) != self.config.tables:
            raise ConfigError(f"{where} has {len(state)} tables, the settings {self.config.tables}")
        if (state.table != np.arange(len(state))).any():
            raise StateError(f"{where}: its tables are not those from 0 to {len(state) - 1}")
        self.play.restore(state)
        if self.pool is not None:
            self.pool.restore(members)


def half_is_fast() -> bool:
    """Whether this processor multiplies bfloat16 matrices faster than float32 ones."""
    known = getattr(torch.cpu, "_is_avx512_bf16_supported", None)
    return bool(known is not None and known())


def _of_optimizer(name: str, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    state = optimizer.state_dict()["state"]
    return {
        f"optimizer.{name}.{index}.{key}": value
        for index, values in state.items()
        for key, value in values.items()
    }


def _to_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor], where: str) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        number, _, key = name.partition(".")
        state.setdefault(int(number), {})[key] = tensor
    whole = optimizer.state_dict()
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    for index, values in state.items():
        for key, tensor in values.items():
            if index >= len(parameters) or (
                key != "step" and tensor.shape != parameters[index].shape
            ):
                raise WeightsError(f"{where}: the optimiser's {key} {index} fits no parameter")
    optimizer.load_state_dict({**whole, "state": state})


def _taken(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    names = [name for name in tensors if name.startswith(prefix)]
    return {name.removeprefix(prefix): tensors.pop(name) for name in names}
