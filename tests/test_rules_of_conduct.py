"""Section 7 of docs/rules.md, as those who run matches apply it to agents that fail."""

from __future__ import annotations

import io
import re
from collections.abc import Callable

import numpy as np
import pytest

from eval.commands.play import main as play_command
from eval.faults import AgentFaultError, in_place_of
from eval.runner import Jobs, Tables, play
from guandan_env import Engine, RuleSet
from guandan_env.actions import FIRST_CARD, PASS, RESIST, ROW_PATTERN, Pattern
from guandan_env.cards import KIND_NAMES, RANKS
from guandan_env.conduct import Conduct
from guandan_env.decisions import Decisions
from guandan_env.notation import row_name
from guandan_env.positions import position
from guandan_env.render_text import render_text
from guandan_env.scene_of import scene_of
from guandan_env.state import Phase

NO_ROW = 9999


class Player:
    """Plays the first legal row that is no pass, or no row where `wrong(decisions)` `(n,)`."""

    def __init__(self, wrong: Callable[[Decisions], np.ndarray] | None = None) -> None:
        self.name = "good" if wrong is None else "bad"
        self.wrong = wrong
        self.asked: list[tuple[int, int]] = []  # seat, number of the decision

    def reset(self) -> None:
        self.asked.clear()

    def act(self, decisions: Decisions) -> np.ndarray:
        self.asked += zip(decisions.seat.tolist(), decisions.length.tolist(), strict=True)
        first = 1 + np.argmax(decisions.mask[:, 1:], axis=1)
        rows = np.where(decisions.mask[np.arange(len(first)), first], first, PASS)
        return rows if self.wrong is None else np.where(self.wrong(decisions), NO_ROW, rows)


def always(decisions: Decisions) -> np.ndarray:
    return np.ones(len(decisions), dtype=bool)


def leading(decisions: Decisions) -> np.ndarray:
    return (decisions.phase == Phase.PLAY) & (decisions.lead == PASS)


def following(decisions: Decisions) -> np.ndarray:
    return (decisions.phase == Phase.PLAY) & (decisions.lead != PASS)


def table(bad: Player, conduct: Conduct, *, bad_seats: tuple[int, ...], seed: int = 1) -> Tables:
    """One table without tribute, `bad` at some seats and a good player at the others."""
    seating = np.array([[int(seat in bad_seats) for seat in range(4)]])
    engine = Engine(1, RuleSet(), seed=seed, previous=None)
    return Tables((Player(), bad), Jobs(np.array([0]), seating), engine, conduct, ())


def finish(tables: Tables) -> None:
    while tables.advance():
        pass


def is_play_by(state, seat: int) -> bool:
    last = state.length[0] - 1
    return bool(state.history_seat[0, last] == seat and state.history[0, last] != PASS)


@pytest.mark.rule("7.2")
@pytest.mark.parametrize("preset", RuleSet.presets())
def test_counts_of_other_hands_are_shown_from_the_number_of_the_conduct_on(preset):
    shown_at = Conduct.preset(preset).reveal_counts_at
    engine = Engine(1, RuleSet.preset(preset), seed=4, previous=None)
    player, seen = Player(), set()
    while not engine.state.over[0]:
        held = [int(n) for n in np.bitwise_count(engine.state.hands[0]).sum(axis=-1)]
        everything = scene_of(engine.state, 0, reveal_counts_at=shown_at)
        assert [view.count for view in everything.seats] == held
        for viewer in range(4):
            scene = scene_of(engine.state, 0, viewer=viewer, reveal_counts_at=shown_at)
            assert [view.count for view in scene.seats] == [
                n if seat == viewer or n <= shown_at else None for seat, n in enumerate(held)
            ]
            assert render_text(scene).count("? cards") == sum(
                view.count is None for view in scene.seats
            )
        seen |= set(held)
        engine.step(player.act(engine.decisions()))
    assert {27, 11, 10, 8, 7, 6} <= seen


