"""`guandan tournament FILE`: a whole competition between bots, played or gone on with."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guandan_env import __version__
from guandan_env.errors import GuandanError, nearest, shown

if TYPE_CHECKING:
    from eval.competition.running import Now

EXAMPLES = "competition/examples"


def main(argv: list[str]) -> int:
    """Play a competition and show it; returns the exit status."""
    args = _parser().parse_args(argv)
    if args.list or args.example is not None:
        text = _listed() if args.list else _example(args.example)
        sys.stdout.write(text)
        return 0
    if args.file is None:
        raise GuandanError(
            "no FILE is given; 'guandan tournament --list' names examples, and "
            "'guandan tournament --example elimination > my.yaml' writes one"
        )
    # Imported here: `--help` does without.
    from eval.competition.description import load
    from eval.competition.page import Page
    from eval.competition.running import Listener, Running
    from eval.competition.terminal import Terminal

    competition = load(args.file)
    folder = Path(f"{args.file.stem}-results") if args.out is None else args.out
    page = Page(folder, facts())
    terminal = None if args.json else Terminal()
    listeners: list[Listener] = [page] if terminal is None else [page, terminal]
    workers = _cores() if args.workers is None else args.workers
    running = Running(competition, folder, workers, listeners, replays=not args.no_replays)
    try:
        now = running.run()
    except KeyboardInterrupt:
        if terminal is not None:
            terminal.stop()
            print("Stopped; the same command goes on from here.", file=sys.stderr)
        raise
    page.write(now)
    if terminal is None:
        print(json.dumps(told(now, page.path), ensure_ascii=False))
    else:
        terminal.over(now)
        print(f"{page.path} shows all of it.")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="guandan tournament",
        allow_abbrev=False,
        description="Play a competition of bots as FILE describes it: draw, rounds, standings, "
        "places. It may be stopped at any moment, also by force; the same command goes on where "
        "it was, with the same draw and the same deals. docs/competitions.md explains the file.",
    )
    parser.add_argument("file", metavar="FILE", type=Path, nargs="?", help="a description in YAML")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="folder for results, page and replays (default: FILE's name with -results)",
    )
    parser.add_argument("--workers", type=int, help="processes to play in (default: all cores)")
    parser.add_argument(
        "--no-replays", action="store_true", help="write no pages of single deals; saves time"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object, no progress")
    parser.add_argument("--example", metavar="NAME", help="print a ready file of this format")
    parser.add_argument("--list", action="store_true", help="list the examples")
    return parser


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def examples() -> dict[str, str]:
    """The examples by name, each with its text; the first line says what it is."""
    folder = files("eval").joinpath(EXAMPLES)
    found = {file.name.removesuffix(".yaml"): file for file in folder.iterdir()}
    return {
        name: file.read_text(encoding="utf-8")
        for name, file in sorted(found.items())
        if file.name.endswith(".yaml")
    }


def _example(name: str) -> str:
    known = examples()
    if name not in known:
        raise GuandanError(
            f"{shown(name)} is no example{nearest(name, known)}; allowed: {', '.join(known)}"
        )
    return known[name]


def _listed() -> str:
    known = examples()
    width = max(map(len, known))
    lines = [
        f"{name:{width}}  {text.splitlines()[0].removeprefix('# ')}" for name, text in known.items()
    ]
    return "".join(f"{line}\n" for line in lines)


def facts() -> dict[str, str]:
    """Versions of what played."""
    from guandan_env.actions import ACTION_TABLE_VERSION

    return {
        "guandan": __version__,
        "action table": ACTION_TABLE_VERSION,
        "Python": platform.python_version(),
    }


def told(now: Now, page: Path) -> dict[str, Any]:
    """How a competition ended, as `--json` prints it: places, rounds with results, faults."""
    from eval.competition.page import faults
    from eval.competition.running import line_told

    names = [entrant.name for entrant in now.competition.entrants]
    rounds = []
    for stage, number, round, results in now.all_rounds():
        matches = []
        for match, pairing in enumerate(round.pairings):
            one: dict[str, Any] = {"a": names[pairing.a], "label": pairing.label}
            result = results.get(match)
            if result is not None and pairing.b is not None:
                one |= {"b": names[pairing.b], "wins": result.wins, "levels": result.levels}
                one |= {"deals": result.deals, "forfeit": result.forfeit >= 0}
                winner = (names[pairing.a], names[pairing.b], None)[result.winner]
                one |= {"winner": winner, "by": result.by}
            matches.append(one)
        stage_name = now.competition.stages[stage].name
        rounds.append(
            {"stage": stage_name, "number": number + 1, "name": round.name, "matches": matches}
        )
    keys = ("entrant", "agent", "cause", "text", "count")
    return {
        "name": now.competition.name,
        "seed": now.competition.seed,
        "places": [line_told(now.competition, x) for x in now.course.ranking(now.history)],
        "rounds": rounds,
        "faults": [dict(zip(keys, fault, strict=True)) for fault in faults(now)],
        "page": str(page),
    }
