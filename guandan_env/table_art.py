"""The picture of a table: where hands, plays, names and levels stand. Needs Pillow.

Everything is laid out on 960 × 720 units; `_Table` turns units into pixels. It draws at twice the
size and shrinks at the end, which smooths the edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from PIL import Image, ImageDraw

from guandan_env.card_art import (
    BLACK,
    GOLD,
    PAPER,
    Color,
    card_back,
    card_face,
    draw_star,
    font,
)
from guandan_env.scene import PLACE_NAMES, SIDE_NAMES, Scene, SeatView, group_by_rank

UNITS = (960, 720)
OVERSAMPLING = 2
FELT: Color = (22, 104, 68)
PLATE: Color = (13, 58, 40)
LINE: Color = (62, 142, 102)
SOFT: Color = (196, 222, 206)

BOTTOM_CARD = (68.0, 96.0)
HAND_CARD = (48.0, 68.0)
PLAY_CARD = (48.0, 68.0)
SIDE_TOP, SIDE_BOTTOM = 172.0, 596.0


def draw_table(scene: Scene, width: int, height: int) -> Image.Image:
    """The scene as an RGB image of `width` × `height` pixels."""
    table = _Table(width * OVERSAMPLING, height * OVERSAMPLING, scene)
    _draw_corners(table, scene)
    bottom, right, top, left = scene.seats
    table.hand_in_a_line(top, 20, HAND_CARD, 562)
    table.name_plate(top, 480, 108)
    table.hand_in_a_line(bottom, 612, BOTTOM_CARD, 916)
    table.name_plate(bottom, 480, 592)
    table.hand_in_rows(left, 22, mirrored=False)
    table.name_plate(left, 102, 150)
    table.hand_in_rows(right, 938, mirrored=True)
    table.name_plate(right, 858, 150)
    for view, x, y, anchor in (
        (top, 480, 146, 0.5),
        (bottom, 480, 448, 0.5),
        (left, 216, 300, 0.0),
        (right, 744, 300, 1.0),
    ):
        table.action(view, x, y, anchor)
    for row, line in enumerate(scene.message):
        table.text((480, 262 + 18 * row), line, 14, SOFT)
    return table.image.resize((width, height), Image.Resampling.LANCZOS)


def _draw_corners(table: _Table, scene: Scene) -> None:
    """Left the levels of both sides, right the level being played and its wild."""
    for side, name in enumerate(SIDE_NAMES):
        y = 18 + 46 * side
        declares = scene.declarer == side
        table.panel((18, y, 190, y + 40), GOLD if declares else LINE)
        table.text((30, y + 13), f"seats {name}", 14, PAPER, "lm")
        table.text((30, y + 28), "declarer" if declares else "level", 12, SOFT, "lm")
        table.text((170, y + 20), scene.levels[side], 24, GOLD if declares else PAPER)
    table.panel((770, 18, 942, 104), LINE)
    table.text((784, 34), scene.title, 13, SOFT, "lm")
    table.text((784, 60), f"Level {scene.level}", 24, PAPER, "lm")
    table.text((784, 86), scene.phase, 13, SOFT, "lm")
    table.card(scene.wild, 886, 27, HAND_CARD)


class _Table:
    """An image that is drawn on in units."""

    def __init__(self, width: int, height: int, scene: Scene) -> None:
        self.scene = scene
        self.scale = min(width / UNITS[0], height / UNITS[1])
        self.left = (width - UNITS[0] * self.scale) / 2
        self.top = (height - UNITS[1] * self.scale) / 2
        self.image = _felt(width, height).copy()
        self.draw = ImageDraw.Draw(self.image)
        oval = self._box((206, 130, 754, 566))
        self.draw.rounded_rectangle(oval, 90 * self.scale, outline=LINE, width=self._length(1.5))

    def _length(self, units: float) -> int:
        return max(round(units * self.scale), 1)

    def _point(self, x: float, y: float) -> tuple[int, int]:
        return round(self.left + x * self.scale), round(self.top + y * self.scale)

    def _box(self, box: tuple[float, float, float, float]) -> tuple[int, int, int, int]:
        return (*self._point(*box[:2]), *self._point(*box[2:]))

    def text(
        self, at: tuple[float, float], text: str, size: float, color: Color, anchor: str = "mm"
    ) -> None:
        self.draw.text(self._point(*at), text, color, font(self._length(size)), anchor=anchor)

    def panel(self, box: tuple[float, float, float, float], edge: Color) -> None:
        self.draw.rounded_rectangle(
            self._box(box), self._length(9), fill=PLATE, outline=edge, width=self._length(1.5)
        )

    def card(self, card: str | None, x: float, y: float, size: tuple[float, float]) -> None:
        """A card with its upper left corner at (x, y); the back where `card` is None."""
        pixels = self._length(size[0]), self._length(size[1])
        if card is None:
            picture = card_back(*pixels)
        else:
            picture = card_face(card, card == self.scene.wild, *pixels)
        self.image.paste(picture, self._point(x, y), picture)

    def name_plate(self, view: SeatView, x: float, y: float) -> None:
        """Name and count or finishing place, in gold for the seat to act."""
        fill, ink, soft = (GOLD, BLACK, BLACK) if view.to_act else (PLATE, PAPER, SOFT)
        self.draw.rounded_rectangle(
            self._box((x - 84, y - 14, x + 84, y + 14)), self._length(14), fill=fill, outline=LINE
        )
        name = self._shortened(view.name, 15, 86)
        self.text((x - 70, y), name, 15, ink, "lm")
        if view.place is None:
            count = "?" if view.count is None else str(view.count)
            self.text((x + 70, y), f"{count} card{'' if count == '1' else 's'}", 13, soft, "rm")
        else:
            self.text((x + 70, y), PLACE_NAMES[view.place - 1], 15, soft, "rm")
            if view.place == 1:
                star = self._point(x + 34, y)
                draw_star(self.draw, star, self._length(15), ink if view.to_act else GOLD)

    def _shortened(self, text: str, size: float, width: float) -> str:
        letters = font(self._length(size))
        if letters.getlength(text) <= width * self.scale:
            return text
        while text and letters.getlength(text + "...") > width * self.scale:
            text = text[:-1]
        return text + "..."

    def hand_in_a_line(
        self, view: SeatView, y: float, size: tuple[float, float], width: float
    ) -> None:
        """The hand side by side around the middle, a little apart between ranks."""
        groups: Sequence[Sequence[str | None]] = (
            [[None] * (view.count or 0)]
            if view.cards is None
            else group_by_rank(view.cards, self.scene.level)
        )
        steps = sum(map(len, groups)) - 1
        if steps < 0:
            return
        gap = size[0] * 0.07
        gaps = gap * (len(groups) - 1)
        step = min(size[0] * 0.55, (width - size[0] - gaps) / max(steps, 1))
        x = (UNITS[0] - (size[0] + steps * step + gaps)) / 2
        for group in groups:
            for card in group:
                self.card(card, x, y, size)
                x += step
            x += gap

    def hand_in_rows(self, view: SeatView, x: float, mirrored: bool) -> None:
        """The hand below a name plate, a row for each rank; `x` is its outer edge."""
        rows: Sequence[Sequence[str | None]] = (
            [[None]] * (view.count or 0)
            if view.cards is None
            else group_by_rank(view.cards, self.scene.level)
        )
        width, height = HAND_CARD
        room = (SIDE_BOTTOM - SIDE_TOP - height) / max(len(rows) - 1, 1)
        for row, group in enumerate(rows):
            step = min(width * 0.5, (180 - width) / max(len(group) - 1, 1))
            start = x - width - step * (len(group) - 1) if mirrored else x
            for column, card in enumerate(group):
                self.card(card, start + column * step, SIDE_TOP + row * min(room, 30), HAND_CARD)

    def action(self, view: SeatView, x: float, y: float, anchor: float) -> None:
        """The cards of a seat's last action and its claim below; `anchor` 0 is left, 1 right."""
        if not view.action:
            return
        cards = view.action_cards
        holds = self.scene.leader == view.seat
        if cards:
            step = min(PLAY_CARD[0] * 0.52, (258 - PLAY_CARD[0]) / max(len(cards) - 1, 1))
            start = x - anchor * (PLAY_CARD[0] + step * (len(cards) - 1))
            for column, card in enumerate(cards):
                self.card(card, start + column * step, y, PLAY_CARD)
        label_y = y + (PLAY_CARD[1] + 16 if cards else PLAY_CARD[1] / 2)
        length = font(self._length(14)).getlength(view.action) / self.scale + 24
        start = x - anchor * length
        self.panel((start, label_y - 11, start + length, label_y + 11), GOLD if holds else LINE)
        color = PAPER if holds else SOFT
        self.text((start + length / 2, label_y), view.action, 14, color)


@lru_cache(maxsize=4)
def _felt(width: int, height: int) -> Image.Image:
    """Green felt, lighter in the middle."""
    y, x = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    light = 1.16 - 0.3 * np.clip(x * x + y * y, 0, 1.6)
    pixels = np.clip(light[..., None] * np.array(FELT), 0, 255)
    return Image.fromarray(pixels.astype(np.uint8), "RGB")
