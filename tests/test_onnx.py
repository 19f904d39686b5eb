"""Networks as ONNX models: they play as the network that they were made from, and describe it."""

import json

import numpy as np
import onnx
import pytest
import torch

from agents import AgentError, make
from agents.networks import CandidateNetwork, NetworkConfig
from agents.onnx_file import INPUTS, KEY
from agents.policy_net import NetworkPlayer
from agents.weights import WeightsError, save_network
from guandan_env.cli import main
from guandan_env.engine import Engine
from guandan_env.errors import GuandanError


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """The shipped policy, exported by the command."""
    path = tmp_path_factory.mktemp("onnx") / "ppo.onnx"
    assert main(["export", "ppo:pretrained", str(path)]) == 0
    return path


def test_it_chooses_what_the_network_chooses(shipped):
    network, model = make("ppo:pretrained"), make(f"onnx:{shipped}")
    engine = Engine(256, seed=77, episode="game")
    same = asked = 0
    for _ in range(45):
        decisions = engine.decisions()
        rows = network.act(decisions)
        same += int((rows == model.act(decisions)).sum())
        asked += len(decisions)
        over = engine.step(rows).over
        engine.start(np.flatnonzero(over))
    assert asked > 10_000
    assert same / asked >= 0.9999


def test_the_file_is_named_after_the_learner(tmp_path, monkeypatch, capsys):
    torch.manual_seed(0)
    weights = tmp_path / "small.safetensors"
    save_network(weights, CandidateNetwork(NetworkConfig(16, 0, 8, 4)), {})
    monkeypatch.chdir(tmp_path)
    assert main(["export", f"dmc:{weights}", "--onnx"]) == 0
    assert "onnx:dmc.onnx" in capsys.readouterr().out
    assert make("onnx:dmc.onnx").about["kind"] == "dmc"
    assert main(["export", f"dmc:{weights}", "--onnx"]) == 2
    assert "dmc.onnx exists" in capsys.readouterr().err


def test_any_number_of_decisions_fits(shipped):
    agent = make(f"onnx:{shipped}")
    engine = Engine(5, seed=1)
    rows = agent.act(engine.decisions())
    for k in range(5):
        assert agent.act(engine.decisions(np.array([k])))[0] == rows[k]
    assert agent.act(engine.decisions(np.array([], dtype=int))).shape == (0,)


def test_the_file_says_what_it_takes(shipped, capsys):
    (prop,) = onnx.load(shipped).metadata_props
    assert prop.key == KEY
    told = json.loads(prop.value)
    assert told["inputs"] == INPUTS
    assert told["observation"] == "observation-v1"
    assert told["about"]["kind"] == "ppo"
    assert make(f"onnx:{shipped}").version == make("ppo:pretrained").version


def test_what_cannot_be_exported_is_said(tmp_path, shipped, capsys):
    before = shipped.read_bytes()
    for words, message in (
        (["ppo:pretrained", str(shipped)], "exists"),
        (["greedy", str(tmp_path / "b.onnx")], "no trained network"),
        (["ppo:pretrained", str(tmp_path / "none" / "b.onnx")], "is no folder"),
    ):
        assert main(["export", *words]) == 2
        assert message in capsys.readouterr().err
    assert shipped.read_bytes() == before


def test_other_files_are_refused(tmp_path, shipped):
    with pytest.raises(WeightsError, match="cannot be read"):
        make(f"onnx:{tmp_path / 'none.onnx'}")
    damaged = tmp_path / "damaged.onnx"
    for content in (b"", b"no model", shipped.read_bytes()[:5000]):
        damaged.write_bytes(content)
        with pytest.raises(WeightsError, match=r"is no ONNX model|was made for"):
            make(f"onnx:{damaged}")
    with pytest.raises(AgentError, match="threads is -1"):
        make(f"onnx:{shipped}?threads=-1")
    model = onnx.load(shipped)
    for described, message in (
        ("nonsense", "no JSON"),
        ("[]", "was made for format None"),
        ('{"format": "guandan-network-v0"}', "this version has"),
    ):
        onnx.helper.set_model_props(model, {KEY: described})
        onnx.save(model, damaged)
        with pytest.raises(WeightsError, match=message):
            make(f"onnx:{damaged}")


def test_a_small_network_too(tmp_path, capsys):
    torch.manual_seed(0)
    network = CandidateNetwork(NetworkConfig(16, 0, 8, 4))
    save_network(tmp_path / "small.safetensors", network, {"note": "新"})
    path = tmp_path / "small.onnx"
    assert main(["export", f"dmc:{tmp_path / 'small.safetensors'}", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["inputs"] == INPUTS
    agent = make(f"onnx:{path}")
    decisions = Engine(64, seed=2).decisions()
    np.testing.assert_array_equal(agent.act(decisions), NetworkPlayer(network, "x").act(decisions))
    assert agent.about == {"kind": "dmc", "note": "新"}
    assert issubclass(WeightsError, GuandanError)
