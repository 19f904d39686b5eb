"""What is kept of play for learning: decisions until their deals are over, and the replay."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from value_helpers import fates, learner, numbered

from agents.weights import WeightsError
from train.replay import Pending, Played, Replay, to_tensors
from train.rollout import Experience, joined


@pytest.fixture(scope="module")
def parts(tmp_path_factory) -> list[Experience]:
    """Play of some deals, cut where no deal ends in particular; decisions are numbered."""
    made = learner("dqn", tmp_path_factory.mktemp("parts"), temperature=1.0, epsilon=1.0)
    return numbered([made.play.collect(made, steps) for steps in (110, 60, 20, 110, 110)])


def kept(parts: list[Experience], only_chosen: bool = False) -> list[Played]:
    pending = Pending(only_chosen)
    return [pending.add(x) for x in parts]


def numbers(played: Played) -> np.ndarray:
    return played.views.opponent


# ------------------------------------------------------------------ until the deal is over


@pytest.mark.parametrize("only_chosen", [False, True])
def test_decisions_come_out_when_their_deal_is_over_with_what_became_of_them(parts, only_chosen):
    expected = fates(parts)
    played = joined(kept(parts, only_chosen))
    assert len(expected) > 200
    assert sorted(numbers(played)) == sorted(expected)
    for number, outcome, ahead in zip(numbers(played), played.outcome, played.ahead, strict=True):
        assert outcome == expected[number].outcome
        assert ahead == len(expected[number].later)
    assert {np.sign(outcome) for outcome in played.outcome} == {-1, 1}


def test_a_seats_next_decision_is_the_next_one(parts):
    expected = fates(parts)
    for played in kept(parts):
        for at in np.flatnonzero(played.ahead):
            number = int(numbers(played)[at])
            following = numbers(played)[at + 1 : at + 1 + played.ahead[at]]
            assert following.tolist() == expected[number].later


def test_candidates_are_those_of_the_decision_or_the_chosen_one_alone(parts):
    views = joined([x.views for x in parts])
    chosen = joined([x.acted.chosen for x in parts])
    for only_chosen in (False, True):
        played = joined(kept(parts, only_chosen))
        at = numbers(played)
        theirs = views.take(at).inputs
        assert (played.views.inputs.observation == theirs.observation).all()
        if only_chosen:
            rows, place = theirs.rows[theirs.start + chosen[at]], np.zeros(len(at))
            features = theirs.features[theirs.start + chosen[at]]
        else:
            rows, features, place = theirs.rows, theirs.features, chosen[at]
        assert (played.views.inputs.rows == rows).all()
        assert (played.views.inputs.features == features).all()
        assert (played.chosen == place).all()


def test_what_is_pending_is_saved_and_restored(parts):
    pending, other = Pending(False), Pending(False)
    pending.add(parts[0])
    other.restore(pending.tensors(), 6, "here")
    for x in parts[1:]:
        one, two = to_tensors(pending.add(x)), to_tensors(other.add(x))
        assert all(torch.equal(one[name], two[name]) for name in one)
    Pending(True).restore({}, 6, "here")


# ------------------------------------------------------------------ the replay


def test_the_oldest_go_and_no_more_than_the_capacity_stay(parts):
    played = [part for part in kept(parts) if len(part)]
    sizes = [len(part) for part in played]
    assert len(sizes) >= 3
    replay = Replay(sizes[-1] + sizes[-2] + 5)
    for part in played:
        replay.add(part)
        assert len(replay) <= replay.capacity
    assert [len(part) for part in replay.parts] == sizes[-2:]
    assert numbers(joined(replay.parts)).tolist() == numbers(joined(played[-2:])).tolist()


def test_of_a_part_beyond_the_capacity_the_end_is_kept(parts):
    played = joined(kept(parts))
    replay = Replay(50)
    replay.add(played)
    assert numbers(replay.parts[0]).tolist() == numbers(played)[-50:].tolist()
    now, later, which = replay.sample(np.random.default_rng(0), 200, 2)
    assert (now.ahead[which] == later.ahead + 2).all()


@pytest.mark.parametrize("steps", [1, 3, 200])
def test_samples_pair_a_decision_with_the_seats_own_later_one_of_the_deal(parts, steps):
    expected = fates(parts)
    replay = Replay(10**6)
    for part in kept(parts):
        replay.add(part)
    now, later, which = replay.sample(np.random.default_rng(1), 3000, steps)
    pairs = dict(zip(which.tolist(), numbers(later).tolist(), strict=True))
    assert len(now) == 3000
    assert len(set(numbers(now).tolist())) > 0.8 * len(replay)  # drawn from all over
    for at, number in enumerate(numbers(now).tolist()):
        coming = expected[number].later
        assert pairs.get(at) == (coming[steps - 1] if len(coming) >= steps else None)
    assert bool(pairs) == (steps < 200)


def test_a_decision_takes_about_three_kilobytes(parts):
    played = joined(kept(parts))
    size = sum(t.numel() * t.element_size() for t in to_tensors(played).values())
    assert 1_500 < size / len(played) < 3_500


def test_the_replay_is_saved_and_restored(parts):
    replay, other = Replay(10**6), Replay(10**6)
    for part in kept(parts):
        replay.add(part)
    other.restore(replay.tensors(), "here")
    for one, two in zip(replay.parts, other.parts, strict=True):
        mine, theirs = to_tensors(one), to_tensors(two)
        assert all(torch.equal(mine[name], theirs[name]) for name in mine)
    other.restore({}, "here")
    assert not len(other)


# ------------------------------------------------------------------ damaged files


def replay_tensors(parts: list[Experience]) -> dict[str, torch.Tensor]:
    replay = Replay(10**6)
    for part in kept(parts):
        replay.add(part)
    return replay.tensors()


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("views.inputs.rows", lambda t: t[:-1], "do not fit together"),
        ("views.inputs.rows", lambda t: t * 0 - 1, "do not fit together"),
        ("views.inputs.rows", lambda t: t * 0 + 2244, "do not fit together"),
        ("views.inputs.rows", lambda t: t.long(), r"rows is int64 .*allowed is int16 \(n\)"),
        ("views.inputs.number", lambda t: t * 0, "do not fit together"),
        ("views.inputs.features", lambda t: t[:, :-1], r"allowed is float16 \(n, 32\)"),
        ("views.inputs.features", lambda t: t * torch.nan, "not finite"),
        ("views.inputs.observation", lambda t: t.float(), r"float32 .*allowed is int8 \(n, 902\)"),
        ("views.full", lambda t: t[:5], "do not fit together"),
        ("views.strengths", lambda t: t.reshape(-1), r"allowed is float16 \(n, 40\)"),
        ("chosen", lambda t: t + 2244, "do not fit together"),
        ("outcome", lambda t: t.double(), "outcome is float64"),
        ("outcome", lambda t: t / 0, "not finite"),
        ("ahead", lambda t: t + 1, "lack what followed"),
        ("ahead", lambda t: t - 100, "lack what followed"),
        ("sizes", lambda t: t[:-1], "do not add up"),
        ("sizes", lambda t: t * -1, "do not add up"),
        ("chosen", None, "lacks chosen"),
    ],
)
def test_a_replay_that_does_not_fit_is_refused(parts, name, change, reason):
    tensors = replay_tensors(parts)
    if change is None:
        del tensors[name]
    else:
        tensors[name] = change(tensors[name])
    replay = Replay(10**6)
    with pytest.raises(WeightsError, match=f"^FILE.*{reason}"):
        replay.restore(tensors, "FILE")
    assert not replay.parts


@pytest.mark.parametrize(
    ("name", "change"), [("table", lambda t: t + 6), ("seat", lambda t: t + 4)]
)
def test_pending_decisions_of_no_table_or_seat_are_refused(parts, name, change):
    pending = Pending(False)
    pending.add(parts[0])
    tensors = pending.tensors()
    tensors[name] = change(tensors[name])
    with pytest.raises(WeightsError, match="of no table or seat"):
        Pending(False).restore(tensors, 6, "FILE")
