"""Files of records: written, torn, resumed, damaged, verified."""

from __future__ import annotations

import copy
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from agents.greedy import Greedy
from agents.random_bot import Random
from eval.duplicate import Terms, play_pairs
from guandan_env import record_replay
from guandan_env.cli import main
from guandan_env.dataset_write import write_dataset
from guandan_env.engine import Engine
from guandan_env.errors import StateError
from guandan_env.record import DealStarts, deal_record
from guandan_env.record_file import RecordWriter, read_record, read_records, write_records
from guandan_env.record_replay import first_wrong, replay, verify, verify_file
from guandan_env.record_shape import RecordError
from guandan_env.rules import RuleSet


def played(preset: str = "default", episode: str = "deal", pairs: int = 8) -> list[dict]:
    terms = Terms(rules=RuleSet.preset(preset), episode=episode, record=True, seed=2)
    parts = play_pairs(Greedy(), Random(), 0, pairs, terms).records
    return json.loads(json.dumps([record for part in parts for record in part]))


DEALS = played("standard")
GAME = played("company", "game", 1)
TRIBUTE = next(told for told in DEALS if told["moves"][0]["move"] == "pay")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "deals.jsonl"
    write_records(path, DEALS + GAME)
    return path


def test_every_deal_of_a_file_verifies(file):
    found = verify_file(file)
    assert found.fault is None
    assert found.deals == len(DEALS + GAME)
    assert found.moves == sum(len(told["moves"]) for told in DEALS + GAME)


def test_a_replay_goes_through_every_move():
    told = GAME[0]
    engines = [engine.state.length[0] for engine in replay(told)]
    assert engines == list(range(len(told["moves"]) + 1))


def first_play(told: dict) -> int:
    return next(i for i, move in enumerate(told["moves"]) if move["move"] == "play")


# What is damaged, how, where the fault lies (a move, or None), and what is said of it.
def _set(*path):
    *steps, key, value = path

    def damage(told):
        at = told
        for step in steps:
            at = at[step]
        at[key] = value

    return damage


def _swap_cards(told):
    hands = [hand.split() for hand in told["start"]["hands"]]
    other = next(i for i, card in enumerate(hands[1]) if card not in hands[0])
    hands[0][0], hands[1][other] = hands[1][other], hands[0][0]
    told["start"]["hands"] = [" ".join(hand) for hand in hands]


def _twice(told):
    hands = [hand.split() for hand in told["start"]["hands"]]
    hands[0][0] = hands[0][-1]
    told["start"]["hands"] = [" ".join(hand) for hand in hands]


def _turn(told):
    move = told["moves"][10]
    move["seat"] = (move["seat"] + 1) % 4


def _foreign_cards(told):
    move = told["moves"][first_play(told)]
    held = told["start"]["hands"][move["seat"]].split()
    move["cards"] = next(c for c in ("S3", "S4", "S5", "S6", "S7", "S8", "S9") if c not in held)


def _drop_move(told):
    del told["moves"][first_play(told) + 1]


def _other_claim(told):
    told["moves"][first_play(told)]["claim"] = "pair 22"


def _other_row(told):
    told["moves"][first_play(told)]["row"] += 1


def _swap_order(told):
    order = told["result"]["order"]
    order[2], order[3] = order[3], order[2]


def _other_receiver(told):
    told["moves"][0]["to"] = (told["moves"][0]["to"] + 1) % 4


