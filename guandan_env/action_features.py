"""Action rows for networks: a feature vector for each, and the legal rows of masks, ragged."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from guandan_env import actions as table
from guandan_env.actions import NUM_ACTIONS

ACTION_FEATURES_VERSION = "action-features-v1"

# What the columns of ACTION_FEATURES are: name, slice, meaning.
ACTION_FEATURE_BLOCKS: tuple[tuple[str, slice, str], ...] = (
    ("pattern", slice(0, 13), "one-hot, by actions.Pattern"),
    ("key", slice(13, 29), "one-hot: ranks 2…A, small joker, big joker, the level (lone wilds)"),
    ("naturals", slice(29, 44), "natural cards of each rank and joker, in quarters"),
    ("wild_as", slice(44, 57), "wilds that stand at each rank, in halves"),
    ("wilds", slice(57, 58), "wilds used, in halves"),
    ("size", slice(58, 59), "cards, in tenths"),
    ("suit", slice(59, 63), "one-hot suit of a straight flush or of a card row"),
    ("bomb", slice(63, 64), "1 for bombs of every kind"),
)


def _features() -> NDArray[np.float32]:
    features = np.zeros((NUM_ACTIONS, 64), dtype=np.float32)
    rows = np.arange(NUM_ACTIONS)
    features[rows, table.ROW_PATTERN] = 1
    keyed = table.ROW_KEY >= 0
    features[rows[keyed], 13 + table.ROW_KEY[keyed]] = 1
    features[:, 29:44] = table.ROW_NATURALS / 4
    features[:, 44:57] = table.ROW_WILD_AS / 2
    features[:, 57] = table.ROW_WILDS / 2
    features[:, 58] = table.ROW_SIZE / 10
    suited = table.ROW_SUIT >= 0
    features[rows[suited], 59 + table.ROW_SUIT[suited]] = 1
    features[:, 63] = table.IS_BOMB
    features.setflags(write=False)
    return features


ACTION_FEATURES: NDArray[np.float32] = _features()


def candidates(mask: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The legal rows of masks `(n, 2244)`, ragged: values `(m,)` and offsets `(n + 1,)`.

    The rows of decision i are `values[offsets[i]:offsets[i + 1]]`, in ascending order.
    """
    _, values = np.nonzero(mask)
    offsets = np.zeros(len(mask) + 1, dtype=np.int64)
    np.cumsum(np.count_nonzero(mask, axis=1), out=offsets[1:])
    return values, offsets
