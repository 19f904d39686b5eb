"""`guandan dataset RECORDS --out DIR`: the decisions of recorded deals as arrays."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from guandan_env.dataset_write import SHARD, write_dataset


def main(argv: list[str]) -> int:
    """Make a data set; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="guandan dataset",
        allow_abbrev=False,
        description="Make a data set for imitation and offline learning from files of records: "
        "every decision with what the seat saw, what was legal, what it did and what came of it, "
        "in .npz shards split by deal. A README.md in the folder describes the arrays. Every "
        "deal is verified; a fault leaves nothing behind.",
    )
    parser.add_argument("records", nargs="+", type=Path, metavar="RECORDS", help="from --record")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="a new folder")
    for split in ("validation", "test"):
        parser.add_argument(
            f"--{split}", type=float, default=0.1, metavar="SHARE", help="of deals (default 0.1)"
        )
    parser.add_argument(
        "--shard-size", type=int, default=SHARD, help=f"decisions in a shard (default {SHARD:,})"
    )
    parser.add_argument("--json", action="store_true", help="print the description as JSON")
    args = parser.parse_args(argv)
    described = _write(args, show_progress=not args.json and sys.stderr.isatty())
    print(json.dumps(described) if args.json else _text(args.out, described))
    return 0


def _write(args: argparse.Namespace, show_progress: bool) -> dict[str, Any]:
    options = {"validation": args.validation, "test": args.test, "shard_size": args.shard_size}
    if not show_progress:
        return write_dataset(args.records, args.out, **options)
    from rich.console import Console
    from rich.status import Status

    with Status("reading …", console=Console(stderr=True)) as status:

        def progress(deals: int) -> None:
            status.update(f"{deals:,} deals")

        return write_dataset(args.records, args.out, **options, progress=progress)


def _text(out: Path, described: dict[str, Any]) -> str:
    lines = [f"{out}: {described['decisions']:,} decisions in {described['deals']:,} deals"]
    for name, split in described["splits"].items():
        lines.append(f"  {name:<10} {split['decisions']:>11,} in {split['deals']:>9,} deals")
    if described["deals_left_out"]:
        lines.append(f"Not finished and left out: {described['deals_left_out']:,}")
    return "\n".join(lines)
