"""Data sets of decisions: what is in them is what the agents saw, did and got."""

from __future__ import annotations

import copy
import json
import zipfile

import numpy as np
import pytest

from agents.greedy import Greedy
from agents.random_bot import Random
from eval.duplicate import Terms, play_pairs
from guandan_env.actions import FIRST_CARD, IS_PLAY, RESIST
from guandan_env.cards import KIND_OF
from guandan_env.cli import main
from guandan_env.dataset import (
    COLUMNS,
    SPLITS,
    DatasetError,
    describe_dataset,
    load_shards,
    unpack_mask,
)
from guandan_env.dataset_write import write_dataset
from guandan_env.observation import BLOCK, encode
from guandan_env.record_file import write_records
from guandan_env.record_replay import replay
from guandan_env.record_shape import RecordError
from guandan_env.rules import RuleSet


def recorded(preset: str, episode: str, pairs: int) -> list[dict]:
    terms = Terms(rules=RuleSet.preset(preset), episode=episode, record=True, seed=3)
    parts = play_pairs(Greedy(), Random(), 0, pairs, terms).records
    return json.loads(json.dumps([record for part in parts for record in part]))


DEALS = recorded("default", "deal", 20)
GAME = recorded("company", "game", 1)
UNFINISHED = {**copy.deepcopy(DEALS[0]), "result": None, "moves": DEALS[0]["moves"][:9]}


@pytest.fixture
def files(tmp_path):
    paths = [tmp_path / "deals.jsonl", tmp_path / "game.jsonl"]
    write_records(paths[0], [*DEALS[:3], UNFINISHED, *DEALS[3:]])
    write_records(paths[1], GAME)
    return paths


@pytest.fixture
def folder(files, tmp_path):
    write_dataset(files, tmp_path / "set", shard_size=700, validation=0.2, test=0.2)
    return tmp_path / "set"


def whole(folder) -> dict[str, np.ndarray]:
    """All decisions, in the order of deals and moves."""
    shards = [shard for split in SPLITS for shard in load_shards(folder, split)]
    joined = {name: np.concatenate([shard[name] for shard in shards]) for name in shards[0]}
    order = np.lexsort((joined["move"], joined["deal"]))
    return {name: array[order] for name, array in joined.items()}


def test_every_decision_is_there_as_it_was(folder):
    data = whole(folder)
    agents = describe_dataset(folder)["agents"]
    at = 0
    for number, told in enumerate(DEALS + GAME):
        moves = [move for move in told["moves"] if move["move"] != "yield"]
        engines = replay(told)
        result = told["result"]
        for count, (engine, move) in enumerate(zip(engines, moves, strict=False)):
            if number % 5 == 0:
                decisions = engine.decisions()
                np.testing.assert_array_equal(data["observation"][at], encode(decisions)[0])
                np.testing.assert_array_equal(unpack_mask(data["mask"][at]), decisions.mask[0])
            assert (data["deal"][at], data["move"][at]) == (number, count)
            assert data["action"][at] == move["row"]
            assert data["seat"][at] == move["seat"]
            assert agents[data["agent"][at]] == told["players"][move["seat"]]
            counts = np.bincount([KIND_OF[c] for c in move.get("cards", "").split()], minlength=54)
            np.testing.assert_array_equal(data["cards"][at], counts)
            won = move["seat"] % 2 == result["side"]
            assert data["return"][at] == (1 if won else -1) * result["gain"]
            assert data["place"][at] == 1 + result["order"].index(move["seat"])
            at += 1
    assert at == len(data["deal"]) == describe_dataset(folder)["decisions"]


def test_actions_are_legal_and_cards_are_held(folder):
    data = whole(folder)
    rows = np.arange(len(data["action"]))
    assert (unpack_mask(data["mask"])[rows, data["action"]] == 1).all()
    hand = data["observation"][:, BLOCK["hand"].slice]
    assert (data["cards"] <= hand).all()
    some = data["cards"].any(axis=1)
    is_card = (data["action"] >= FIRST_CARD) & (data["action"] < RESIST)
    np.testing.assert_array_equal(some, IS_PLAY[data["action"]] | is_card)


def test_splits_are_by_cards_and_do_not_depend_on_the_rest(files, folder, tmp_path):
    split_of: dict[tuple, int] = {}
    with np.load(folder / "deals.npz") as deals:
        records = [[*DEALS[:3], UNFINISHED, *DEALS[3:]], GAME]
        for source, record, split, rules in zip(
            deals["source"], deals["record"], deals["split"], deals["rules"], strict=True
        ):
            told = records[source][record - 1]
            assert split_of.setdefault(tuple(told["start"]["hands"]), split) == split
            assert describe_dataset(folder)["rules"][rules] == told["rules"]
        assert set(deals["split"].tolist()) == {0, 1, 2}
        for which, name in enumerate(SPLITS):
            numbers = np.concatenate([s["deal"] for s in load_shards(folder, name)])
            assert set(numbers) == set(np.flatnonzero(deals["split"] == which))
    alone = tmp_path / "alone.jsonl"
    write_records(alone, [DEALS[7]])
    described = write_dataset([alone], tmp_path / "one", validation=0.2, test=0.2)
    [name] = [name for name, s in described["splits"].items() if s["deals"]]
    assert SPLITS.index(name) == split_of[tuple(DEALS[7]["start"]["hands"])]


