"""The generated parts of the documents agree with the code.

Run as a script it writes them, and the picture of the README, anew.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest

import guandan_env.single_seat
from agents import make, single_seat
from guandan_env import (
    Engine,
    SingleSeatEnv,
    SingleSeatVectorEnv,
    action_features,
    actions,
    make_vec,
    observation,
    raw_env,
)
from guandan_env.actions import ROW_PATTERN, Pattern
from guandan_env.cards import KIND_NAMES
from guandan_env.cli import main
from guandan_env.notation import PATTERN_WORDS, find_rows, row_name
from guandan_env.positions import OPTIONS
from guandan_env.rewards import REWARDS

DOCS = Path(__file__).parents[1] / "docs"
PICTURE = DOCS / "table.png"
LARGEST_PICTURE = 150_000
BLOCKS = [
    (path.name, block)
    for path in sorted(DOCS.glob("*.md"))
    for block in re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.S)
]
# What the words of the patterns are in Chinese, as in the rules.
CHINESE = {
    Pattern.PASS: "过",
    Pattern.SINGLE: "单张",
    Pattern.PAIR: "对子",
    Pattern.TRIPLE: "三同张",
    Pattern.FULL_HOUSE: "三带二",
    Pattern.STRAIGHT: "顺子",
    Pattern.TUBE: "木板",
    Pattern.PLATE: "钢板",
    Pattern.BOMB: "炸弹",
    Pattern.STRAIGHT_FLUSH: "同花顺",
    Pattern.JOKER_BOMB: "四大天王",
    Pattern.CARD: "进贡, 还牌",
    Pattern.RESIST: "抗贡",
}

ENVIRONMENTS = (DOCS / "environments.md").read_text(encoding="utf-8")


def leaderboard() -> str:
    """Ratings and cross tables from the committed results, as `guandan leaderboard` prints them."""
    from eval.benchmark import Benchmark
    from eval.commands.leaderboard import RESAMPLES, markdown
    from eval.crosstable import CrossTable
    from eval.ratings import rate
    from eval.store import Store
    from eval.suites import DEFAULT, find_suite

    suite = find_suite(DEFAULT)
    known = Benchmark(suite, suite.count).known(Store(DOCS / "data" / "results.sqlite"))
    table = CrossTable.of_all(known)
    return markdown(table, rate(table, np.random.default_rng(0), RESAMPLES)).rstrip("\n")


def markdown(head: str, lines: Iterable[Iterable[object]]) -> str:
    """A Markdown table; `head` has its columns with `|` between."""
    columns = head.split("|")
    rows = [columns, ["---"] * len(columns), *([str(cell) for cell in line] for line in lines)]
    return "\n".join(f"| {' | '.join(cell.strip() for cell in row)} |" for row in rows)


def rows_of(pattern: Pattern) -> np.ndarray:
    return np.flatnonzero(pattern == ROW_PATTERN)


def patterns() -> str:
    def lines() -> Iterator[tuple[object, ...]]:
        for pattern, word in PATTERN_WORDS.items():
            rows = rows_of(pattern)
            numbers = f"{rows[0]}–{rows[-1]}" if len(rows) > 1 else rows[0]
            yield int(pattern), f"`{word}`", CHINESE[pattern], len(rows), numbers
        yield "", "", "", f"{actions.NUM_ACTIONS:,}", ""

    return markdown("number | pattern | 牌型 | rows | row numbers", lines())


def resolutions() -> str:
    found = find_rows("S3 C3 S4 C4 H2 H2", "2")
    return markdown("row | name", [(row, f"`{row_name(row)}`") for row in found])


def names() -> str:
    ends = [row for pattern in Pattern for row in sorted({*rows_of(pattern)[[0, -1]].tolist()})]
    return markdown("row | name", [(row, f"`{row_name(row)}`") for row in ends])


def features() -> str:
    return markdown(
        "columns | name | meaning",
        [
            (f"{part.start}–{part.stop - 1}" if part.stop - part.start > 1 else part.start, name, m)
            for name, part, m in action_features.ACTION_FEATURE_BLOCKS
        ],
    )


def layout(blocks: tuple[observation.Block, ...]) -> str:
    lines = [
        (f"`{b.name}`", f"{b.slice.start}:{b.slice.stop}", " × ".join(map(str, b.shape)), b.unit)
        for b in blocks
    ]
    size = f"{blocks[-1].slice.stop:,}"
    return markdown("block | slice | shape | unit", [*lines, ("", size, "", "numbers in all")])


def info() -> str:
    split = {key: meaning.partition(", ") for key, meaning in guandan_env.single_seat.INFO.items()}
    lines = [(f"`{key}`", f"`{kind}`", text) for key, (kind, _, text) in split.items()]
    return markdown("key | type | meaning", lines)


GENERATED: dict[tuple[str, str], Callable[[], str]] = {
    ("actions.md", "patterns"): patterns,
    ("actions.md", "resolutions"): resolutions,
    ("actions.md", "names"): names,
    ("actions.md", "features"): features,
    ("environments.md", "info"): info,
    ("observation.md", "blocks"): lambda: layout(observation.BLOCKS),
    ("observation.md", "full blocks"): lambda: layout(observation.FULL_BLOCKS),
    ("results.md", "leaderboard"): leaderboard,
}


def part(name: str) -> re.Pattern[str]:
    """Finds a generated part: the mark before it, the part, and the mark behind."""
    return re.compile(rf"(<!-- generated: {name} -->\n)(.*?)(<!-- end -->)", re.S)


def picture() -> np.ndarray:
    """A table in the middle of a deal that was begun by a tribute, `(720, 960, 3) uint8`."""
    from guandan_env.render_image import render_image
    from guandan_env.scene_of import scene_of

    greedy = make("greedy")
    engine = Engine(1, seed=26, level="8", previous="random")
    while not is_worth_a_picture(engine):
        answer = greedy.act(engine.decisions())
        engine.step(answer if isinstance(answer, np.ndarray) else answer[0])
    names = ("you", "greedy", "partner", "greedy")
    return render_image(scene_of(engine.state, 0, names))


def is_worth_a_picture(engine: Engine) -> bool:
    state = engine.state
    return bool(state.plays[0] >= 8 and (state.last[0] > 0).sum() >= 3)


@pytest.mark.parametrize(("document", "name"), GENERATED)
def test_generated_parts_are_up_to_date(document: str, name: str) -> None:
    text = (DOCS / document).read_text(encoding="utf-8")
    found = [inner for _, inner, _ in part(name).findall(text)]
    assert found == [GENERATED[document, name]() + "\n"], "run python tests/test_documents.py"


def test_all_generated_parts_are_known() -> None:
    for path in DOCS.glob("*.md"):
        for name in re.findall(r"<!-- generated: (.*?) -->", path.read_text(encoding="utf-8")):
            assert (path.name, name) in GENERATED


@pytest.mark.parametrize("document", ["actions.md", "observation.md"])
def test_versions_and_numbers_in_the_text_are_right(document: str) -> None:
    text = (DOCS / document).read_text(encoding="utf-8")
    version = {
        "actions.md": actions.ACTION_TABLE_VERSION,
        "observation.md": observation.OBSERVATION_VERSION,
    }[document]
    assert f"`{version}`" in text
    for name in re.findall(r"`(ROW_\w+|STRENGTH)`(?= \|)", text):
        array = getattr(actions, name)
        shape = f"({', '.join(map(str, array.shape))}{',' * (array.ndim == 1)}) {array.dtype}"
        assert f"| `{name}` | `{shape}` |" in text


@pytest.mark.parametrize(("document", "block"), BLOCKS)
def test_python_of_the_documents_runs(
    document: str, block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for foreign in re.findall(r"^from (sb3_contrib|tianshou|torchrl|ray|agilerl)\b", block, re.M):
        pytest.importorskip(foreign)
    if "ppo.onnx" in block:  # which the command before it writes
        monkeypatch.chdir(tmp_path)
        assert main(["export", "ppo:pretrained", "ppo.onnx"]) == 0
    # As many steps of learning as one batch has: it is our environment that is tried.
    exec(compile(block.replace("100_000", "64"), document, "exec"), {})


def table_with(first: str) -> dict[str, list[str]]:
    """The table of the environments' page that has a line for `first`: its cells by the first."""
    tables = re.findall(r"(?:^\|.*\n)+", ENVIRONMENTS, re.M)
    [found] = [table for table in tables if f"\n| {first} |" in table]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in found.splitlines()]
    return {first.replace("`", ""): rest for first, *rest in cells[2:]}


