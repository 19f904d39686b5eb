"""`guandan verify FILE`: every deal of a file of records played again, to its first fault."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from guandan_env.record_replay import Verified, verify_file

EXIT_FAULT = 1


def main(argv: list[str]) -> int:
    """Verify and say what was found; returns 0 if all is sound, 1 after a fault."""
    parser = argparse.ArgumentParser(
        prog="guandan verify",
        allow_abbrev=False,
        description="Play every deal of a file of records again and name the first fault, by deal "
        "and move: what the rules do not allow, and what contradicts the rest of the record. "
        "Exit status 1 if there is one.",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="what --record wrote")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    verified = _verified(args.file, show_progress=not args.json and sys.stderr.isatty())
    print(json.dumps(_plain(args.file, verified)) if args.json else _text(verified))
    return 0 if verified.fault is None else EXIT_FAULT


def _verified(path: Path, show_progress: bool) -> Verified:
    if not show_progress:
        return verify_file(path)
    from rich.console import Console
    from rich.status import Status

    with Status("reading …", console=Console(stderr=True)) as status:
        return verify_file(path, lambda deals: status.update(f"{deals:,} deals are sound"))


def _text(verified: Verified) -> str:
    plural = "" if verified.deals == 1 else "s"
    sound = f"{verified.deals:,} deal{plural} with {verified.moves:,} moves"
    if verified.fault is None:
        return f"{sound}: all sound."
    return f"{verified.fault}\nBefore this first fault: {sound}, all sound."


def _plain(path: Path, verified: Verified) -> dict[str, object]:
    fault = verified.fault
    found = fault and {"deal": fault.deal, "move": fault.move, "reason": fault.reason}
    return {
        "file": str(path),
        "deals": verified.deals,
        "moves": verified.moves,
        "fault": found,
    }
