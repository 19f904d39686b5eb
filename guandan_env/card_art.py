"""Cards as pictures, drawn from shapes, so that no font has to know the suits. Needs Pillow."""

from __future__ import annotations

import math
from functools import lru_cache

from PIL import Image, ImageDraw, ImageFont

Color = tuple[int, int, int]
Point = tuple[float, float]
Font = ImageFont.FreeTypeFont | ImageFont.ImageFont

RED: Color = (200, 30, 45)
BLACK: Color = (28, 32, 38)
PAPER: Color = (253, 252, 247)
WILD_PAPER: Color = (255, 236, 170)
GOLD: Color = (232, 178, 48)
EDGE: Color = (130, 130, 122)
BACK: Color = (36, 70, 138)
BACK_LINE: Color = (112, 144, 204)


@lru_cache(maxsize=64)
def font(size: int) -> Font:
    """The font that comes with Pillow, at a size in pixels."""
    return ImageFont.load_default(size=max(size, 1))


def draw_suit(draw: ImageDraw.ImageDraw, suit: str, center: Point, size: float) -> None:
    """A suit `S`, `H`, `C` or `D`, `size` pixels high, in its colour."""
    x, y = center
    half = size / 2

    def at(*points: Point) -> list[Point]:
        return [(x + px * half, y + py * half) for px, py in points]

    def disc(px: float, py: float, radius: float, fill: Color) -> None:
        draw.ellipse(at((px - radius, py - radius), (px + radius, py + radius)), fill=fill)

    if suit == "D":
        draw.polygon(at((0, -1), (0.74, 0), (0, 1), (-0.74, 0)), fill=RED)
    elif suit == "H":
        draw.polygon(at(*_heart()), fill=RED)
    else:
        if suit == "S":
            draw.polygon(at(*((px, 0.88 * -py - 0.16) for px, py in _heart())), fill=BLACK)
        else:
            for px, py in ((0, -0.52), (-0.46, 0.14), (0.46, 0.14)):
                disc(px, py, 0.46, BLACK)
            disc(0, 0, 0.3, BLACK)
        draw.polygon(at((-0.1, 0), (0.1, 0), (0.34, 1), (-0.34, 1)), fill=BLACK)


@lru_cache(maxsize=1)
def _heart() -> tuple[Point, ...]:
    """The heart curve, scaled to the square from -1 to 1."""
    points = []
    for step in range(48):
        t = 2 * math.pi * step / 48
        height = 13 * math.cos(t) - 5 * math.cos(2 * t) - 2 * math.cos(3 * t) - math.cos(4 * t)
        points.append((math.sin(t) ** 3, -(height + 2.5) / 14.5))
    return tuple(points)


def draw_star(draw: ImageDraw.ImageDraw, center: Point, size: float, fill: Color) -> None:
    """A star with five points, `size` pixels across."""
    points = []
    for corner in range(10):
        radius = size / 2 * (1 if corner % 2 == 0 else 0.42)
        angle = math.pi * (corner / 5 - 0.5)
        points.append((center[0] + radius * math.cos(angle), center[1] + radius * math.sin(angle)))
    draw.polygon(points, fill=fill)


@lru_cache(maxsize=512)
def card_face(card: str, wild: bool, width: int, height: int) -> Image.Image:
    """The face of a card as RGBA; a wild stands out in gold. Shared: paste it, do not change it."""
    image, draw = _blank(width, height, WILD_PAPER if wild else PAPER, GOLD if wild else EDGE)
    index_x = width * 0.22
    if card in ("SB", "HR"):
        color = RED if card == "HR" else BLACK
        draw_star(draw, (index_x, height * 0.145), width * 0.3, color)
        for row, letter in enumerate("JOKER"):
            place = (index_x, height * (0.33 + 0.13 * row))
            draw.text(place, letter, color, font(round(height * 0.14)), anchor="mm")
        draw_star(draw, (width * 0.64, height * 0.52), width * 0.56, color)
        return image
    rank = "10" if card[1] == "T" else card[1]
    color = RED if card[0] in "HD" else BLACK
    size = round(width * (0.31 if rank == "10" else 0.4))
    draw.text(
        (index_x, height * 0.15),
        rank,
        color,
        font(size),
        anchor="mm",
        stroke_width=max(round(width / 80), 0),
        stroke_fill=color,
    )
    draw_suit(draw, card[0], (index_x, height * 0.38), height * 0.155)
    draw_suit(draw, card[0], (width * 0.64, height * 0.66), height * 0.4)
    if wild:
        draw_star(draw, (width * 0.79, height * 0.15), width * 0.28, GOLD)
    return image


@lru_cache(maxsize=16)
def card_back(width: int, height: int) -> Image.Image:
    """The back of a card as RGBA. Shared: paste it, do not change it."""
    image, draw = _blank(width, height, PAPER, EDGE)
    margin = width * 0.09
    inner = (margin, margin, width - margin - 1, height - margin - 1)
    draw.rounded_rectangle(inner, width * 0.08, fill=BACK)
    step = width * 0.2
    for row in range(int(height / step)):
        for column in range(int(width / step)):
            x, y = (column + 0.5) * step, (row + 0.5) * step
            if margin + step / 3 < x < width - margin and margin + step / 3 < y < height - margin:
                r = step * 0.32
                draw.polygon([(x, y - r), (x + r, y), (x, y + r), (x - r, y)], fill=BACK_LINE)
    return image


def _blank(
    width: int, height: int, fill: Color, edge: Color
) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    image = Image.new("RGBA", (width, height), (*edge, 0))
    draw = ImageDraw.Draw(image)
    line = max(round(width / (18 if edge == GOLD else 45)), 1)
    draw.rounded_rectangle(
        (0, 0, width - 1, height - 1), width * 0.12, fill=fill, outline=edge, width=line
    )
    return image, draw
