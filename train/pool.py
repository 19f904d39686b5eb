"""Past selves: networks kept from time to time, to be played against."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from agents.networks import CandidateNetwork
from agents.policy_net import NetworkPlayer
from agents.weights import load_network, save_network
from guandan_env.decisions import Decisions

NAME = "pool"


class Pool:
    """An agent that plays like one of a few past selves, another one after each `shuffle`.

    They lie as files in `folder`, and stay there as long as one of them is among the last `size`.
    Attributes: `members`, their numbers; `chosen`, which of them plays, None before `shuffle`.
    """

    name = NAME

    def __init__(self, folder: Path, size: int, half: bool = True) -> None:
        self.folder, self.size, self.half = folder, size, half
        self.members: list[int] = []
        self._players: dict[int, NetworkPlayer] = {}
        self.chosen: int | None = None

    def add(self, number: int, network: CandidateNetwork) -> None:
        """Keep a copy of a network under a number."""
        self.folder.mkdir(parents=True, exist_ok=True)
        save_network(self._file(number), network, {"update": number})
        self.members = [*(m for m in self.members if m != number), number][-self.size :]
        self._load()

    def restore(self, members: list[int]) -> None:
        """Have these members again; `WeightsError` if a file is missing or damaged."""
        self.members = members[-self.size :]
        self._load()

    def drop_others(self, needed: set[int]) -> None:
        """Remove the files of those that are neither members nor needed."""
        for file in self.folder.glob("*.safetensors"):
            if file.stem.isdigit() and int(file.stem) not in needed | set(self.members):
                file.unlink(missing_ok=True)
                file.with_suffix(".json").unlink(missing_ok=True)

    def shuffle(self, rng: np.random.Generator) -> None:
        """Draw the member that plays from now on."""
        self.choose(self.members[rng.integers(len(self.members))])

    def choose(self, number: int) -> None:
        """Have a member play from now on; `WeightsError` if its file is missing or damaged."""
        if number not in self._players:
            self.restore([number])
        self.chosen = number

    def reset(self) -> None:
        """Nothing is remembered."""

    def act(self, decisions: Decisions) -> np.ndarray:
        """What the member that was drawn would play."""
        assert self.chosen is not None, "shuffle() comes first"
        return self._players[self.chosen].act(decisions)

    def _load(self) -> None:
        for number in self.members:
            if number not in self._players:
                network, _ = load_network(self._file(number))
                self._players[number] = NetworkPlayer(
                    network, NAME, temperature=1.0, half=self.half
                )
        self._players = {number: self._players[number] for number in self.members}

    def _file(self, number: int) -> Path:
        return self.folder / f"{number:09}.safetensors"