DAMAGE = {
    "format": (_set("format", "guandan-record-v0"), "format"),
    "actions": (_set("actions", "actions-v0"), "actions"),
    "rule": (_set("rules", "wind", "storm"), "wind"),
    "rules": (_set("rules", "resist", "none"), "resist|move"),
    "lacking rule": (lambda told: told["rules"].pop("wind"), "rules lack wind"),
    "episode": (_set("episode", "match"), "episode"),
    "seed": (_set("seed", 99), "do not follow from seed 99"),
    "table": (_set("table", 99), "do not follow from seed"),
    "deal": (_set("deal", 5), "do not follow from seed"),
    "dealt": (_set("dealt", False), "dealt is false"),
    "players": (_set("players", ["a", "b", "c"]), "players"),
    "control characters": (_set("players", ["a", "b", "c", "\x1b[2J"]), "control characters"),
    "hands": (_swap_cards, "do not follow from seed|hands"),
    "a card too many": (_twice, "two decks hold two"),
    "level": (_set("start", "level", "Z"), "level"),
    "levels": (_set("start", "levels", ["2", "Z"]), "levels"),
    "steps": (_set("start", "steps", [0, 99]), "steps|level"),
    "declarer": (_set("start", "declarer", 7), "declarer"),
    "previous": (_set("start", "previous", [0, 0, 1, 2]), "previous"),
    "leader": (_set("start", "leader", 9), "leader"),
    "turn": (_turn, "it is the turn of seat"),
    "cards": (_foreign_cards, "cannot make"),
    "missing move": (_drop_move, "it is the turn of seat"),
    "claim": (_other_claim, "the claim is 'pair 22'"),
    "row": (_other_row, "row"),
    "kind of move": (_set("moves", 12, "move", "fold"), "allowed are"),
    "receiver": (_other_receiver, "to"),
    "order": (_swap_order, "result.order"),
    "side": (lambda told: told["result"].update(side=1 - told["result"]["side"]), "result.side"),
    "gain": (lambda told: told["result"].update(gain=told["result"]["gain"] % 3 + 1), "gain"),
    "no result": (_set("result", None), "result"),
    "no deal with a fault": (_set("fault", {"seat": 0, "text": "?"}), "the deal is over"),
    "winner": (_set("result", "winner", 1), "result.winner"),
    "unknown field": (_set("comment", "hello"), "comment"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_deal_is_named_with_its_fault(damage, tmp_path, capsys):
    break_it, reason = DAMAGE[damage]
    told = copy.deepcopy(TRIBUTE)
    break_it(told)
    path = tmp_path / "deals.jsonl"
    write_records(path, [DEALS[0], told, DEALS[1]])
    assert main(["verify", str(path), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["deals"], found["fault"]["deal"]) == (1, 2)
    found_fault = verify_file(path).fault
    assert found_fault is not None
    with pytest.raises(RecordError, match=reason):
        raise found_fault


@pytest.mark.parametrize("move", [1, 3, 40])
def test_the_move_at_fault_is_named(move, tmp_path, capsys):
    told = copy.deepcopy(GAME[0])
    told["moves"][move - 1]["seat"] = (told["moves"][move - 1]["seat"] + 1) % 4
    path = tmp_path / "deals.jsonl"
    write_records(path, [*DEALS[:3], told])
    assert main(["verify", str(path)]) == 1
    assert capsys.readouterr().out.startswith(f"deal 4, move {move}: seat ")


def test_the_levels_after_a_deal_are_checked():
    told = copy.deepcopy(GAME[0])
    told["result"]["after"]["last_run"][2] += 1
    with pytest.raises(RecordError, match=r"result\.after\.last_run\[2\]"):
        verify(told)
    told = copy.deepcopy(GAME[1])
    told["start"]["levels"] = list(reversed(told["start"]["levels"]))
    with pytest.raises(RecordError, match=r"start\.levels"):
        verify(told)


def test_the_first_of_many_faults_is_found_in_any_chunk(tmp_path, monkeypatch):
    monkeypatch.setattr(record_replay, "CHUNK", 8)
    many = [DEALS[i % len(DEALS)] for i in range(20)]
    for place in (17, 12, 8, 7, 3):
        broken = copy.deepcopy(many[place])
        broken["result"]["gain"] = broken["result"]["gain"] % 3 + 1
        many[place] = broken
        path = tmp_path / f"{place}.jsonl"
        write_records(path, many)
        found = verify_file(path)
        assert found.fault is not None
        assert (found.deals, found.fault.deal) == (place, place + 1)
    assert first_wrong(many) == 3


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"\xff\xfe\n", "not JSON"),
        (b'{"format": 1e999}\n', "format"),
        (b"[" * 100_000 + b"\n", "not JSON"),
        (b"[]\n", "a record is a JSON object"),
        (b'{"format":"guandan-record-v1","seed":NaN}\n', "NaN"),
        (b"\n", "not JSON"),
        (b"9" * 10_000 + b"\n", "not JSON"),
        (b" " * 1_000_001, "longer than"),
    ],
)
def test_what_is_no_record_is_named_by_its_line(text, reason, tmp_path):
    path = tmp_path / "deals.jsonl"
    write_records(path, DEALS[:2])
    path.write_bytes(path.read_bytes() + text)
    fault = verify_file(path).fault
    assert fault is not None
    assert fault.deal == 3
    assert reason in fault.reason


