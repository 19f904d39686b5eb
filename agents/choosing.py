"""Choosing among candidates by their scores: the best, or one drawn from their softmax."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agents.candidates import Inputs
from guandan_env import randomness

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def best(scores: NDArray[np.floating], inputs: Inputs) -> NDArray[np.int64]:
    """The place `(n,)` of the highest score among each decision's candidates, the first of equals.

    scores: `(m,)`, of the candidates of `inputs`.
    """
    top = np.maximum.reduceat(scores, inputs.start)
    hit = np.flatnonzero(scores == top[inputs.of])
    first = hit[np.searchsorted(inputs.of[hit], np.arange(len(inputs)))]
    return first - inputs.start


def drawn(
    scores: NDArray[np.floating], inputs: Inputs, keys: NDArray[np.uint64]
) -> NDArray[np.int64]:
    """The place `(n,)` of a candidate drawn with probability softmax(scores).

    keys: `(n,)`, random keys of the decisions. The row of a candidate and the key of its decision
    make its random number, so that nothing hangs on what else is in the batch.
    """
    words = randomness.mix(keys[inputs.of] + (inputs.rows.astype(np.uint64) + 1) * _GOLDEN)
    uniform = ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
    # The highest of scores with Gumbel noise added is distributed as their softmax.
    return best(scores - np.log(-np.log(uniform)), inputs)
