"""The scene and its two renderers."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from guandan_env.cards import KIND_NAMES, parse_cards
from guandan_env.errors import CardError, GuandanError, StateError
from guandan_env.render_image import render_image
from guandan_env.render_text import render_text
from guandan_env.scene import Scene, SeatView, group_by_rank

GOLDEN = Path(__file__).parent / "data" / "table.txt"


def card_tuple(text: str) -> tuple[str, ...]:
    return tuple(KIND_NAMES[kind] for kind in parse_cards(text))


BOTTOM = card_tuple(
    "SB H5 H5 S5 SA HA CA HK SQ CQ CQ DQ SJ HJ HT C9 S8 H8 C8 S7 C7 D7 C6 S4 H4 H2 D2"
)
RIGHT = card_tuple("HR C5 SK SK SQ HQ H9 H9 H8 D8 S7 S6 H6 D6")
LEFT = card_tuple("S5 C5 DA DA CK HJ ST HT CT DT S9 S9 D8 C7 S6 D3 D2")


def make_scene() -> Scene:
    return Scene(
        level="5",
        levels=("5", "3"),
        declarer=0,
        seats=(
            SeatView(0, "greedy", BOTTOM, to_act=True),
            SeatView(1, "random", RIGHT, 14, action="triple 888", action_cards=("S8", "C8", "H5")),
            SeatView(2, "greedy", (), place=1),
            SeatView(3, "random", LEFT, action="bomb 7777", action_cards=("S7", "H7", "H7", "D7")),
        ),
        leader=3,
        title="Deal 12",
        message=("seat 2 paid HK to seat 1, which returned S4",),
    )


def with_seat(scene: Scene, seat: int, **changes: object) -> Scene:
    seats = list(scene.seats)
    seats[seat] = replace(seats[seat], **changes)
    return replace(scene, seats=tuple(seats))


def test_text_is_the_golden_one():
    assert render_text(make_scene()) + "\n" == GOLDEN.read_text(encoding="utf-8")


def test_color_adds_nothing_but_escapes():
    scene = make_scene()
    colored = render_text(scene, color=True)
    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == render_text(scene)


def test_text_stays_within_its_columns():
    scene = with_seat(make_scene(), 1, name="掼蛋" * 20)
    scene = with_seat(scene, 0, name="n" * 200)
    assert max(len(line) for line in render_text(scene).splitlines()) <= 78
    assert "掼蛋" in render_text(scene)


@pytest.mark.rule("3.1")
def test_groups_follow_the_level_order_with_wilds_first():
    assert group_by_rank(["S2", "SA", "S5", "H5", "HR", "SB", "SK", "HA"], "5") == [
        ("HR",),
        ("SB",),
        ("H5", "S5"),
        ("SA", "HA"),
        ("SK",),
        ("S2",),
    ]


def test_image_has_shape_and_dtype_and_is_deterministic():
    scene = make_scene()
    image = render_image(scene)
    assert image.shape == (720, 960, 3)
    assert image.dtype == np.uint8
    np.testing.assert_array_equal(image, render_image(scene))


@pytest.mark.parametrize("size", [(64, 64), (500, 300), (300, 500)])
def test_image_fits_other_sizes(size):
    width, height = size
    assert render_image(make_scene(), width, height).shape == (height, width, 3)


@pytest.mark.parametrize("size", [(0, 720), (960, -1), (960, 10**6)])
def test_image_refuses_impossible_sizes(size):
    with pytest.raises(GuandanError, match="64 to 4096"):
        render_image(make_scene(), *size)


CHANGES = {
    "a card of the bottom hand": (0, {"cards": ("HR", *BOTTOM[1:])}),
    "a suit of a side hand": (3, {"cards": (*LEFT[:-1], "C2")}),
    "a card of the trick": (3, {"action_cards": ("S7", "H7", "C7", "D7")}),
    "the claim": (3, {"action": "bomb 77777"}),
    "the place": (2, {"place": 3}),
    "the turn": (0, {"to_act": False}),
    "the name": (1, {"name": "planner"}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_changes_is_seen(change):
    seat, fields = CHANGES[change]
    before, after = make_scene(), with_seat(make_scene(), seat, **fields)
    assert render_text(before) != render_text(after)
    assert (render_image(before) != render_image(after)).any()


@pytest.mark.parametrize(
    "fields", [{"level": "6"}, {"levels": ("5", "4")}, {"declarer": 1}, {"leader": 1}]
)
def test_what_changes_on_the_table_is_seen(fields):
    before, after = make_scene(), replace(make_scene(), **fields)
    assert render_text(before) != render_text(after)
    assert (render_image(before) != render_image(after)).any()


@pytest.mark.parametrize("seat", range(4))
def test_a_hidden_hand_shows_its_size_only(seat):
    hidden = with_seat(make_scene(), seat, cards=None, count=14, place=None)
    text = render_text(hidden)
    assert text.count("▒") == 14
    assert "14 cards" in text
    fewer = with_seat(hidden, seat, count=13)
    assert text != render_text(fewer)
    assert (render_image(hidden) != render_image(fewer)).any()


def test_hidden_cards_are_not_drawn():
    hidden = with_seat(make_scene(), 1, cards=None)
    assert "K♠♠" in render_text(make_scene())
    assert "K♠♠" not in render_text(hidden)
    shown = render_image(make_scene())
    assert (shown[200:560, 780:] != render_image(hidden)[200:560, 780:]).any()


def test_an_unknown_count_is_drawn_as_unknown():
    unknown = with_seat(make_scene(), 2, cards=None, count=None, place=None)
    assert "? cards" in render_text(unknown)
    assert render_image(unknown).any()


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"seat": 4}, StateError),
        ({"place": 5}, StateError),
        ({"count": 29}, StateError),
        ({"cards": ("S2",), "count": 2}, StateError),
        ({"cards": ("S1",)}, CardError),
        ({"action_cards": ("5H",)}, CardError),
        ({"name": "\x1b[2J"}, StateError),
    ],
)
def test_an_impossible_seat_is_refused(fields, error):
    with pytest.raises(error):
        SeatView(**{"seat": 0, "name": "x", **fields})


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"level": "1"}, CardError),
        ({"levels": ("2",)}, StateError),
        ({"declarer": 2}, StateError),
        ({"leader": 4}, StateError),
        ({"seats": make_scene().seats[::-1]}, StateError),
        ({"message": ("two\nlines",)}, StateError),
    ],
)
def test_an_impossible_scene_is_refused(fields, error):
    with pytest.raises(error):
        replace(make_scene(), **fields)


def test_without_pillow_the_error_says_what_to_install(monkeypatch):
    for module in [name for name in sys.modules if name.split(".")[0] == "PIL"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.delitem(sys.modules, "guandan_env.table_art", raising=False)
    monkeypatch.delitem(sys.modules, "guandan_env.card_art", raising=False)
    with pytest.raises(ImportError, match=re.escape("pip install 'guandan[render]'")):
        render_image(make_scene())
