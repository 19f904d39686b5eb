"""`guandan actions`: look up rows of the action table by number, name, pattern or cards."""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np

from guandan_env.actions import (
    ACTION_TABLE_VERSION,
    LEVEL_KEY,
    NUM_ACTIONS,
    ROW_PATTERN,
    ROW_SIZE,
    ROWS,
    Pattern,
)
from guandan_env.cards import SUITS, rank_name
from guandan_env.errors import PlayError, nearest
from guandan_env.notation import (
    PATTERN_WORDS,
    check_row,
    find_rows,
    key_word,
    parse_row,
    row_name,
)

# "FullHouse", "full house", "full_house" and "full houses" are all the pattern.
_PATTERN_BY_TEXT = {
    word.casefold() + plural: pattern
    for pattern, word in PATTERN_WORDS.items()
    for plural in ("", "s")
}


def main(argv: list[str]) -> int:
    """Print the rows asked for, or how many rows each pattern has; returns 0."""
    arguments = _parser().parse_args(argv)
    if arguments.cards is None:
        if arguments.level is not None or arguments.key is not None:
            raise PlayError("--level and --key belong to --cards, which is missing")
        rows = [row for text in arguments.what for row in _rows_of_text(text)]
        if not rows:
            _print_summary(arguments.json)
            return 0
    else:
        rows = _rows_of_cards(arguments)
    described = [describe(row) for row in rows]
    if arguments.json:
        for entry in described:
            print(json.dumps(entry))
    else:
        fields = ("row", "pattern", "key", "size", "wilds", "name")
        _print_columns(fields, [tuple(str(entry[f]) for f in fields) for entry in described])
    return 0


def describe(row: int) -> dict[str, Any]:
    """A row as plain values: number, name, pattern, key, size, naturals, wilds, suit."""
    entry = ROWS[row]
    return {
        "row": row,
        "name": row_name(row),
        "pattern": PATTERN_WORDS[entry.pattern],
        "key": _key(row),
        "size": int(ROW_SIZE[row]),
        "naturals": {rank_name(r): n for r, n in enumerate(entry.naturals) if n},
        "wilds": entry.wilds,
        "wild_as": {rank_name(r): n for r, n in enumerate(entry.wild_as) if n},
        "suit": SUITS[entry.suit] if entry.suit >= 0 else None,
        "version": ACTION_TABLE_VERSION,
    }


def _key(row: int) -> str:
    key = ROWS[row].key
    if key == LEVEL_KEY:
        return "level"
    return "-" if key < 0 else key_word(row, 0)


def _rows_of_cards(arguments: argparse.Namespace) -> list[int]:
    if arguments.level is None:
        raise PlayError("--cards needs --level: the hearts of the level are wild")
    pattern = None
    if len(arguments.what) > 1:
        raise PlayError(f"with --cards name one pattern at most, not {arguments.what}")
    if arguments.what:
        pattern = PATTERN_WORDS[_pattern_of(arguments.what[0])]
    key = None if arguments.key is None else arguments.key.upper()
    rows = find_rows(arguments.cards.upper(), arguments.level.upper(), pattern, key)
    if not rows:
        claim = " ".join(w for w in (pattern, arguments.key) if w) or "play"
        raise PlayError(f"{arguments.cards!r} make no {claim} at level {arguments.level}")
    return rows


def _rows_of_text(text: str) -> list[int]:
    """Rows of a number, of a pattern, or of a row's name (in this order)."""
    if text.isascii() and text.isdigit():
        # So long a number is no row, and int() would refuse it with an error of its own.
        return [check_row(int(text) if len(text) < 9 else text)]
    pattern = _PATTERN_BY_TEXT.get(_squeeze(text))
    if pattern is not None:
        return [int(row) for row in np.flatnonzero(pattern == ROW_PATTERN)]
    return [parse_row(text)]


def _pattern_of(text: str) -> Pattern:
    pattern = _PATTERN_BY_TEXT.get(_squeeze(text))
    if pattern is None:
        words = PATTERN_WORDS.values()
        hint = nearest(text.capitalize(), words)
        raise PlayError(f"{text!r} is no pattern{hint}: allowed are {', '.join(words)}")
    return pattern


def _squeeze(text: str) -> str:
    return "".join(text.casefold().replace("_", " ").split())


def _print_summary(as_json: bool) -> None:
    table = []
    for pattern, word in PATTERN_WORDS.items():
        rows = np.flatnonzero(pattern == ROW_PATTERN)
        table.append((word, len(rows), int(rows[0]), int(rows[-1])))
    if as_json:
        for word, count, first, last in table:
            entry = {"pattern": word, "rows": count, "first": first, "last": last}
            print(json.dumps({**entry, "version": ACTION_TABLE_VERSION}))
        return
    _print_columns(
        ("pattern", "rows", "numbers", "first of them"),
        [
            (word, str(count), f"{first}-{last}" if last > first else str(first), row_name(first))
            for word, count, first, last in table
        ],
    )
    print(f"{NUM_ACTIONS} rows, {ACTION_TABLE_VERSION}; 'guandan actions straight' lists a pattern")


def _print_columns(head: tuple[str, ...], lines: list[tuple[str, ...]]) -> None:
    """Print aligned columns; numbers to the right."""
    table = [head, *lines]
    widths = [max(len(line[i]) for line in table) for i in range(len(head))]
    numeric = [all(line[i].isdigit() for line in lines) for i in range(len(head))]
    for line in table:
        cells = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ]
        print("  ".join(cells).rstrip())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="guandan actions",
        description="Look up rows of the action table; without arguments, count them by pattern.",
        epilog="examples: guandan actions 1047 | guandan actions 'straight 34567 with wild as 5' | "
        "guandan actions tube | guandan actions --cards 'S3 H4 C5 D6 H2' --level 2",
        allow_abbrev=False,
    )
    parser.add_argument(
        "what",
        nargs="*",
        metavar="TEXT",
        help="a row number, the name of a row, or a pattern (with --cards: only this pattern)",
    )
    parser.add_argument("--cards", help="exact cards, such as 'S3 H4 C5': the rows they can be")
    parser.add_argument("--level", help="the level 2 to A, whose hearts are wild (for --cards)")
    parser.add_argument("--key", help="only claims with this key (for --cards)")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    return parser
