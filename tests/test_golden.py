"""Golden play-throughs: the first deals of a game under each preset, move for move.

A change that shows in these files changes the game, the deals of a seed, the action table or the
observation: it needs a new version and a line in CHANGELOG.md. Run as a script it writes the
files anew.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from guandan_env import Engine, RuleSet, legality, randomness
from guandan_env.actions import ACTION_TABLE_VERSION, PASS, ROW_SIZE
from guandan_env.cards import KIND_NAMES, RANKS, card_names, to_counts
from guandan_env.notation import row_name
from guandan_env.observation import OBSERVATION_VERSION, encode
from guandan_env.scene_of import tribute_lines
from guandan_env.state import Phase

FOLDER = Path(__file__).parent / "data" / "golden"
SEED = 20
DEALS = 2


def choose(engine: Engine, mask: np.ndarray) -> int:
    """A legal row, drawn from the decision's random key, mostly among those of the most cards.

    So deals are short, and all patterns turn up.
    """
    s = engine.state
    draw = int(randomness.key(engine.seed, s.table, s.deal, s.seat, s.length)[0])
    rows = np.flatnonzero(mask)
    if draw % 4:
        rows = rows[ROW_SIZE[rows] == ROW_SIZE[rows].max()]
    return int(rows[draw // 4 % len(rows)])


def play_through(preset: str) -> str:
    """The first deals of a game as text, a trick a line."""
    engine = Engine(1, RuleSet.preset(preset), seed=SEED, episode="game")
    lines = [f"{preset}, seed {SEED}, {ACTION_TABLE_VERSION}, {OBSERVATION_VERSION}"]
    for _ in range(DEALS):
        lines += ["", *deal(engine)]
        if engine.state.over[0]:
            break
        engine.next_deal(np.array([0]))
    return "\n".join(lines) + "\n"


def deal(engine: Engine) -> Iterator[str]:
    s = engine.state
    steps = [int(step) for step in s.steps[0]]
    yield f"deal {s.deal[0]}: level {RANKS[s.level[0]]}, steps {steps}, declarer {s.declarer[0]}"
    for seat, hand in enumerate(to_counts(s.hands[0])):
        yield f"{seat} holds {' '.join(card_names(hand))}"
    seen = masks = 0
    trick: list[str] = []
    told = False
    while True:
        packed = engine.packed_masks()
        mask = legality.unpack(packed)
        masks = zlib.crc32(mask.tobytes(), masks)
        seen = zlib.crc32(encode(engine.decisions(packed_masks=packed)).tobytes(), seen)
        if s.phase[0] == Phase.PLAY and not told:
            yield from tribute_lines(s, 0)
            yield f"{s.leader[0]} leads"
            told = True
        seat, row, plays = int(s.seat[0]), choose(engine, mask[0]), int(s.plays[0])
        result = engine.step(np.array([row]), packed_masks=packed, go_on=False)
        played = to_counts(s.play_cards[0, plays]) if s.plays[0] > plays else ()
        shown = " ".join(KIND_NAMES[k] for k in np.flatnonzero(played) for _ in range(played[k]))
        trick.append(f"{seat} {row_name(row)}{f' ({shown})' if row != PASS and shown else ''}")
        if result.deal_over[0] or s.lead[0] == PASS:
            yield ", ".join(trick)
            trick = []
        if result.deal_over[0]:
            break
    yield f"order {s.order[0].tolist()}, reward {result.reward[0].astype(int).tolist()}"
    yield f"steps {s.steps[0].tolist()}, {s.length[0]} decisions"
    yield f"crc32 of masks {masks:08x}, of observations {seen:08x}"


@pytest.mark.parametrize("preset", RuleSet.presets())
def test_play_through_is_as_it_was(preset: str) -> None:
    golden = (FOLDER / f"{preset}.txt").read_text(encoding="utf-8")
    assert play_through(preset) == golden, "python tests/test_golden.py, if the change is meant"


def test_there_are_no_other_files() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(RuleSet.presets())
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 100_000


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in RuleSet.presets():
        (FOLDER / f"{name}.txt").write_text(play_through(name), encoding="utf-8")
