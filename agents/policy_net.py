"""`ppo`: plays what a trained policy network likes best."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from agents.candidates import inputs_of
from agents.choosing import best, drawn
from agents.networks import CandidateNetwork, Tensors
from guandan_env import legality
from guandan_env.decisions import Decisions


class NetPlayer:
    name = "net"

    def __init__(self, net: CandidateNetwork, temperature: float = 0.0, bf16=True) -> None:
        self.net, self.temperature, self.bf16 = net, temperature, bf16

    def reset(self) -> None:
        """Nothing is remembered."""

    @torch.inference_mode()
    def act(self, decisions: Decisions) -> NDArray[np.int64]:
        chosen = legality.select(decisions.packed, np.zeros(len(decisions), dtype=np.int64))
        free = np.flatnonzero(legality.count(decisions.packed) > 1)
        if free.size:
            d = decisions.take(free)
            x = inputs_of(d)
            with torch.autocast("cpu", torch.bfloat16, enabled=self.bf16):
                scores = self.net(Tensors.of_inputs(x)).numpy()
            if self.temperature:
                place = drawn(scores / self.temperature, x, d.key)
            else:
                place = best(scores, x)
            chosen[free] = x.rows[x.start + place]
        return chosen
