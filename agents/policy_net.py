"""`ppo`, `dqn`, `dmc`: play what a trained network likes best."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from agents.candidates import Inputs, inputs_of
from agents.networks import CandidateNetwork, Tensors, log_softmax
from agents.registry import AgentError
from agents.scored import ScoringPlayer
from agents.thoughts import Rated
from agents.weights import WeightsError, load_network
from guandan_env.decisions import Decisions
from guandan_env.errors import shown

PRETRAINED = "pretrained"
_SHIPPED = Path(__file__).parent / "pretrained"


def find(target: str, kind: str) -> Path:
    """The file of weights that the target of a spec means.

    `pretrained` is the one that is shipped for `kind`; else a file `….safetensors`, a folder with
    `policy.safetensors` (a checkpoint), or the folder of a run: its best policy, or, without one,
    its last.
    """
    if target == PRETRAINED:
        path = _SHIPPED / f"{kind}.safetensors"
        if not path.is_file():
            raise WeightsError(f"no {kind} agent is shipped with this version")
        return path
    path = Path(target)
    if path.is_file() or not path.is_dir():
        return path
    checkpoints = sorted(path.glob("checkpoint-*"))
    for folder in (path, path / "best", *reversed(checkpoints)):
        if (folder / "policy.safetensors").is_file():
            return folder / "policy.safetensors"
    raise WeightsError(f"{path} holds no policy.safetensors, no best policy and no checkpoint")


def load(target: str, kind: str) -> tuple[CandidateNetwork, dict[str, Any]]:
    """The network that the target of a spec means, see `find`, and what is said about it.

    `WeightsError` where it says that another learner made it: its scores mean something else.
    """
    path = find(target, kind)
    if not path.is_file():
        raise WeightsError(
            f"{target} is no file of weights and no folder of a run or a checkpoint; "
            f"{kind}:{PRETRAINED} is the one that is shipped"
        )
    network, about = load_network(path)
    made_by = about.get("kind", kind)
    if made_by != kind:
        raise WeightsError(
            f"{path} was made by {shown(made_by)}, not by {kind}: the learner stands before the "
            "colon of an agent"
        )
    return network, about


class NetworkPlayer(ScoringPlayer):
    """Plays by the scores of a network.

    temperature: 0 for the best candidate, else candidates are drawn from the softmax of the scores
    divided by it. half: compute in bfloat16, several times faster on processors that have it.
    """

    def __init__(
        self, network: CandidateNetwork, name: str, *, temperature: float = 0.0, half: bool = False
    ) -> None:
        super().__init__(name, temperature)
        self.network, self.half = network, half

    @torch.inference_mode()
    def scores(self, inputs: Inputs) -> NDArray[np.float32]:
        """The score of each candidate, `(m,)`."""
        with torch.autocast("cpu", torch.bfloat16, enabled=self.half):
            scores: NDArray[np.float32] = self.network(Tensors.of_inputs(inputs)).numpy()
        return scores


class TrainedPlayer(NetworkPlayer):
    """What `guandan train` has trained.

    path: `pretrained`, a file of weights, or the folder of a checkpoint or a run. sample: draw
    from the softmax of the scores divided by temperature instead of playing the best.
    """

    kind: ClassVar[str]
    """The name of the learner."""

    def __init__(self, path: str, sample: bool = False, temperature: float = 1.0) -> None:
        if not isinstance(sample, bool):
            raise AgentError(f"sample is {shown(sample)}; true and false are allowed")
        if type(temperature) not in (int, float) or not 0.01 <= temperature <= 100:
            raise AgentError(
                f"temperature is {shown(temperature)}; a number from 0.01 to 100 is allowed"
            )
        network, about = load(str(path), self.kind)
        super().__init__(network, f"{self.kind}:{path}", temperature=temperature if sample else 0.0)
        self.about: dict[str, Any] = {"kind": self.kind, **about}
        self.version = f"{self.kind}-{about.get('moves', 0)}"

    def scores(self, inputs: Inputs) -> NDArray[np.float32]:
        """The score of each candidate, `(m,)`."""
        # One thread: networks are small, more threads wait for each other where others compute,
        # and whoever has the cores plays on several processes.
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            return super().scores(inputs)
        finally:
            torch.set_num_threads(threads)


class PPO(TrainedPlayer):
    """A policy; temperature above 1 flattens it."""

    kind = "ppo"

    def rated(self, decisions: Decisions) -> Rated:
        """The probabilities of all legal rows, see `thoughts.Thinker`."""
        inputs = inputs_of(decisions)
        scores = torch.from_numpy(self.scores(inputs))
        log_p = log_softmax(scores, torch.from_numpy(inputs.of), len(inputs))
        return Rated(inputs.of, inputs.rows, log_p.exp().numpy())


class DQN(TrainedPlayer):
    """Values of actions by bootstrapping, in levels: a sensible temperature is 0.1."""

    kind = "dqn"


class DMC(TrainedPlayer):
    """Values of actions by the outcomes of deals, in levels: a sensible temperature is 0.1."""

    kind = "dmc"
