"""What networks are given, how candidates are chosen, and weights in files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from agents import AgentError, make
from agents.candidates import CANDIDATE_FEATURES, Inputs, inputs_of
from agents.choosing import best, drawn
from agents.networks import ROWS, CandidateNetwork, NetworkConfig, Tensors, log_softmax
from agents.planner import Planner
from agents.policy_net import NetworkPlayer
from agents.weights import WeightsError, load_network, save_network
from guandan_env import legality, observation, randomness
from guandan_env.actions import ROW_SIZE
from guandan_env.cli import main
from guandan_env.decisions import Decisions
from guandan_env.engine import Engine
from guandan_env.errors import GuandanError
from guandan_env.state import Phase

TINY = NetworkConfig(width=16, blocks=1, candidate_width=8, row_width=4)
NAMES = list(CANDIDATE_FEATURES)


def positions(tables: int = 24, moves: int = 40, seed: int = 3) -> Decisions:
    """Decisions in the middle of deals that planner plays."""
    engine, planner = Engine(tables, seed=seed), Planner()
    for _ in range(moves):
        rows = np.zeros(tables, dtype=np.int64)
        decisions = engine.decisions()
        rows[decisions.index] = planner.act(decisions)
        engine.step(rows)
    return engine.decisions()


def beginnings(tables: int = 64) -> Decisions:
    """First decisions, half of them in tribute."""
    return Engine(tables, seed=1).decisions()


def network(seed: int = 0) -> CandidateNetwork:
    torch.manual_seed(seed)
    return CandidateNetwork(TINY).eval()


# ------------------------------------------------------------------ inputs


def test_inputs_hold_the_observation_and_the_legal_rows():
    for decisions in (positions(), beginnings()):
        inputs = inputs_of(decisions)
        assert (inputs.observation == observation.encode(decisions)).all()
        mask = np.zeros((len(inputs), 2244), dtype=np.int8)
        mask[inputs.of, inputs.rows] = 1
        assert (mask == decisions.mask).all()
        assert (inputs.number == legality.count(decisions.packed)).all()
        assert inputs.features.shape == (len(inputs.rows), len(NAMES))
        assert np.isfinite(inputs.features).all()


def test_candidate_features_agree_with_the_planner_that_scores_by_them():
    decisions = positions()
    decisions = decisions.take(np.flatnonzero(decisions.phase == Phase.PLAY))
    plays, _ = Planner().scores(decisions)
    inputs = inputs_of(decisions)
    assert (inputs.rows == plays.rows).all()
    features = dict(zip(NAMES, inputs.features.T.astype(np.float64), strict=True))
    for name, scale in {
        "value": 4, "turns": 8, "out": 1, "one_left": 1, "stand": 1, "sure": 1, "control": 1,
        "singles_left": 8, "strong_pairs_left": 4, "wilds_left": 2, "feeds_next": 1,
        "stand_near": 1, "pass_stand": 1, "bombs_left": 2,
    }.items():  # fmt: skip
        wanted = plays.values[name].astype(np.float64)
        assert np.allclose(features[name] * scale, wanted, rtol=2e-3, atol=2e-3), name
    held = decisions.counts[np.arange(len(decisions)), decisions.seat]
    assert ((features["out"] == 1) == (ROW_SIZE[inputs.rows] == held[inputs.of])).all()


def test_inputs_do_not_depend_on_the_batch():
    for decisions in (positions(), beginnings()):
        whole = inputs_of(decisions)
        for i in range(0, len(decisions), 5):
            one, same = inputs_of(decisions.take(np.array([i]))), whole.take(np.array([i]))
            assert (one.rows == same.rows).all()
            assert (one.features == same.features).all()
    many = inputs_of(positions(tables=700, moves=3))
    first = inputs_of(positions(tables=700, moves=3).take(np.arange(650, 700)))
    assert (many.take(np.arange(650, 700)).features == first.features).all()


def test_inputs_are_taken_and_joined():
    inputs = inputs_of(positions())
    chosen = np.array([5, 2, 5])
    some = inputs.take(chosen)
    assert some.number.tolist() == inputs.number[chosen].tolist()
    for i, j in enumerate(chosen):
        mine = some.rows[some.start[i] : some.start[i] + some.number[i]]
        assert (mine == inputs.rows[inputs.of == j]).all()
    both = Inputs.join([some, inputs])
    again = both.take(np.arange(3, len(both)))
    assert (again.rows == inputs.rows).all()
    assert (again.features == inputs.features).all()


# ------------------------------------------------------------------ choosing


def test_log_softmax_is_that_of_each_decision_alone():
    number = np.array([1, 4, 2, 7])
    of = torch.from_numpy(np.repeat(np.arange(4), number))
    scores = torch.randn(14, generator=torch.Generator().manual_seed(1)) * 30
    found = log_softmax(scores, of, 4)
    slow = torch.cat([torch.log_softmax(scores[of == i], 0) for i in range(4)])
    assert torch.allclose(found, slow, atol=1e-5)


def test_log_softmax_has_the_gradient_of_each_decision_alone():
    of = torch.tensor([0, 0, 1, 1, 1])
    scores = torch.tensor([0.3, -1.0, 2.0, 0.1, 0.2], requires_grad=True)
    log_softmax(scores, of, 2)[torch.tensor([1, 2])].sum().backward()
    found = scores.grad.clone()
    scores.grad = None
    slow = torch.log_softmax(scores[:2], 0)[1] + torch.log_softmax(scores[2:], 0)[0]
    slow.backward()
    assert torch.allclose(found, scores.grad, atol=1e-6)


def some_inputs(number: list[int], rows: list[int]) -> Inputs:
    n, m = len(number), sum(number)
    return Inputs(
        np.zeros((n, observation.SIZE), dtype=np.int8),
        np.array(number),
        np.array(rows, dtype=np.int16),
        np.zeros((m, len(NAMES)), dtype=np.float16),
    )


def test_best_is_the_first_of_the_highest():
    inputs = some_inputs([3, 1, 2], [4, 5, 6, 0, 1, 2])
    scores = np.array([1.0, 3.0, 3.0, -np.inf, 5.0, 4.0])
    assert best(scores, inputs).tolist() == [1, 0, 0]


def test_drawn_follows_the_softmax():
    n = 20_000
    p = np.array([0.6, 0.3, 0.1])
    inputs = some_inputs([3] * n, [7, 8, 900] * n)
    keys = randomness.key(5, np.arange(n))
    place = drawn(np.tile(np.log(p), n), inputs, keys)
    share = np.bincount(place, minlength=3) / n
    assert np.abs(share - p).max() < 4 * np.sqrt(0.25 / n)


def test_drawn_depends_on_key_and_row_only():
    scores = np.array([0.1, 0.2, 0.3, 0.4, 0.0])
    inputs = some_inputs([3, 2], [3, 9, 11, 0, 5])
    keys = randomness.key(1, np.arange(2))
    both = drawn(scores, inputs, keys)
    second = drawn(scores[3:], some_inputs([2], [0, 5]), keys[1:])
    assert both[1] == second[0]


# ------------------------------------------------------------------ the network


def test_scores_do_not_depend_on_the_batch():
    inputs = inputs_of(positions())
    net = network()
    with torch.inference_mode():
        whole = net(Tensors.of_inputs(inputs)).numpy()
        for i in range(0, len(inputs), 7):
            one = net(Tensors.of_inputs(inputs.take(np.array([i])))).numpy()
            assert np.allclose(one, whole[inputs.of == i], atol=1e-4)


@torch.inference_mode()
def test_half_precision_multiplies_few_shapes_and_scores_the_same(monkeypatch):
    """However many decisions there are, products of matrices have a multiple of 128 rows."""
    shapes = set()
    plain = torch.nn.functional.linear

    def noted(x, *more):
        if x.dtype == torch.bfloat16:
            shapes.add(x.shape[0])
        return plain(x, *more)

    monkeypatch.setattr(torch.nn.functional, "linear", noted)
    net = network()
    inputs = inputs_of(positions(tables=300))
    assert len(inputs) > ROWS
    for n in (1, 7, ROWS, len(inputs)):
        x = Tensors.of_inputs(inputs.take(np.arange(n)))
        exact = net(x)
        with torch.autocast("cpu", torch.bfloat16):
            scores = net(x)
        assert scores.shape == exact.shape
        assert torch.allclose(scores, exact, atol=0.1)
    assert shapes == {ROWS, -(-len(inputs) // ROWS) * ROWS}


def test_the_network_keeps_to_the_device_it_is_on(meta_device):
    """Nothing on the way to probabilities lies elsewhere."""
    inputs = inputs_of(positions())
    x = Tensors.of_inputs(inputs, meta_device)
    log_p = log_softmax(network().to(meta_device)(x), x.of, len(x))
    assert log_p.shape == inputs.rows.shape
    assert log_p.device.type == meta_device


def test_every_parameter_has_a_say():
    net = network()
    for p in net.parameters():  # the last layers of blocks begin at zero and would hide others
        torch.nn.init.normal_(p, std=0.3)
    x = Tensors.of_inputs(inputs_of(beginnings()))
    log_softmax(net(x), x.of, len(x)).square().sum().backward()
    silent = [
        name for name, p in net.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0
    ]
    # A softmax does not see what is added to all candidates.
    assert silent in ([], ["score.bias"])


def test_player_chooses_what_scores_best_and_asks_only_where_there_is_a_choice(monkeypatch):
    decisions = positions()
    net = network()
    asked = []
    forward = net.forward
    monkeypatch.setattr(net, "forward", lambda x: asked.append(len(x)) or forward(x))
    rows = NetworkPlayer(net, "tiny").act(decisions)
    free = np.flatnonzero(legality.count(decisions.packed) > 1)
    assert 0 < len(free) < len(decisions)
    assert asked == [len(free)]
    inputs = inputs_of(decisions.take(free))
    with torch.inference_mode():
        scores = forward(Tensors.of_inputs(inputs)).numpy()
    for i, at in enumerate(free):
        mine = inputs.of == i
        assert rows[at] == inputs.rows[mine][np.argmax(scores[mine])]
    assert legality.is_set(decisions.packed, rows).all()


# ------------------------------------------------------------------ files


def test_networks_are_saved_and_loaded(tmp_path):
    net = network()
    save_network(tmp_path / "a.safetensors", net, {"moves": 7})
    again, about = load_network(tmp_path / "a.safetensors")
    assert about == {"moves": 7}
    assert again.config == TINY
    for name, tensor in net.state_dict().items():
        assert torch.equal(tensor, again.state_dict()[name]), name


def test_files_that_do_not_fit_are_refused_with_the_reason(tmp_path):
    path, meta = tmp_path / "a.safetensors", tmp_path / "a.json"
    save_network(path, network(), {})
    good, text = path.read_bytes(), meta.read_text()

    def refused(words: str) -> None:
        with pytest.raises(WeightsError, match=words):
            load_network(path)
        path.write_bytes(good)
        meta.write_text(text)

    path.write_bytes(good[:-5])
    refused("damaged")
    path.write_bytes(b"")
    refused("damaged")
    meta.write_text(text[:20])
    refused("no JSON")
    meta.write_text("[]")
    refused("an object")
    for name in ("actions", "observation", "candidates", "format"):
        meta.write_text(json.dumps({**json.loads(text), name: "other-v9"}))
        refused(f"made for {name} 'other-v9'")
    for sizes in ({"width": 16}, None, {**json.loads(text)["network"], "blocks": -1}):
        meta.write_text(json.dumps({**json.loads(text), "network": sizes}))
        refused("network is")
    meta.write_text(json.dumps({**json.loads(text), "network": {**TINY.__dict__, "width": 24}}))
    refused("the network has")
    meta.unlink()
    refused("cannot be read")


def test_weights_that_are_not_finite_are_refused(tmp_path):
    net = network()
    with torch.no_grad():
        net.own[3, 1] = torch.nan
    save_network(tmp_path / "a.safetensors", net, {})
    with pytest.raises(WeightsError, match="not finite"):
        load_network(tmp_path / "a.safetensors")


def test_ppo_specs(tmp_path):
    net = network()
    (tmp_path / "best").mkdir()
    save_network(tmp_path / "best" / "policy.safetensors", net, {"moves": 12})
    decisions = positions()
    expected = NetworkPlayer(net, "x").act(decisions)
    for target in (tmp_path, tmp_path / "best", tmp_path / "best" / "policy.safetensors"):
        agent = make(f"ppo:{target}")
        assert (agent.act(decisions) == expected).all()
    cold = make(f"ppo:{tmp_path}?sample=true&temperature=0.01")
    hot = make(f"ppo:{tmp_path}?sample=true&temperature=50")
    assert (cold.act(decisions) == expected).mean() > (hot.act(decisions) == expected).mean()
    assert (hot.act(decisions) == hot.act(decisions)).all()
    with pytest.raises(AgentError, match="temperature is 0; a number from"):
        make(f"ppo:{tmp_path}?temperature=0")
    with pytest.raises(AgentError, match="sample is 3"):
        make(f"ppo:{tmp_path}?sample=3")
    (tmp_path / "empty").mkdir()
    with pytest.raises(GuandanError, match=r"holds no policy\.safetensors"):
        make(f"ppo:{tmp_path / 'empty'}")
    with pytest.raises(GuandanError, match="nothing is no file of weights"):
        make(f"ppo:{tmp_path / 'nothing'}")


@pytest.mark.parametrize("kind", ["ppo", "dqn", "dmc"])
def test_a_network_plays_only_as_what_made_it(tmp_path, monkeypatch, capsys, kind):
    monkeypatch.chdir(tmp_path)
    for made_by in ("ppo", "dqn", "dmc", ["odd"]):
        save_network(Path("a.safetensors"), network(), {"kind": made_by})
        if made_by == kind:
            assert make(f"{kind}:a.safetensors").about["kind"] == kind
            continue
        with pytest.raises(GuandanError, match=f"was made by .*, not by {kind}"):
            make(f"{kind}:a.safetensors")
        for words in (
            ["export", f"{kind}:a.safetensors", "a.onnx"],
            ["train", kind, "--set", "start=a.safetensors", "--out", "run"],
        ):
            assert main(words) == 2
            assert f"not by {kind}" in capsys.readouterr().err
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["a.json", "a.safetensors"]