@pytest.mark.rule("7.2")
@pytest.mark.parametrize(("preset", "shown_at"), [("default", 27), ("company", 10)])
def test_a_person_is_told_counts_from_the_number_of_the_conduct_on(
    preset, shown_at, monkeypatch, capsys
):
    monkeypatch.setattr("sys.stdin", io.StringIO("1\n" * 200))
    assert play_command(["--seed", "3", "--rules", preset]) == 0
    out = capsys.readouterr().out
    told = {int(n) for n in re.findall(r"^  [1-3] greedy .*\((\d+) left\)$", out, re.M)}
    assert max(told) <= shown_at
    assert ("? cards" in out) == (shown_at < 27)
    assert (max(told) > 10) == (shown_at > 10)


@pytest.mark.rule("7.2")
def test_counts_are_shown_always_at_27_even_of_28_cards():
    engine = Engine(40, RuleSet(), seed=1, previous="random")
    while not (engine.state.phase == Phase.RETURN).any():
        engine.step(Player().act(engine.decisions()))
    at = int(np.flatnonzero(engine.state.phase == Phase.RETURN)[0])
    receiver = int(engine.state.seat[at])
    counts = [view.count for view in scene_of(engine.state, at, viewer=(receiver + 1) % 4).seats]
    assert counts[receiver] == 28
    assert None not in counts


@pytest.mark.rule("7.3")
@pytest.mark.parametrize("level", ["2", "7", "A"])
def test_time_out_plays_the_lowest_single_or_passes(level):
    hands = ("H2 S4 SK SB", "S3 S9", "S5 SQ", "S6 HR")
    engine = Engine(1, RuleSet(), seed=1, previous=None)
    position(engine, 0, hands=hands, level=level, leader=0, previous=None)
    lead = in_place_of(engine.decisions())
    lowest = "single 4" if level == "2" else "single 2"
    assert [row_name(row) for row in lead] == [lowest]
    engine.step(lead)
    assert in_place_of(engine.decisions()).tolist() == [PASS]
    for hand, single in (("H2 SB", "single wild"), ("H2 S2 SB", "single 2")):
        position(engine, 0, hands=(hand, *hands[1:]), level="2", leader=0, previous=None)
        assert row_name(in_place_of(engine.decisions())[0]) == single


@pytest.mark.rule("7.3")
def test_time_out_in_tribute_gives_the_lowest_card_allowed_and_does_not_resist():
    engine = Engine(200, RuleSet.preset("graduate"), seed=3, previous="random")
    state, seen = engine.state, set()
    for _ in range(6):
        decisions = engine.decisions()
        rows = in_place_of(decisions)
        assert decisions.mask[np.arange(len(rows)), rows].all()
        seen |= set(decisions.phase.tolist())
        assert (rows[decisions.phase == Phase.RESIST] == PASS).all()
        for at in np.flatnonzero(decisions.phase == Phase.RETURN):
            # Anything may be returned here, so it is the lowest held but for the wild.
            level = RANKS[decisions.level[at]]
            order = RANKS.replace(level, "") + level + "BR"
            held = [KIND_NAMES[k] for k in np.flatnonzero(decisions.mask[at, FIRST_CARD:RESIST])]
            lowest = min(order.index(card[1]) for card in held if card != "H" + level)
            assert order.index(KIND_NAMES[rows[at] - FIRST_CARD][1]) == lowest
        engine.step(rows)
    assert {Phase.PAY, Phase.RETURN, Phase.RESIST, Phase.PLAY} <= seen
    assert not state.resisted.any()


@pytest.mark.rule("7.4")
@pytest.mark.parametrize("seat", range(4))
def test_with_error_the_first_fault_stops_everything_and_names_it(seat):
    tables = table(Player(always), Conduct(), bad_seats=(seat,))
    with pytest.raises(AgentFaultError, match=f"agent 'bad' failed .* seat {seat}.*9999"):
        finish(tables)


