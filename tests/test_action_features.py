from __future__ import annotations

import numpy as np

from guandan_env import Engine
from guandan_env.action_features import ACTION_FEATURE_BLOCKS, ACTION_FEATURES, candidates
from guandan_env.actions import NUM_ACTIONS


def test_blocks_cover_all_columns_once():
    columns = [c for _, part, _ in ACTION_FEATURE_BLOCKS for c in range(part.start, part.stop)]
    assert columns == list(range(ACTION_FEATURES.shape[1]))


def test_no_two_rows_look_the_same():
    assert ACTION_FEATURES.shape[0] == NUM_ACTIONS
    assert len(np.unique(ACTION_FEATURES, axis=0)) == NUM_ACTIONS


def test_candidates_are_the_legal_rows():
    masks = Engine(20, seed=6).masks()
    values, offsets = candidates(masks)
    assert offsets[-1] == len(values) == masks.sum()
    for i, mask in enumerate(masks):
        assert list(values[offsets[i] : offsets[i + 1]]) == list(np.flatnonzero(mask))
