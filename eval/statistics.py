"""What paired results say: means with intervals, and whether a difference is more than luck."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit  # Student's t; scipy.stats takes half a second to import

from guandan_env.errors import GuandanError


@dataclass(frozen=True)
class Estimate:
    """A mean with its confidence interval."""

    mean: float
    low: float
    high: float


def paired_mean(values: NDArray[np.floating], confidence: float = 0.95) -> Estimate:
    """Mean of one value a pair, `(n,)` with n ≥ 2, with Student's t interval."""
    n = len(values)
    if n < 2:
        raise GuandanError(f"an interval needs two deals at least, there are {n}")
    mean = float(np.mean(values))
    error = float(np.std(values, ddof=1)) / n**0.5
    reach = float(stdtrit(n - 1, 0.5 + confidence / 2)) * error
    return Estimate(mean, mean - reach, mean + reach)


def paired_rate(values: NDArray[np.floating], confidence: float = 0.95) -> Estimate:
    """Mean of one rate between 0 and 1 a pair, `(n,)` with n ≥ 2, with Wilson's interval.

    The interval is that of so many independent trials as vary as much as these pairs do. Near 0
    and 1, where a few pairs decide and Student's is too short, it still covers, and it never
    leaves 0 … 1. Where all pairs are 0, or all 1, it is that of n trials; pairs that are all alike
    in between, as of an agent against itself, leave nothing uncertain.
    """
    n = len(values)
    if n < 2:
        raise GuandanError(f"an interval needs two deals at least, there are {n}")
    mean = min(max(float(np.mean(values)), 0.0), 1.0)
    spread, variance = mean * (1 - mean), float(np.var(values, ddof=1))
    if variance == 0 and spread > 0:
        return Estimate(mean, mean, mean)
    trials = n * spread / variance if variance > 0 else n
    z2 = float(stdtrit(n - 1, 0.5 + confidence / 2)) ** 2 / trials
    middle = (mean + z2 / 2) / (1 + z2)
    reach = (z2 * (spread + z2 / 4)) ** 0.5 / (1 + z2)
    return Estimate(mean, max(0.0, middle - reach), min(1.0, middle + reach))


RESAMPLES = 99_999
SMALLEST_P = 1 / (RESAMPLES + 1)


def sign_flip_p(
    values: NDArray[np.floating], generator: np.random.Generator, resamples: int = RESAMPLES
) -> float:
    """Two-sided p-value that the paired differences `(n,)` are as likely up as down.

    The permutation test that flips the sign of every pair at random. Pairs with the same absolute
    difference are flipped together: how many of m go up is binomial. The smallest possible
    p-value is 1 / (resamples + 1).
    """
    sizes, group = np.unique(np.abs(values), return_inverse=True)
    members = np.bincount(group, minlength=len(sizes))
    observed = abs(float(np.sum(values)))
    ups = generator.binomial(members, 0.5, size=(resamples, len(sizes)))
    sums = np.abs((2 * ups - members) @ sizes)
    # Sums of the same differences in another order differ in their last bits.
    extreme = int(np.count_nonzero(sums >= observed - 1e-9 * max(1.0, observed)))
    return (extreme + 1) / (resamples + 1)