def test_shards_have_their_size_and_their_description(folder):
    described = describe_dataset(folder)
    assert described["deals"] == len(DEALS) + len(GAME)
    assert described["deals_left_out"] == 1
    for split in SPLITS:
        shards = list(load_shards(folder, split))
        sizes = [len(shard["seat"]) for shard in shards]
        assert all(size == 700 for size in sizes[:-1])
        assert sum(sizes) == described["splits"][split]["decisions"] > 0
        for shard in shards:
            assert list(shard) == [column.name for column in COLUMNS]
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert all(f"`{column.name}`" in card for column in COLUMNS)
    assert sum(described["agent_decisions"]) == described["decisions"]


def test_the_same_records_give_the_same_bytes(files, folder, tmp_path):
    write_dataset(files, tmp_path / "again", shard_size=700, validation=0.2, test=0.2)
    for path in folder.iterdir():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()


def test_numpy_alone_reads_it(folder):
    with np.load(folder / "train-00000.npz", allow_pickle=False) as shard:
        mask = np.unpackbits(shard["mask"], axis=1, count=2244, bitorder="little")
        assert mask[np.arange(len(mask)), shard["action"]].all()


def test_a_fault_leaves_nothing_behind(files, tmp_path):
    broken = copy.deepcopy(DEALS[4])
    broken["moves"][30]["seat"] = (broken["moves"][30]["seat"] + 1) % 4
    write_records(tmp_path / "broken.jsonl", [DEALS[0], broken])
    before = set(tmp_path.iterdir())
    with pytest.raises(RecordError, match=r"deal 2, move 31: '.*broken.jsonl': seat"):
        write_dataset([files[0], tmp_path / "broken.jsonl"], tmp_path / "set")
    (tmp_path / "torn.jsonl").write_bytes((tmp_path / "deals.jsonl").read_bytes()[:-9])
    with pytest.raises(RecordError, match="the file ends within this line"):
        write_dataset([tmp_path / "torn.jsonl"], tmp_path / "set")
    (tmp_path / "torn.jsonl").unlink()
    write_records(tmp_path / "left.jsonl", [UNFINISHED])
    with pytest.raises(DatasetError, match="no deal that was played to its end"):
        write_dataset([tmp_path / "left.jsonl"], tmp_path / "set")
    (tmp_path / "left.jsonl").unlink()
    assert set(tmp_path.iterdir()) == before


def test_what_cannot_be_done_is_said(files, tmp_path):
    (tmp_path / "set").mkdir()
    for out, options, reason in (
        ("set", {}, "exists"),
        ("no/set", {}, "No such file"),
        ("new", {"validation": 0.5, "test": 0.5}, "together below 1"),
        ("new", {"test": -0.1}, "together below 1"),
        ("new", {"test": float("nan")}, "together below 1"),
        ("new", {"shard_size": 0}, "shard_size is 0"),
    ):
        with pytest.raises(DatasetError, match=reason):
            write_dataset(files, tmp_path / out, **options)
    assert list((tmp_path / "set").iterdir()) == []


def _cut(path):
    path.write_bytes(path.read_bytes()[:-200])


def _flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 255
    path.write_bytes(data)


def _pickled(path):
    with np.load(path) as file:
        arrays = dict(file)
    arrays["agent"] = np.array([{"a": 1}] * len(arrays["seat"]), dtype=object)
    np.savez(path, **arrays)


def _other_shape(path):
    with np.load(path) as file:
        arrays = dict(file)
    arrays["observation"] = arrays["observation"][:, :-1]
    np.savez(path, **arrays)


def _lacking(path):
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files if name != "mask"}
    np.savez(path, **arrays)


def _one_array(path):
    with open(path, "wb") as file:
        np.save(file, np.arange(5))


def _no_array(path):
    with zipfile.ZipFile(path, "w") as file:
        for column in COLUMNS:
            file.writestr(f"{column.name}.npy", b"nothing")


@pytest.mark.parametrize(
    "damage",
    [_cut, _flip, _pickled, _other_shape, _lacking, _no_array, _one_array,
     lambda path: path.unlink(),
     lambda path: path.write_bytes(b""), lambda path: path.write_bytes(b"rubbish")],
)  # fmt: skip
def test_a_damaged_shard_is_named(folder, damage):
    damage(folder / "train-00000.npz")
    with pytest.raises(DatasetError, match="train-00000"):
        list(load_shards(folder))


@pytest.mark.parametrize(
    "change",
    [{"format": "x"}, {"observation": "observation-v0"}, {"actions": None}, {"shards": None},
     {"shards": {"../train-00000.npz": 5}}, {"shards": {"train-00000.npz": "5"}},
     {"shards": {"train-00000.npz": 5}}],
)  # fmt: skip
def test_a_description_that_does_not_fit_is_refused(folder, change):
    path = folder / "dataset.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(DatasetError):
        list(load_shards(folder))


@pytest.mark.parametrize("text", ["", "[]", "{}", "[" * 100_000, '"x"'])
def test_a_folder_without_a_description_is_refused(folder, text):
    (folder / "dataset.json").write_text(text)
    with pytest.raises(DatasetError, match=r"dataset\.json"):
        describe_dataset(folder)
    (folder / "dataset.json").unlink()
    with pytest.raises(DatasetError, match="No such file"):
        list(load_shards(folder))


def test_the_command(files, tmp_path, capsys):
    words = ["dataset", *map(str, files), "--out", str(tmp_path / "set")]
    assert main(words) == 0
    assert "Not finished and left out: 1" in capsys.readouterr().out
    assert main(words) == 2
    assert "exists" in capsys.readouterr().err
    words[-1] = str(tmp_path / "other")
    assert main([*words, "--json", "--test", "0"]) == 0
    assert json.loads(capsys.readouterr().out) == describe_dataset(tmp_path / "other")
    assert list(load_shards(tmp_path / "other", "test")) == []