def described(array: np.ndarray, leading: str = "") -> str:
    """An array's shape and type as the page writes them; `leading` names the first axis."""
    shape = [str(length) for length in array.shape]
    if leading:
        shape[0] = leading
    return f"`({', '.join(shape)}{',' * (array.ndim == 1)}) {array.dtype}`"


def test_arrays_of_the_vector_environment_are_as_its_page_says() -> None:
    arrays = make_vec(3).reset()._asdict()
    written = {name: cells[0] for name, cells in table_with("`final_order`").items()}
    assert written == {name: described(array, "B") for name, array in arrays.items()}


def test_arrays_of_pettingzoo_are_as_their_page_says() -> None:
    table = raw_env()
    table.reset(seed=1)
    seen, _, _, _, info = table.last()
    written = {name: cells[0] for name, cells in table_with("`state()`").items()}
    assert written == {
        'observation["observation"]': described(seen["observation"]),
        'observation["action_mask"]': described(seen["action_mask"]),
        'info["action_mask"]': described(info["action_mask"]),
        "state()": described(table.state()),
    }


@pytest.mark.parametrize("num_envs", [None, 2])
def test_arrays_of_gymnasium_are_as_their_page_says(num_envs: int | None) -> None:
    name, column = ("", 0) if num_envs is None else ("N", 1)
    table = single_seat(num_envs=num_envs, observation="dict")
    seen, _ = table.reset(seed=1)
    flat, _ = single_seat(num_envs=num_envs, observation="flat").reset(seed=1)
    action = table.action_masks().argmax(axis=-1)
    _, reward, terminated, truncated, _ = table.step(action)
    written = {key: cells[column] for key, cells in table_with("`action_masks()`").items()}
    several = num_envs is not None
    assert written == {
        'observation, "flat"': described(flat, name),
        'observation, "dict": "observation"': described(seen["observation"], name),
        'observation, "dict": "action_mask"': described(seen["action_mask"], name),
        "reward": described(reward, name) if several else f"a {type(reward).__name__}",
        "terminated, truncated": described(terminated, name) if several else "a bool",
        "action_masks()": described(table.action_masks(), name),
    }
    assert type(terminated) is type(truncated) is (np.ndarray if several else bool)