def test_a_file_that_is_not_there_is_an_error_of_usage(tmp_path, capsys):
    assert main(["verify", str(tmp_path / "none")]) == 2
    assert main(["verify", str(tmp_path)]) == 2
    assert "none" in capsys.readouterr().err


def test_one_record_is_read_without_looking_at_others(tmp_path):
    path = tmp_path / "deals.jsonl"
    write_records(path, DEALS[:2])
    path.write_bytes(b"rubbish\n" + path.read_bytes())
    assert read_record(path, 3) == DEALS[1]
    with pytest.raises(RecordError, match="deal 1: the line is not JSON"):
        read_record(path, 1)
    with pytest.raises(RecordError, match="has no deal 4; 1 to 3 are there"):
        read_record(path, 4)


# ---------------------------------------------------------------------- writing


def test_a_torn_last_line_is_named_and_cut_away_on_resuming(tmp_path):
    path = tmp_path / "deals.jsonl"
    with RecordWriter(path) as writer:
        writer.write(DEALS[0])
    whole = path.read_bytes()
    for torn in (b"{", b'{"format":"guandan-record-v1","act', whole[:-1], whole[:-40]):
        path.write_bytes(whole + torn)
        if not torn.endswith(b"}"):
            fault = verify_file(path).fault
            assert fault is not None
            assert "the file ends within this line" in fault.reason
        with RecordWriter(path, resume=True) as writer:
            assert writer.count == 1
        assert path.read_bytes() == whole


@pytest.mark.parametrize("foreign", [b"my diary", b"my diary\n", b"{}\n", b'{"a":1}'])
def test_a_file_of_something_else_is_left_as_it_is(tmp_path, foreign):
    path = tmp_path / "deals.jsonl"
    path.write_bytes(foreign)
    with pytest.raises(RecordError, match="deal 1"):
        RecordWriter(path, resume=True)
    with pytest.raises(RecordError, match="exists"):
        RecordWriter(path)
    with pytest.raises(RecordError, match="exists"):
        write_records(path, DEALS)
    assert path.read_bytes() == foreign


def test_all_or_none_are_written(tmp_path):
    path = tmp_path / "deals.jsonl"
    with pytest.raises(RecordError, match="JSON cannot hold"):
        write_records(path, [DEALS[0], {"value": float("nan")}])
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(RecordError, match="No such file"):
        write_records(tmp_path / "no" / "deals.jsonl", DEALS)


KILLED = """
import json, sys
from guandan_env.record_file import RecordWriter
told = json.loads(sys.stdin.readline())
with RecordWriter(sys.argv[1], resume=True) as writer:
    while True:
        writer.write(told)
        print(writer.count, flush=True)
"""


