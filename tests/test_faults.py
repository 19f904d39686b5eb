"""Agents that fail: found, laid at the right door, and treated as Conduct says (RULES 7)."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from agents import AgentError, make
from agents.answers import Cause, PartialAnswerError, Wrong, ask, require
from agents.greedy import Greedy
from agents.random_bot import Random
from eval.duplicate import Terms, play_duplicate, play_pairs
from eval.faults import AgentFaultError, in_place_of
from guandan_env.actions import PASS, ROW_PATTERN, Pattern
from guandan_env.cards import KIND_RANK
from guandan_env.cli import main
from guandan_env.conduct import Conduct
from guandan_env.engine import Engine
from guandan_env.errors import GuandanError
from guandan_env.notation import parse_row
from guandan_env.record_file import write_records
from guandan_env.record_replay import verify_file
from guandan_env.state import Phase


class Faulty(Greedy):
    """Greedy but for the decisions that `fails` chooses; there `fault` says what it does."""

    name = "faulty"

    def __init__(self, fault, fails):
        self.fault, self.fails = fault, fails
        self.leads = 0

    def act(self, decisions):
        rows = super().act(decisions)
        bad = self.fails(decisions)
        if not bad.any():
            return rows
        if self.fault == "raises":
            raise RuntimeError("no idea")
        if self.fault == "shape":
            return rows[:, None]
        if self.fault == "type":
            return "seven"
        if self.fault == "late":
            wrong = {int(i): Wrong(Cause.LATE, "it took too long") for i in np.flatnonzero(bad)}
            raise PartialAnswerError(rows, np.zeros((len(rows), 54), np.uint8), wrong)
        if self.fault == "cards":
            cards = np.zeros((len(rows), 54), np.uint8)
            cards[bad, 0] = 2
            return np.where(bad, 2, rows), cards
        return np.where(bad, {"illegal": 2242, "outside": 99999, "negative": -2}[self.fault], rows)


def sometimes(decisions):
    return (decisions.length % 7 == 3) & (decisions.phase == Phase.PLAY)


FAULTS = {
    "illegal": "illegal action 2242",
    "outside": "99999 .*no row",
    "negative": "illegal action -2 ",
    "raises": "RuntimeError: no idea",
    "shape": r"shape \(\d+, 1\)",
    "type": "whole numbers of shape",
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.rule("7.4")
def test_a_fault_stops_the_match_with_its_position(fault):
    with pytest.raises(AgentFaultError, match=f"'faulty' failed at deal .*{FAULTS[fault]}") as info:
        play_duplicate(Greedy(), Faulty(fault, sometimes), 3)
    found = info.value.fault
    assert found.record["fault"]["agent"] == "faulty"
    assert found.record["result"] is None
    assert len(found.record["moves"]) == found.move
    assert found.move % 7 == 3
    again = pickle.loads(pickle.dumps(info.value))
    assert again.fault.record == found.record


@pytest.mark.parametrize("conduct", ["pass", "forfeit"])
@pytest.mark.parametrize("fault", [*FAULTS, "late"])
def test_faults_are_counted_and_the_match_goes_on(fault, conduct):
    terms = Terms(conduct=Conduct(illegal_play=conduct))
    agent = Faulty(fault, sometimes)
    played = play_pairs(Greedy(), agent, 0, 12, terms)
    assert played.failures[0] == 0
    assert played.failures[1] == len(played.faults) > 0
    assert all(f.agent == "faulty" and f.move % 7 == 3 for f in played.faults)
    alone = play_pairs(Greedy(), agent, 0, 12, Terms(conduct=terms.conduct, num_tables=1))
    np.testing.assert_array_equal(played.gain, alone.gain)
    assert {str(f) for f in played.faults} == {str(f) for f in alone.faults}


@pytest.mark.rule("7.4")
def test_a_forfeit_loses_the_deal_as_highly_as_it_can():
    terms = Terms(conduct=Conduct(illegal_play="forfeit"))
    always = Faulty("illegal", lambda d: d.phase == Phase.PLAY)
    played = play_pairs(Greedy(), always, 0, 5, terms)
    assert (played.gain == 3).all()
    assert (played.won == 1).all()
    assert (played.first == -1).all()


@pytest.mark.rule("7.4")
@pytest.mark.parametrize("episode", ["deal", "game"])
def test_a_forfeited_deal_is_on_record_with_its_fault(episode, tmp_path):
    """It ends there; faults that were mended before, and what follows, leave no trace in others."""
    once = Faulty("illegal", lambda d: (d.phase == Phase.PLAY) & (d.counts.sum(axis=1) < 60))
    conduct = Conduct(illegal_play="forfeit")
    terms = Terms(conduct=conduct, record=True, episode=episode, num_tables=3)
    played = play_pairs(Greedy(), once, 0, 5, terms)
    records = [record for pair in played.records for record in pair]
    assert len(records) == played.deals.sum()
    lost = [record for record in records if record["fault"]]
    assert len(lost) == played.failures[1] == 10
    assert all(record["result"] is None for record in lost)
    assert {record["fault"]["cause"] for record in lost} == {"illegal"}
    path = tmp_path / "deals.jsonl"
    write_records(path, records)
    assert verify_file(path).fault is None


@pytest.mark.rule("7.4")
def test_a_wrong_answer_is_a_pass_for_the_whole_trick_and_a_wrong_lead_goes_on():
    moves = []

    class Watch:
        def deals_over(self, tables, at, result):
            moves.extend(tables.record(int(t)) for t in at)

        def deals_forfeited(self, tables, at):
            raise AssertionError

    from eval.runner import Jobs, play

    jobs = Jobs(table=np.arange(20), seating=np.tile([0, 1, 0, 1], (20, 1)))
    always = Faulty("illegal", lambda d: d.phase == Phase.PLAY)
    out = play(
        [Greedy(), always],
        jobs,
        rules=Terms().rules,
        conduct=Conduct(illegal_play="pass"),
        observers=(Watch(),),
    )
    assert out.done.all()
    assert (out.gain[:, 0] > 0).all()
    assert moves


@pytest.mark.rule("7.4")
def test_four_wrong_leads_in_a_row_end_with_a_single():
    always = Faulty("raises", lambda d: d.phase == Phase.PLAY)
    terms = Terms(conduct=Conduct(illegal_play="pass"))
    played = play_pairs(always, always, 0, 3, terms)
    assert (played.gain.sum(axis=1) == 0).all()


@pytest.mark.rule("7.4")
def test_tribute_is_asked_again_once():
    class Twice(Faulty):
        def act(self, decisions):
            rows = Greedy.act(self, decisions)
            bad = decisions.phase != Phase.PLAY
            self.leads += int(bad.sum())
            return np.where(bad, PASS + 5, rows)

    agent = Twice("", None)
    played = play_pairs(agent, Random(), 0, 20, Terms(conduct=Conduct(illegal_play="pass")))
    tribute = [f for f in played.faults if f.record["moves"] == [] or f.move < 4]
    assert len(tribute) == len(played.faults) > 0
    assert played.failures[0] % 2 == 0  # each is counted, and once more when asked again


@pytest.mark.rule("7.3")
def test_what_stands_for_a_late_answer():
    engine = Engine(256, seed=3)
    seen = set()
    for _ in range(40):
        decisions = engine.decisions()
        rows = in_place_of(decisions)
        assert (decisions.mask[np.arange(len(rows)), rows] == 1).all()
        lead = (decisions.phase == Phase.PLAY) & (decisions.lead == PASS)
        assert (ROW_PATTERN[rows[lead]] == Pattern.SINGLE).all()
        assert (rows[(decisions.phase == Phase.PLAY) & ~lead] == PASS).all()
        for i in np.flatnonzero(lead)[:5]:
            ranks = {int(r) for r in KIND_RANK[decisions.hand[i] > 0]}
            level = int(decisions.level[i])
            plain = {r for r in ranks if r != level and r < 13}
            if plain:
                assert engine.rules is not None
                assert int(rows[i]) - 1 == min(plain)
        seen |= set(decisions.phase.tolist())
        actions = np.zeros(256, dtype=np.int64)
        actions[decisions.index] = Greedy().act(decisions)
        over = engine.step(actions).over
        if over.any():
            engine.start(np.flatnonzero(over))
    assert {Phase.PAY, Phase.RETURN, Phase.PLAY} <= seen


def test_an_answer_with_wrong_cards_is_found():
    decisions = Engine(64, seed=1, previous=None).decisions()
    answer = ask(Faulty("cards", lambda d: np.arange(len(d)) == 5), decisions)
    assert list(answer.wrong) == [5] or 2 not in answer.rows
    assert answer.wrong[5].cause is Cause.ILLEGAL


def test_a_fault_that_only_batches_show_is_told():
    class Alone(Greedy):
        def act(self, decisions):
            if len(decisions) > 1:
                raise ValueError("one at a time")
            return super().act(decisions)

    decisions = Engine(4, seed=1).decisions()
    with pytest.raises(AgentError, match="though for none of them alone"):
        require(Alone(), decisions)


def test_the_command_keeps_the_position(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad_bot.py").write_text(
        "class Bad:\n"
        "    name = 'bad'\n"
        "    def reset(self): pass\n"
        "    def act(self, decisions): raise RuntimeError('boom')\n"
    )
    assert main(["match", "bad_bot:Bad", "greedy", "--deals", "3"]) == 2
    assert "boom" in (err := capsys.readouterr().err)
    assert "guandan-faults.jsonl" in err
    assert main(["verify", "guandan-faults.jsonl"]) == 0
    words = ["match", "bad_bot:Bad", "greedy", "--deals", "3", "--illegal-play", "pass"]
    capsys.readouterr()
    assert main(words) == 0
    assert "Failures: bad_bot:Bad" in capsys.readouterr().out


def test_bad_pairs_are_refused():
    with pytest.raises(GuandanError, match="at least 1"):
        play_duplicate(Greedy(), Greedy(), 0)


def test_where_an_agent_raised_is_told(tmp_path, monkeypatch):
    """The line of its own code, also where that called something installed, which raised."""
    (tmp_path / "broken_bot.py").write_text(
        "import numpy as np\n"
        "class Broken:\n"
        "    name = 'broken'\n"
        "    def reset(self): pass\n"
        "    def act(self, d):\n"
        "        return np.stack([])\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    answer = ask(make("broken_bot:Broken"), Engine(1, seed=1).decisions())
    assert answer.wrong[0].text.endswith("(broken_bot.py, line 6)")


@pytest.mark.parametrize("kind", [BaseException, GeneratorExit, SystemExit])
def test_whatever_is_raised_is_a_fault_of_the_agent(kind):
    class Raises(Greedy):
        def act(self, decisions=None):
            raise kind("boom\x1b[31m")

        reset = act

    answer = ask(Raises(), Engine(2, seed=1).decisions())
    assert {wrong.cause for wrong in answer.wrong.values()} == {Cause.ERROR}
    assert f"it raised {kind.__name__}: boom\\x1b[31m" in answer.wrong[0].text
    terms = Terms(conduct=Conduct(illegal_play="pass"))
    with pytest.raises(AgentError, match=kind.__name__):
        play_pairs(Raises(), Greedy(), 0, 1, terms)


def test_an_agent_that_changes_what_it_is_given_cannot_make_a_play_legal():
    class Cheat(Greedy):
        def act(self, decisions):
            rows = super().act(decisions)
            for array in (decisions.packed, decisions.hand_bits):
                array.setflags(write=True)
                array[:] = ~np.uint64(0)
            return np.where(decisions.phase == Phase.PLAY, parse_row("bomb AAAAAAAA"), rows)

    engine = Engine(50, seed=1, previous=None)
    answer = ask(Cheat(), engine.decisions())
    assert len(answer.wrong) == 50
    assert {wrong.cause for wrong in answer.wrong.values()} == {Cause.ILLEGAL}
    played = play_pairs(Cheat(), Greedy(), 0, 3, Terms(conduct=Conduct(illegal_play="forfeit")))
    assert (played.won == 0).all()