def test_the_environments_page_names_all_options_and_rewards() -> None:
    assert set(table_with("`trick`")) == set(OPTIONS)
    assert {name.strip('"') for name in table_with('`"levels"`')} == set(REWARDS)


def test_parameters_of_the_environments_are_those_of_their_page() -> None:
    common, own = set(table_with("`episode`")), set(table_with("`illegal`"))
    for maker in (raw_env, make_vec, SingleSeatEnv, SingleSeatVectorEnv):
        assert common <= set(inspect.signature(maker).parameters), maker
    assert own - {"opponents", "partner"} <= set(inspect.signature(SingleSeatEnv).parameters)
    assert {"opponents", "partner"} <= set(inspect.signature(single_seat).parameters)


def test_the_changelog_names_the_versions() -> None:
    text = (DOCS.parent / "CHANGELOG.md").read_text(encoding="utf-8")
    for version in (
        actions.ACTION_TABLE_VERSION,
        action_features.ACTION_FEATURES_VERSION,
        observation.OBSERVATION_VERSION,
        make("greedy").version,
        make("planner").version,
    ):
        assert f"`{version}`" in text, version


def test_features_are_as_the_actions_page_says() -> None:
    text = (DOCS / "actions.md").read_text(encoding="utf-8")
    shape, dtype = action_features.ACTION_FEATURES.shape, action_features.ACTION_FEATURES.dtype
    text = " ".join(text.split())
    assert f"`{shape} {dtype}`, `{action_features.ACTION_FEATURES_VERSION}`" in text


def test_kinds_are_numbered_as_the_observation_page_says() -> None:
    assert [KIND_NAMES[4 * r + s] for r, s in ((0, 0), (0, 3), (12, 1))] == ["S2", "D2", "HA"]
    assert KIND_NAMES[52:] == ("SB", "HR")
    text = " ".join((DOCS / "observation.md").read_text(encoding="utf-8").split())
    assert f"is said in {observation.ROW_WIDTH} numbers" in text


def test_rows_are_ordered_as_the_actions_page_says() -> None:
    for pattern in Pattern:
        if pattern in (Pattern.CARD, Pattern.RESIST, Pattern.PASS):
            continue
        rows = rows_of(pattern)
        if pattern in actions.SEQUENCES:
            place = (actions.ROW_KEY[rows].astype(int) + 1) % 13
        else:
            place = 20 * actions.ROW_SIZE[rows].astype(int) + actions.ROW_KEY[rows]
        assert (np.diff(place) >= 0).all(), pattern
        same = (np.diff(place) == 0) & (np.diff(actions.ROW_SUIT[rows].astype(int)) == 0)
        assert (np.diff(actions.ROW_WILDS[rows].astype(int))[same] >= 0).all(), pattern


def test_the_picture_is_of_this_table() -> None:
    image = pytest.importorskip("PIL.Image")
    assert PICTURE.stat().st_size < LARGEST_PICTURE
    drawn, kept = picture(), np.asarray(image.open(PICTURE).convert("RGB"))
    assert kept.shape == drawn.shape
    # Letters differ a little between versions of Pillow.
    assert np.abs(drawn.astype(int) - kept).mean() < 4, "run python tests/test_documents.py"


def write() -> None:
    """Write all generated parts and the picture."""
    from PIL import Image

    for (document, name), written in GENERATED.items():
        path = DOCS / document
        text = path.read_text(encoding="utf-8")
        before, _, behind = part(name).search(text).groups()
        new = f"{before}{written()}\n{behind}"
        path.write_text(part(name).sub(lambda _, new=new: new, text), encoding="utf-8")
    image = Image.fromarray(picture()).quantize(128, dither=Image.Dither.NONE)
    image.save(PICTURE, optimize=True)


if __name__ == "__main__":
    write()