def test_a_killed_run_loses_nothing_that_was_written(tmp_path):
    path = tmp_path / "deals.jsonl"
    told = json.dumps(DEALS[0]).encode() + b"\n"
    least = 0
    for _ in range(2):
        words = [sys.executable, "-c", KILLED, str(path)]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
            run.stdin.write(told)
            run.stdin.flush()
            for _ in range(20):
                count = int(run.stdout.readline())
            os.kill(run.pid, signal.SIGKILL)
        assert count >= least + 20
        with RecordWriter(path, resume=True) as writer:
            assert writer.count >= count
            least = writer.count
    assert sum(1 for _ in read_records(path)) == least


# ---------------------------------------------------------------------- making records


def test_a_deal_that_is_not_over_has_no_result():
    engine = Engine(2, seed=5)
    starts = DealStarts(2)
    starts.note(engine.state, np.arange(2))
    for _ in range(30):
        decisions = engine.decisions()
        rows = np.zeros(2, dtype=np.int64)
        rows[decisions.index] = Greedy().act(decisions)
        engine.step(rows)
    told = deal_record(engine, 1, starts, players=["a\n", "b" * 999, "c", "d"])
    assert told["result"] is None
    assert len(told["moves"]) == 30
    assert told["players"][0] == "a\N{REPLACEMENT CHARACTER}"
    assert len(told["players"][1]) == 200
    verify(json.loads(json.dumps(told)))


def test_records_begin_at_the_beginning():
    engine = Engine(1, seed=5)
    starts = DealStarts(1)
    with pytest.raises(StateError, match="was not noted"):
        deal_record(engine, 0, starts, players=["a", "b", "c", "d"])
    engine.step(Greedy().act(engine.decisions()))
    with pytest.raises(StateError, match="begins with four whole hands"):
        starts.note(engine.state, np.array([0]))


def test_choices_are_kept_and_do_not_matter_to_the_rules():
    engine = Engine(1, seed=5, previous=None)
    starts = DealStarts(1)
    starts.note(engine.state, np.array([0]))
    engine.step(Greedy().act(engine.decisions()))
    choices = {0: [{"claim": "single 3", "value": 0.25}]}
    told = deal_record(engine, 0, starts, players=["a", "b", "c", "d"], choices=choices)
    assert told["moves"][0]["choices"] == choices[0]
    verify(told)


@pytest.mark.parametrize(
    "words", [["demo", "--deals", "3", "--minutes", "0"], ["play", "--seed", "3"]]
)
def test_what_plays_can_record(words, tmp_path, monkeypatch, capsys):
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO("1\n" * 3 + "quit\n"))
    path = tmp_path / "deals.jsonl"
    assert main([*words, "--record", str(path)]) == 0
    found = verify_file(path)
    assert found.fault is None
    assert found.deals == (6 if words[0] == "demo" else 1)
    assert main([*words, "--record", str(path)]) == 2
    assert "exists" in capsys.readouterr().err


def test_the_examples_of_the_document_work(file, tmp_path):
    text = (Path(__file__).parents[1] / "docs" / "records.md").read_text(encoding="utf-8")
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.S):
        exec(compile(block, "records.md", "exec"), names)
    turns = list(names["turns"](file))
    assert turns.count(-1) == len(DEALS + GAME)
    assert len(turns) == sum(len(told["moves"]) + 1 for told in DEALS + GAME)
    write_dataset([file], tmp_path / "decisions", validation=0, test=0)
    [(observation, mask, action, value)] = names["examples"](tmp_path / "decisions")
    assert len(observation) == len(mask) == len(action) == len(value) > 0
    assert (mask[np.arange(len(action)), action] == 1).all()


def test_the_document_names_every_field():
    text = (Path(__file__).parents[1] / "docs" / "records.md").read_text(encoding="utf-8")
    told = GAME[-1]
    moves = {name for record in DEALS + GAME for move in record["moves"] for name in move}
    for name in {*told, *told["start"], *told["result"], *moves}:
        assert f"`{name}`" in text, name
