"""Counter-based random numbers: pure functions of (seed, table, deal, …), on arrays.

A key is hashed from what a number belongs to; number i of a key is a hash of key and i. Nothing is
drawn from a stream, so no result depends on batch size, order or what other tables do. The hash is
the finaliser of splitmix64 (Steele, Lea and Flood, 2014).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

U64 = NDArray[np.uint64]
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_M1 = np.uint64(0xBF58476D1CE4E5B9)
_M2 = np.uint64(0x94D049BB133111EB)

# What a number is for; part of its key, so that no two uses share numbers.
DECK, TURNED, LEVEL, PREVIOUS, DECISION, SEAT = range(6)


def mix(x: U64) -> U64:
    """A bijective scramble of 64-bit words."""
    x = x.copy()
    x ^= x >> 30
    x *= _M1
    x ^= x >> 27
    x *= _M2
    x ^= x >> 31
    return x


def key(*parts: NDArray[np.integer] | int, root: U64 | None = None) -> U64:
    """Hash of integers or integer arrays (broadcast together), in order.

    With `root`, itself such a hash, the hash of its parts and then these.
    """
    result = np.zeros(1, dtype=np.uint64) if root is None else root
    for part in parts:
        word = np.atleast_1d(np.asarray(part)).astype(np.uint64)
        result = mix((result + _GOLDEN) ^ mix(word + _GOLDEN))
    return result


def numbers(keys: U64, count: int) -> U64:
    """`(n, count)` random 64-bit words for keys `(n,)`."""
    return mix(keys[:, None] + np.arange(1, count + 1, dtype=np.uint64) * _GOLDEN)


def below(keys: U64, bound: NDArray[np.integer] | int) -> NDArray[np.int64]:
    """A number `0 … bound-1` for each key `(n,)`; bounds up to 2**31, bias under 2**-32."""
    high = mix(keys + _GOLDEN) >> 32
    return ((high * np.asarray(bound).astype(np.uint64)) >> 32).astype(np.int64)
