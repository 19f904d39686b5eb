"""Recorded deals as one web page that needs nothing else: no network, no other file.

What the page shows was worked out here, by playing the records again; its script
(`assets/replay.js`) only turns the pages of that book. Texts from records come into the page as
JSON and are shown as text, so that no name can become markup; a content security policy allows
the page's own script and style and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any

from guandan_env.actions import PASS, ROWS, Pattern
from guandan_env.cards import KIND_NAMES, NUM_RANKS, RANKS, SUITS, parse_card, rank_name, wild_kind
from guandan_env.record_replay import replay
from guandan_env.record_shape import RecordError
from guandan_env.render_deal import result_lines
from guandan_env.replay_text import about, sequel_lines
from guandan_env.scene import Scene, group_by_rank
from guandan_env.scene_of import scene_of
from guandan_env.state import Phase

_CHOICES_SHOWN = 5
Record = Mapping[str, Any]


def replay_page(records: Iterable[tuple[int, Record]]) -> str:
    """The page with some deals, each with its number in its file, from 1.

    Raises `RecordError` for a record that is not sound, and if there is none.
    """
    deals = [_deal(number, told) for number, told in records]
    if not deals:
        raise RecordError("there is no deal to show")
    style, script = _asset("replay.css"), _asset("replay.js")
    data = json.dumps(deals, separators=(",", ":"))
    # In JSON these stand in texts only; as escapes they mean the same and nothing to HTML.
    for sign in "<>&":
        data = data.replace(sign, f"\\u{ord(sign):04x}")
    parts = {
        "policy": f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'",
        "style": style,
        "script": script,
        "data": data,
    }
    page = ""
    for piece in _asset("replay.html").split("{{"):
        name, closed, text = piece.partition("}}")
        page += parts[name] + text if closed else piece
    return page


def _asset(name: str) -> str:
    return (files("guandan_env") / "assets" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """What a content security policy calls an inline script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _deal(number: int, told: Record) -> dict[str, Any]:
    """All that the page shows of a deal: its moves, and the table before and after each."""
    try:
        frames, closing = _frames(told)
    except RecordError as error:
        raise RecordError(error.reason, deal=number, move=error.move) from error
    begun = told["start"]
    level = RANKS.index(begun["level"])
    return {
        "number": number,
        "about": about(told),
        "players": told["players"],
        "level": begun["level"],
        "wild": KIND_NAMES[wild_kind(level)],
        "levels": begun["levels"],
        "declarer": begun["declarer"],
        "moves": [_move(move, level) for move in told["moves"]],
        "frames": frames,
        "closing": closing + sequel_lines(told),
    }


def _move(move: Mapping[str, Any], level: int) -> dict[str, Any]:
    kind = move["move"]
    text = {
        "yield": "gives the lead away",
        "decline": "does not resist",
        "resist": "resists tribute",
        "pay": f"pays {move.get('cards')}",
        "choose": f"takes {move.get('cards')}",
        "return": f"returns {move.get('cards')}",
    }.get(kind, move.get("claim"))
    if move.get("to") is not None:
        text = f"{text} to seat {move['to']}"
    made = {"seat": move["seat"], "kind": kind, "text": text}
    if kind == "play":
        made["cards"] = claimed_cards(move["row"], move["cards"].split(), level)
    elif "cards" in move:
        made["cards"] = [[move["cards"], ""]]
    if move.get("choices"):
        made["choices"] = [[c["claim"], c["value"]] for c in move["choices"][:_CHOICES_SHOWN]]
    return made


def claimed_cards(row: int, cards: list[str], level: int) -> list[list[str]]:
    """The cards of a play in the order in which its claim shows them, each with what it stands for.

    That is empty for a card that stands for itself, a rank such as `7` for a wild, or a card such
    as `S7` in a straight flush.
    """
    play = ROWS[row]
    wild = KIND_NAMES[wild_kind(level)]
    natural: dict[str, list[str]] = {}
    for card in cards:
        if card != wild:
            natural.setdefault(rank_name(_rank(card)), []).append(card)
    start = play.key if play.key < NUM_RANKS else 0
    shown: list[list[str]] = []
    for rank in [(start + i) % NUM_RANKS for i in range(NUM_RANKS)]:
        shown += [[card, ""] for card in natural.get(RANKS[rank], [])]
        suit = SUITS[play.suit] if play.pattern == Pattern.STRAIGHT_FLUSH else ""
        shown += [[wild, suit + RANKS[rank]]] * play.wild_as[rank]
    shown += [[card, ""] for joker in "BR" for card in natural.get(joker, [])]
    return shown + [[wild, ""]] * (play.wilds - sum(play.wild_as))


def _rank(card: str) -> int:
    kind = parse_card(card)
    return kind // 4 if kind < 4 * NUM_RANKS else kind - 39


def _frames(told: Record) -> tuple[list[dict[str, Any]], list[str]]:
    """The table as the deal begins and after each move, and the lines that close the deal.

    A frame has the hands that are new in it (by seat, high cards first), who is to act, who holds
    the trick, the number of the move that lies before each seat, and places and levels.
    """
    frames: list[dict[str, Any]] = []
    hands: list[str] = [""] * 4
    lying: list[int | None] = [None] * 4
    holder: int | None = None
    trick_over = True
    in_play = False
    closing: list[str] = []
    for count, engine in enumerate(replay(told)):
        scene = scene_of(engine.state, 0, told["players"])
        if count:
            move = told["moves"][count - 1]
            if trick_over and in_play:
                lying, holder = [None] * 4, None
            lying[move["seat"]] = count - 1
            if move["move"] == "play":
                holder = move["seat"]
        now = [_hand(scene, seat) for seat in range(4)]
        frames.append(
            {
                "hands": {seat: now[seat] for seat in range(4) if now[seat] != hands[seat]},
                "turn": int(engine.state.seat[0]),
                "holder": holder,
                "lying": list(lying),
                "places": [view.place for view in scene.seats],
                "levels": scene.levels,
                "phase": scene.phase,
            }
        )
        hands = now
        in_play = engine.state.phase[0] == Phase.PLAY
        trick_over = bool(engine.state.lead[0] == PASS)
        if engine.state.phase[0] == Phase.OVER:
            closing = result_lines(engine, told["players"])
    return frames, closing


def _hand(scene: Scene, seat: int) -> str:
    groups = group_by_rank(scene.seats[seat].cards or (), scene.level)
    return "".join(card for group in groups for card in group)
