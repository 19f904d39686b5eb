"""Stopping a match as soon as the winner is certain, without fooling oneself by looking often.

A bet against "both are equally good": two gamblers stake part of their capital on every pair of
deals, one on a, one on b. If neither is better, the mean of their capitals is a non-negative
martingale, which ever exceeds 1/alpha with probability alpha at most (Ville, 1939), however often
one looks and whenever one stops. The stakes follow what was seen before (Waudby-Smith and Ramdas,
"Estimating means of bounded random variables by betting", 2024).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ALPHA = 0.05
_MOST = 0.75  # of the largest stake that cannot lead to ruin


def stakes(values: NDArray[np.float64], alpha: float = ALPHA) -> NDArray[np.float64]:
    """The stake on each of n values in [0, 1] of mean 1/2, from those before it; `(n,)` ≥ 0.

    The predictable plug-in of the paper: sqrt(2 log(2/alpha) / (variance · t log(t+1))).
    """
    t = np.arange(1, len(values) + 1)
    mean = (0.5 + np.cumsum(values)) / (t + 1)
    variance = (0.25 + np.cumsum((values - mean) ** 2)) / (t + 1)
    before = np.concatenate(([0.25], variance[:-1]))
    wanted = np.sqrt(2 * np.log(2 / alpha) / (before * t * np.log(t + 1)))
    return np.minimum(wanted, 2 * _MOST)


def capital(values: NDArray[np.floating], alpha: float = ALPHA) -> NDArray[np.float64]:
    """Logarithm of the evidence `(n,)` after each of n pairs that a side is better.

    `values` are rates of a's side between 0 and 1, a pair each; under "equally good" each has
    mean 1/2 given those before it.
    """
    rates: NDArray[np.float64] = np.asarray(values, dtype=np.float64)
    gain = stakes(rates, alpha) * (rates - 0.5)
    on_a, on_b = np.cumsum(np.log1p(gain)), np.cumsum(np.log1p(-gain))
    both: NDArray[np.float64] = np.logaddexp(on_a, on_b) - np.log(2.0)
    return both


def decided_after(values: NDArray[np.floating], alpha: float = ALPHA) -> int | None:
    """After how many pairs the difference is certain at error rate alpha; None if it never is."""
    if not len(values):
        return None
    crossed = capital(values, alpha) >= np.log(1 / alpha)
    return int(np.argmax(crossed)) + 1 if crossed.any() else None
