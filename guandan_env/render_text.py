"""Draws a `Scene` for a terminal: seat 0 below, 1 right, 2 above, 3 left.

A hand is written by ranks, high to low in level order, each rank followed by its suits:
`A♠♥♥ K♣`. The wild has a `*` behind its heart; `B★` is a small joker, `R★` a big one.
"""

from __future__ import annotations

from unicodedata import combining, east_asian_width

from guandan_env.scene import PLACE_NAMES, SIDE_NAMES, Scene, SeatView, check_scene, group_by_rank

WIDTH = 78
SIDE_WIDTH = 17
NAME_WIDTH = 50
TABLE_TOP = 6
TABLE_HEIGHT = 17

PLAIN, BOLD, DIM, RED, WILD, TURN = "", "1", "2", "31", "1;33", "1;7"
SUIT_SIGNS = {"S": "♠", "H": "♥", "C": "♣", "D": "♦"}

Span = tuple[str, str]
"""A text and the style (the numbers of an ANSI escape) it is drawn in."""


def render_text(scene: Scene, color: bool = False) -> str:
    """The table as lines of text, at most 78 columns wide, without a newline at the end.

    With `color` the text has ANSI colours; without, it is the same text and nothing else.
    `StateError` for what is no Scene.
    """
    check_scene(scene)
    canvas = _Canvas()
    _draw_header(canvas, scene)
    _draw_frame(canvas)
    bottom, right, top, left = scene.seats
    below = TABLE_TOP + TABLE_HEIGHT
    canvas.center(TABLE_TOP - 2, _name_plate(top))
    canvas.center(TABLE_TOP - 1, _hand_in_a_line(top, scene.level))
    canvas.center(below, _name_plate(bottom))
    canvas.center(below + 1, _hand_in_a_line(bottom, scene.level))
    for view, align in ((left, canvas.left), (right, canvas.right)):
        for y, spans in enumerate(_side_plate(view) + _hand_in_rows(view, scene.level)):
            align(TABLE_TOP + y, spans, 0)

    middle = TABLE_TOP + TABLE_HEIGHT // 2
    for view, y in ((top, TABLE_TOP + 2), (bottom, below - 4)):
        for offset, spans in enumerate(_action(view, scene)):
            canvas.center(y + offset, spans)
    for view, align in ((left, canvas.left), (right, canvas.right)):
        for offset, spans in enumerate(_action(view, scene)):
            align(middle - 1 + offset, spans, SIDE_WIDTH + 2)
    for offset, line in enumerate(scene.message):
        canvas.left(below + 3 + offset, [(line, DIM)], 0)
    return canvas.text(color)


def _draw_header(canvas: _Canvas, scene: Scene) -> None:
    title = " · ".join(part for part in (scene.title, scene.phase) if part)
    canvas.left(0, [(title, BOLD)], 0)
    canvas.right(
        0,
        [("level ", PLAIN), (scene.level, BOLD), ("  wild ", PLAIN), *_card(scene.wild, scene)],
        0,
    )
    for side, name in enumerate(SIDE_NAMES):
        spans = [(f"seats {name}  level ", PLAIN), (scene.levels[side], BOLD)]
        if scene.declarer == side:
            spans.append(("  declarer", WILD))
        canvas.left(1 + side, spans, 0)


def _draw_frame(canvas: _Canvas) -> None:
    inner = WIDTH - 2 * SIDE_WIDTH - 2
    for y in range(TABLE_HEIGHT):
        first, fill, last = "│ │"
        if y == 0:
            first, fill, last = "╭─╮"
        elif y == TABLE_HEIGHT - 1:
            first, fill, last = "╰─╯"
        canvas.left(TABLE_TOP + y, [(first + fill * inner + last, DIM)], SIDE_WIDTH)


def _status(view: SeatView) -> str:
    if view.place is not None:
        return PLACE_NAMES[view.place - 1]
    if view.count is None:
        return "? cards"
    return f"{view.count} card{'' if view.count == 1 else 's'}"


