"""`guandan replay FILE`: recorded deals in the terminal, or as one web page."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from guandan_env.aside import written_aside
from guandan_env.errors import GuandanError
from guandan_env.record_file import read_record, read_records
from guandan_env.record_shape import RecordError
from guandan_env.replay_html import replay_page
from guandan_env.replay_text import record_lines

MOST_ON_A_PAGE = 200  # deals; the page has about 25 kB for each


def main(argv: list[str]) -> int:
    """Show the deals, or write the page; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="guandan replay",
        allow_abbrev=False,
        description="Show recorded deals in the terminal, or write a web page that shows them "
        "with every card, to be stepped through by keys and buttons. The page is one file, needs "
        "no network, and works on a phone.",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="what --record wrote")
    parser.add_argument("--deal", type=int, metavar="N", help="only this deal, from 1")
    parser.add_argument("--html", type=Path, metavar="OUT", help="write a web page to a new file")
    args = parser.parse_args(argv)
    if args.deal is not None and args.deal < 1:
        raise GuandanError(f"--deal is {args.deal}; deals are counted from 1")
    deals = _deals(args.file, args.deal)
    if args.html is None:
        _show(deals)
    else:
        _write_page(deals, args.html)
    return 0


def _deals(path: Path, number: int | None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Deals of a file, each with its number in it."""
    if number is not None:
        yield number, read_record(path, number)
    else:
        yield from enumerate(read_records(path), start=1)


def _show(deals: Iterator[tuple[int, dict[str, Any]]]) -> None:
    color = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    for count, (number, told) in enumerate(deals):
        if count:
            print("\n")
        try:
            for line in record_lines(number, told, color=color):
                print(line)
        except RecordError as error:
            raise RecordError(error.reason, deal=number, move=error.move) from error


def _write_page(deals: Iterator[tuple[int, dict[str, Any]]], path: Path) -> None:
    if os.path.lexists(path):
        raise GuandanError(f"--html: {str(path)!r} exists; the page goes to a new file")
    shown = list(islice(deals, MOST_ON_A_PAGE))
    page = replay_page(shown)
    try:
        with written_aside(path) as file:
            file.write(page.encode())
    except OSError as error:
        raise GuandanError(f"--html: {str(path)!r}: {error.strerror or error}") from error
    print(f"{path}: {len(shown)} deal{'s' * (len(shown) != 1)}, {len(page) / 1000:,.0f} kB")
    if len(shown) == MOST_ON_A_PAGE:
        print(f"A page has at most {MOST_ON_A_PAGE} deals; --deal N chooses one.")
