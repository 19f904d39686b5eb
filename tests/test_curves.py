"""`guandan curves`: learning curves of runs, read, joined over seeds, and drawn."""

import json
import re

import numpy as np
import pytest

from guandan_env.cli import main
from train import log
from train.curves import (
    _COLORS,
    _NUMBERS,
    Curve,
    CurveError,
    Group,
    _look,
    as_dict,
    draw,
    groups,
    opponents,
    read,
)

HEAD = ",".join(log.COLUMNS)


def line(moves, won, against="greedy", hours=None):
    hours = moves / 1e6 if hours is None else hours
    low, high = max(won - 0.1, 0), min(won + 0.1, 1)
    return f"1,{moves},{moves},9,{hours},{against},{won},{low},{high},0.5"


@pytest.fixture
def run(tmp_path):
    """Makes the folder of a run from lines of its curve."""

    def made(name, *lines, head=HEAD):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "curve.csv").write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
        return folder

    return made


@pytest.fixture
def two(run):
    """Two seeds: evaluated at 100, 300 and at 200, 400 thousand moves."""
    a = run("a", line(100_000, 0.2), line(100_000, 0.1, "planner"), line(300_000, 0.6),
            line(300_000, 0.5, "best"))  # fmt: skip
    b = run("b", line(200_000, 0.2), line(400_000, 0.4))
    return a, b


def test_what_a_run_writes_is_read(two):
    curves = read(two[0])
    assert set(curves) == {"greedy", "planner", "best"}
    assert curves["greedy"].moves.tolist() == [100_000, 300_000]
    assert curves["greedy"].won.tolist() == [0.2, 0.6]
    assert np.allclose(curves["greedy"].low, [0.1, 0.5])
    assert read(two[0] / "curve.csv")["greedy"].hours.tolist() == [0.1, 0.3]
    assert {*_NUMBERS, "against"} <= set(log.COLUMNS)


def test_shipped_curves_are_curves():
    from agents.policy_net import _SHIPPED

    for run in ("ppo-first-stage", "ppo", "dqn", "dmc"):
        assert len(read(_SHIPPED / f"{run}-curve.csv")["planner"]) > 1


def test_seeds_are_joined_where_all_were_under_way(two):
    group = Group("both", tuple(read(path) for path in two))
    joined = group.over("moves", "greedy")
    assert joined.moves.tolist() == [200_000, 300_000]
    assert np.allclose(joined.won, [(0.4 + 0.2) / 2, (0.6 + 0.3) / 2])
    assert np.allclose(joined.low, [0.2, 0.3])
    assert np.allclose(joined.high, [0.4, 0.6])
    assert group.band == "range of the runs"
    assert np.allclose(group.over("hours", "greedy").hours, [0.2, 0.3])
    assert group.over("moves", "planner").won.tolist() == [0.1]  # only one of them met it
    assert group.over("moves", "random") is None


def test_seeds_without_a_common_time_are_refused(run, capsys):
    a, b = run("a", line(100, 0.2), line(200, 0.3)), run("b", line(300, 0.2))
    assert main(["curves", f"x={a},{b}", "--json"]) == 2
    message = "x, against greedy: there are no moves at which all 2 runs were under way"
    assert message in capsys.readouterr().err


def test_labels(two, monkeypatch):
    a, b = two
    monkeypatch.chdir(a.parent)
    labels = [group.label for group in groups(["a", f"{b}/curve.csv", "x=a,b", "a,b"])]
    assert labels == ["a", "b", "x", "a, b"]
    (a.parent / "y=1").mkdir()
    (a.parent / "y=1" / "curve.csv").write_bytes((a / "curve.csv").read_bytes())
    assert [group.label for group in groups(["y=1"])] == ["y=1"]
    monkeypatch.chdir(a)
    assert [group.label for group in groups(["."])] == ["a"]
    with pytest.raises(CurveError, match=r"two curves are called 'a'; name them: LABEL=RUN"):
        groups([".", "curve.csv"])
    for word in ("x=", "x=.,", ""):
        with pytest.raises(CurveError, match="names no run"):
            groups([word])