def _name(view: SeatView, columns: int) -> Span:
    marker, style = ("▶ ", TURN) if view.to_act else ("", BOLD)
    name = marker + view.name
    if _width([(name, style)]) <= columns:
        return (name, style)
    while _width([(name, style)]) >= columns:
        name = name[:-1]
    return (name + "…", style)


def _name_plate(view: SeatView) -> list[Span]:
    return [_name(view, NAME_WIDTH), (f"  seat {view.seat} · {_status(view)}", PLAIN)]


def _side_plate(view: SeatView) -> list[list[Span]]:
    return [[_name(view, SIDE_WIDTH)], [(f"{view.seat} · {_status(view)}", PLAIN)]]


def _rank_group(group: tuple[str, ...], wild: str) -> list[Span]:
    if group[0] in ("SB", "HR"):
        return [(group[0][1], BOLD), ("★" * len(group), RED if group[0] == "HR" else BOLD)]
    return [(group[0][1], BOLD), *(_suit(card, wild) for card in group)]


def _suit(card: str, wild: str) -> Span:
    sign = SUIT_SIGNS[card[0]]
    if card == wild:
        return (sign + "*", WILD)
    return (sign, RED if card[0] in "HD" else PLAIN)


def _card(card: str, scene: Scene) -> list[Span]:
    return _rank_group((card,), scene.wild)


def _hand_in_rows(view: SeatView, level: str) -> list[list[Span]]:
    if view.cards is None:
        backs = "▒" * (view.count or 0)
        return [[(backs[start : start + 9], DIM)] for start in range(0, len(backs), 9)]
    wild = "H" + level
    return [_rank_group(group, wild) for group in group_by_rank(view.cards, level)]


def _hand_in_a_line(view: SeatView, level: str) -> list[Span]:
    if view.cards is None:
        return [("▒" * (view.count or 0), DIM)]
    spans: list[Span] = []
    for group in _hand_in_rows(view, level):
        spans += [*group, (" ", PLAIN)]
    return spans[:-1]


def _action(view: SeatView, scene: Scene) -> list[list[Span]]:
    if not view.action:
        return []
    holds = scene.leader == view.seat
    cards = [span for card in view.action_cards for span in _card(card, scene)]
    claim = (("● " if holds else "") + view.action, BOLD if holds else DIM)
    return [cards, [claim]] if cards else [[claim]]


def _columns(char: str) -> int:
    """Columns that a character takes in a terminal: Chinese names are two wide."""
    if combining(char):
        return 0
    return 2 if east_asian_width(char) in "WF" else 1


def _width(spans: list[Span]) -> int:
    return sum(_columns(char) for text, _ in spans for char in text)


class _Canvas:
    """A grid of characters with styles; a wide character leaves the cell behind it empty."""

    def __init__(self) -> None:
        self.rows: list[list[Span]] = []

    def left(self, y: int, spans: list[Span], margin: int) -> None:
        self._put(y, margin, spans)

    def right(self, y: int, spans: list[Span], margin: int) -> None:
        self._put(y, WIDTH - margin - _width(spans), spans)

    def center(self, y: int, spans: list[Span]) -> None:
        self._put(y, (WIDTH - _width(spans)) // 2, spans)

    def _put(self, y: int, x: int, spans: list[Span]) -> None:
        while len(self.rows) <= y:
            self.rows.append([(" ", PLAIN)] * WIDTH)
        x = max(x, 0)
        for text, style in spans:
            for char in text:
                columns = _columns(char)
                if columns == 0 or x + columns > WIDTH:
                    continue
                self.rows[y][x : x + columns] = [(char, style), ("", style)][:columns]
                x += columns

    def text(self, color: bool) -> str:
        lines = []
        for row in self.rows:
            length = len("".join(char or "x" for char, _ in row).rstrip())
            parts = []
            current = PLAIN
            for char, style in row[:length]:
                if color and style != current:
                    parts.append(f"\x1b[0;{style}m" if style else "\x1b[0m")
                    current = style
                parts.append(char)
            if current:
                parts.append("\x1b[0m")
            lines.append("".join(parts))
        return "\n".join(lines)