@pytest.mark.rule("7.4")
def test_a_wrong_answer_is_a_pass_and_bars_the_seat_from_the_trick():
    bad = Player(following)
    tables = table(bad, Conduct(illegal_play="pass"), bad_seats=(1, 3))
    state, trick = tables.engine.state, 0
    asked_in: dict[int, list[int]] = {}
    while True:
        before, seat = len(bad.asked), int(state.seat[0])
        follows = state.lead[0] != PASS
        trick += not follows
        if not tables.advance():
            break
        if follows and seat in (1, 3):
            assert not is_play_by(state, seat)
            if len(bad.asked) > before:
                asked_in.setdefault(trick, []).append(seat)
    assert asked_in
    assert all(len(seats) == len(set(seats)) for seats in asked_in.values()), "asked once a trick"
    assert len(tables.outcome.faults) == sum(map(len, asked_in.values()))
    assert tables.outcome.winner[0] in (0, 1)


@pytest.mark.rule("7.4")
@pytest.mark.parametrize("seed", range(4))
def test_a_wrong_lead_gives_the_lead_to_the_next_seat(seed):
    engine = Engine(1, RuleSet(), seed=seed, previous=None)
    leader = int(engine.state.seat[0])
    bad = Player(leading)
    tables = table(bad, Conduct(illegal_play="pass"), bad_seats=(leader,), seed=seed)
    tables.advance()
    state = tables.engine.state
    assert is_play_by(state, (leader + 1) % 4)
    assert state.length[0] == 1
    assert state.played[0, leader].sum() == 0


@pytest.mark.rule("7.4")
def test_after_a_round_of_wrong_leads_the_fourth_plays_the_lowest_single():
    tables = table(Player(leading), Conduct(illegal_play="pass"), bad_seats=(0, 1, 2, 3))
    state = tables.engine.state
    leader = int(state.seat[0])
    tables.advance()
    assert is_play_by(state, (leader + 3) % 4)
    assert ROW_PATTERN[state.history[0, 0]] == Pattern.SINGLE
    assert len(tables.outcome.faults) == 4


@pytest.mark.rule("7.4")
@pytest.mark.parametrize("seat", range(4))
def test_forfeit_loses_for_the_side(seat):
    tables = table(Player(always), Conduct(illegal_play="forfeit"), bad_seats=(seat,))
    finish(tables)
    assert tables.outcome.winner[0] == 1 - seat % 2
    assert tables.outcome.gain[0, seat % 2] == -3


@pytest.mark.rule("7.5")
@pytest.mark.parametrize("phase", [Phase.PAY, Phase.RETURN])
@pytest.mark.parametrize("again", [False, True])
def test_an_illegal_tribute_is_asked_again_once(phase, again):
    """`again`: whether the second answer is wrong too."""
    failed: set[tuple[int, int]] = set()

    def wrong(decisions: Decisions) -> np.ndarray:
        places = zip(decisions.table.tolist(), decisions.length.tolist(), strict=True)
        first = np.array([place not in failed for place in places])
        at = (decisions.phase == phase) & (first | again)
        failed.update(
            (int(t), int(n)) for t, n in zip(decisions.table[at], decisions.length[at], strict=True)
        )
        return at

    jobs = Jobs(np.arange(12), np.ones((12, 4), dtype=np.int64))
    bad = Player(wrong)
    outcome = play(
        (Player(), bad),
        jobs,
        rules=RuleSet(),
        seed=2,
        previous="random",
        conduct=Conduct(illegal_play="pass"),
        num_tables=1,
    )
    assert outcome.done.all()
    assert failed
    assert len(outcome.faults) == len(failed) * (2 if again else 1)
    assert {fault.move for _, fault in outcome.faults} <= set(range(7))


@pytest.mark.rule("7.5")
def test_a_second_illegal_return_is_treated_as_time_run_out():
    engine = Engine(1, RuleSet(), seed=2, previous="random")
    jobs = Jobs(np.array([0]), np.ones((1, 4), dtype=np.int64))
    bad = Player(lambda decisions: decisions.phase == Phase.RETURN)
    tables = Tables((Player(), bad), jobs, engine, Conduct(illegal_play="pass"), ())
    while engine.state.phase[0] != Phase.RETURN:
        tables.advance()
    expected = int(in_place_of(engine.decisions())[0])
    move = int(engine.state.length[0])
    tables.advance()
    assert engine.state.history[0, move] == expected
    assert [fault.move for _, fault in tables.outcome.faults] == [move, move]
