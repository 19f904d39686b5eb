"""Trained networks as ONNX: written for any program, and read back as the agent `onnx:PATH`.

The model scores the legal rows of n decisions, m together, ragged:

    observation (n, 902) int8, rows (m,) int64, features (m, 32) float16, of (m,) int64
    → scores (m,) float32

`agents.candidates.inputs_of` makes the inputs; the file's own metadata describe them.
"""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from agents.candidates import CANDIDATE_FEATURES, NUM_FEATURES, Inputs
from agents.networks import CandidateNetwork, Tensors
from agents.registry import AgentError
from agents.scored import ScoringPlayer
from agents.weights import VERSIONS, WeightsError
from guandan_env import observation
from guandan_env.aside import written_aside
from guandan_env.errors import one_line, shown

KEY = "guandan"  # of the metadata
INPUTS = {
    "observation": f"(n, {observation.SIZE}) int8: what the seat to act sees",
    "rows": "(m,) int64: the legal rows of the action table, by decision and ascending",
    "features": f"(m, {NUM_FEATURES}) float16: features of each play in its position",
    "of": "(m,) int64: the decision of each row, 0 … n-1",
}
OUTPUTS = {"scores": "(m,) float32: the highest of a decision's rows is what is played"}


class _Flat(nn.Module):
    """The network with its inputs one by one."""

    def __init__(self, network: CandidateNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, observation: Tensor, rows: Tensor, features: Tensor, of: Tensor) -> Tensor:
        return self.network(Tensors(observation, rows, features, of))


def export(network: CandidateNetwork, path: Path, about: Mapping[str, Any]) -> dict[str, Any]:
    """Write a network to a file, whole or not at all; returns the description that it holds.

    `about` is free: who made it, how. Raises `WeightsError` where the disk does not take it.
    """
    import onnx

    n, m = 3, 7
    example = (
        torch.zeros(n, observation.SIZE, dtype=torch.int8),
        torch.arange(m),
        torch.zeros(m, NUM_FEATURES, dtype=torch.float16),
        torch.tensor([0, 0, 1, 1, 1, 2, 2]),
    )
    decisions, candidates = torch.export.Dim("n"), torch.export.Dim("m")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of PyTorch about itself
        program = torch.onnx.export(
            _Flat(network).eval(),
            example,
            input_names=list(INPUTS),
            output_names=list(OUTPUTS),
            dynamic_shapes=({0: decisions}, {0: candidates}, {0: candidates}, {0: candidates}),
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    model = program.model_proto
    described = {
        **VERSIONS,
        "inputs": INPUTS,
        "outputs": OUTPUTS,
        "observation_blocks": {
            block.name: [block.slice.start, block.slice.stop] for block in observation.BLOCKS
        },
        "features": CANDIDATE_FEATURES,
        "about": dict(about),
    }
    onnx.helper.set_model_props(model, {KEY: json.dumps(described, ensure_ascii=False)})
    buffer = io.BytesIO()
    onnx.save_model(model, buffer)
    try:
        with written_aside(path) as file:
            file.write(buffer.getvalue())
    except OSError as error:
        raise WeightsError(f"{path} cannot be written: {error.strerror or error}") from error
    return described


class OnnxPlayer(ScoringPlayer):
    """Plays by an exported network, without PyTorch's kernels.

    path: a file that `guandan export` has written. threads: of the runtime; 0 for one a core.
    """

    def __init__(self, path: str, threads: int = 1) -> None:
        if type(threads) is not int or not 0 <= threads <= 256:
            raise AgentError(
                f"threads is {shown(threads)}; a whole number from 0 to 256 is allowed"
            )
        super().__init__(f"onnx:{path}")
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 4  # what is wrong is said below
        try:
            model = Path(path).read_bytes()
            self._session = onnxruntime.InferenceSession(
                model, options, providers=["CPUExecutionProvider"]
            )
        except OSError as error:
            raise WeightsError(f"{path} cannot be read: {error.strerror or error}") from error
        except Exception as error:  # the runtime has a class of its own for each kind of damage
            raise WeightsError(f"{path} is no ONNX model: {one_line(error)}") from error
        self.about = self._checked(path)
        self.version = f"{self.about.get('kind', 'onnx')}-{self.about.get('moves', 0)}"

    def _checked(self, path: str) -> dict[str, Any]:
        """What is said about the network; `WeightsError` for one that is not of this version."""
        text = self._session.get_modelmeta().custom_metadata_map.get(KEY, "{}")
        try:
            described = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise WeightsError(f"{path}: its description is no JSON: {one_line(error)}") from error
        described = described if isinstance(described, dict) else {}
        for name, version in VERSIONS.items():
            if described.get(name) != version:
                raise WeightsError(
                    f"{path} was made for {name} {shown(described.get(name))}; this version has "
                    f"{version!r}"
                )
        named = {part.name for part in self._session.get_inputs()}
        if named != set(INPUTS) or len(self._session.get_outputs()) != 1:
            raise WeightsError(
                f"{path} has the inputs {shown(sorted(named))}; {', '.join(INPUTS)} are allowed"
            )
        about = described.get("about")
        return about if isinstance(about, dict) else {}

    def scores(self, inputs: Inputs) -> NDArray[np.float32]:
        """The score of each candidate, `(m,)`."""
        given = {
            "observation": inputs.observation,
            "rows": inputs.rows.astype(np.int64),
            "features": inputs.features,
            "of": inputs.of.astype(np.int64),
        }
        scores: NDArray[np.float32] = self._session.run(None, given)[0]
        return scores