def test_opponents_are_those_that_stay_the_same(two):
    found = groups([str(two[0]), str(two[1])])
    assert opponents(found, []) == ["greedy", "planner"]
    assert opponents(found, ["best", "greedy", "best"]) == ["best", "greedy"]
    with pytest.raises(CurveError, match=r"'gredy' \(did you mean 'greedy'\?\).* planner"):
        opponents(found, ["gredy"])
    with pytest.raises(CurveError, match=r"b has no evaluation against planner, only .* greedy"):
        opponents(found, ["planner"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (HEAD.encode(), "holds no evaluation yet"),
        (b"\x89PNG\x00\xff", "it is no text"),
        (b"name,price\napple,3\n", "no curve: its first line lacks moves, hours, won, low, high"),
        (f"{HEAD}\n1,2,3\n".encode(), "line 2: it has not as many values"),
        (f"{HEAD}\n{line(1, 0.5)},7\n".encode(), "line 2: it has not as many values"),
        (f"{HEAD}\n{line('x', 0.5, hours=0)}".encode(), "line 2: moves is 'x'; a number from 0 is"),
        (f"{HEAD}\n{line(1, 0.5).replace('0.5', '1.5')}".encode(), "won is '1.5'; a number from 0"),
        (f"{HEAD}\n{line(1, 0.5, hours='nan')}".encode(), "hours is 'nan'"),
        (f"{HEAD}\n{line(2, 0.5)}\n{line(1, 0.5)}".encode(), "moves or hours go back"),
        (f'{HEAD}\n"1,2'.encode(), "no curve: unexpected end of data"),
    ],
)
def test_other_files_are_refused(text, message, tmp_path, capsys):
    file = tmp_path / "curve.csv"
    file.write_bytes(text)
    assert main(["curves", str(tmp_path), "--out", str(tmp_path / "x.svg")]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert str(file) in err
    assert not (tmp_path / "x.svg").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing", "--json"], "nothing is missing: there is nothing of this name"),
        (["empty", "--json"], "curve.csv is missing: it is no folder of a run"),
        (["a"], "--out FILE draws, --json prints"),
        (["a", "--out", "x.pdf"], "--out is x.pdf; a name that ends in .svg or .png"),
        (["a", "--out", "no/x.svg"], "no/x.svg cannot be written: No such file"),
        (["a", "--against", "human", "--json"], "no evaluation against 'human'"),
    ],
)
@pytest.mark.usefixtures("two")
def test_bad_input_is_refused(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    assert main(["curves", *words]) == 2
    assert message in capsys.readouterr().err


def test_a_picture_says_what_it_shows(two, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["curves", "both=a,b", "a", "--out", "x.svg"]) == 0
    assert "x.svg: both, a against greedy, planner" in capsys.readouterr().out
    picture = (tmp_path / "x.svg").read_text(encoding="utf-8")
    words = set(re.findall(r">([^<>\n]+)</text>", picture))
    assert {
        "both, 2 runs (range of the runs)", "a (95% interval)", "deals won against greedy",
        "deals won against planner", "thousand moves", "minutes of training",
    } <= words  # fmt: skip
    assert main(["curves", "both=a,b", "a", "--out", "y.svg"]) == 0
    assert (tmp_path / "y.svg").read_text(encoding="utf-8") == picture


def test_a_png_is_drawn(two, tmp_path):
    out = tmp_path / "x.PNG"
    assert main(["curves", str(two[1]), "--out", str(out)]) == 0
    assert out.read_bytes().startswith(b"\x89PNG")


def test_lines_lie_where_the_numbers_are(two, monkeypatch):
    """The lines that are drawn, taken from the figure on its way to the file."""
    from matplotlib.figure import Figure

    drawn = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: drawn.append(figure))
    found = groups([str(two[0]), str(two[1])])
    draw(found, ["greedy"], "svg")
    left, right = drawn[0].axes
    points = [axes.get_lines()[0].get_xydata().tolist() for axes in (left, right)]
    assert np.allclose(points[0], [(100, 0.2), (300, 0.6)])
    assert np.allclose(points[1], [(6, 0.2), (18, 0.6)])
    band = left.collections[0].get_paths()[0].vertices
    assert np.allclose(sorted(set(band[:, 1].round(6))), [0.1, 0.3, 0.5, 0.7])


def test_no_band_is_cut_off(two, monkeypatch):
    """Over hours there is more to draw than over moves; both panels share their heights."""
    from matplotlib.figure import Figure

    a = [line(100_000, 0.1), line(200_000, 0.5), line(300_000, 0.9)]
    b = [line(200_000, 0.5, hours=0.1), line(300_000, 0.9, hours=0.3)]
    for folder, lines in zip(two, (a, b), strict=True):
        (folder / "curve.csv").write_text("\n".join([HEAD, *lines]), encoding="utf-8")
    drawn = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: drawn.append(figure))
    draw(groups([f"x={two[0]},{two[1]}"]), ["greedy"], "svg")
    for axes in drawn[0].axes:
        low, high = axes.get_ylim()
        heights = axes.collections[0].get_paths()[0].vertices[:, 1]
        assert -0.02 <= low <= heights.min()
        assert heights.max() <= high <= 1.02


def test_numbers_are_those_of_the_curves(two, capsys):
    assert main(["curves", f"both={two[0]},{two[1]}", str(two[1]), "--json"]) == 0
    both, b = json.loads(capsys.readouterr().out)["curves"]
    assert (both["label"], both["runs"], both["band"]) == ("both", 2, "range of the runs")
    assert both["against"]["greedy"]["over_moves"]["moves"] == [200_000, 300_000]
    assert set(both["against"]) == {"greedy", "planner"}
    assert set(b["against"]) == {"greedy"}
    assert b["against"]["greedy"]["over_hours"]["won"] == [0.2, 0.4]
    assert b["band"] == "95% interval"


def test_no_two_curves_look_alike():
    looks = {tuple(_look(place).items()) for place in range(3 * len(_COLORS))}
    assert len(looks) == 3 * len(_COLORS)


def test_long_runs_and_strange_names_are_drawn():
    n = 500
    x = np.linspace(1, 3e9, n)
    won = np.linspace(0, 1, n)
    curve = Curve(x, x / 1e8, won, won * 0.9, np.minimum(won * 1.1, 1))
    group = Group("$x^2$ <掼蛋> _hidden", ({"my_bot:MyBot?a=1&b=2": curve},))
    picture = draw([group], ["my_bot:MyBot?a=1&b=2"], "svg").decode()
    assert "$x^2$ &lt;掼蛋&gt; _hidden" in picture
    assert "billion moves" in picture
    assert "hours of training" in picture
    json.dumps(as_dict([group], ["my_bot:MyBot?a=1&b=2"]), allow_nan=False)
