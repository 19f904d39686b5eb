"""Whose turn it is, by which seats still have cards: tables over sets of seats as four bits."""

from __future__ import annotations

import numpy as np

_ACTIVE = np.arange(16)
# [active seats as bits, seat]: the next seat with cards after it, int8; -1 for none.
NEXT = np.array(
    [
        [next((s % 4 for s in range(i + 1, i + 5) if mask >> s % 4 & 1), -1) for i in range(4)]
        for mask in range(16)
    ],
    dtype=np.int8,
)
# [active seats as bits]: how many they are, int8, and whether a whole side is out.
NUM_ACTIVE = np.bitwise_count(_ACTIVE.astype(np.uint8)).astype(np.int8)
SIDE_OUT = ((_ACTIVE & 5) == 0) | ((_ACTIVE & 10) == 0)
