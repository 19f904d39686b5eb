"""`guandan join URL --agent SPEC`: one of our agents plays on a server of the platform."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import redirect_stdout

from agents import describe
from agents.njupt.incoming import Told
from agents.process_agent import close, make_under
from eval.serving.client import Place, Player
from eval.serving.terms import MOST_GAMES
from guandan_env.checks import check_seed, whole_number
from guandan_env.conduct import Conduct
from guandan_env.errors import one_line
from guandan_env.rules_file import HELP, load_rules


def main(argv: list[str]) -> int:
    """Play to the end and print the result; returns the exit status."""
    args = _parser().parse_args(argv)
    rules, _ = load_rules(args.rules)
    check_seed(args.seed)
    place = Place(
        user=args.user,
        room=None if args.room is None else whole_number(args.room, "--room", 0, 2**53),
        seat=None if args.seat is None else whole_number(args.seat, "--seat", 0, 3),
        games=whole_number(args.games, "--games", 1, MOST_GAMES),
    )

    agent = make_under(args.agent, Conduct())
    try:
        with redirect_stdout(sys.stderr):  # what agents print is no result
            agent.reset()
            player = Player(
                args.url, agent, rules, place=place, seed=args.seed, retry=args.retry, tell=_tell
            )
            result = player.play()
    finally:
        close(agent)
    print(json.dumps(result) if args.json else "The games are over: " + json.dumps(result))
    return 0


def _tell(told: Told) -> None:
    """Say how far it is, to people who wait."""
    if told.data is not None and "roomId" in told.data:
        print(f"In room {one_line(told.data['roomId'])}.", file=sys.stderr)
    elif told.stage == "episodeOver":
        print(f"A deal is over; order: {' '.join(map(str, told.order))}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="guandan join",
        allow_abbrev=False,
        description="An agent plays on a server of the NJUPT platform (ws://HOST:PORT/game/NAME) "
        "or of OpenGuanDan (any other path), until the result of all games.",
        epilog="agents: " + "; ".join(f"{n} ({text})" for n, text in describe().items()),
    )
    parser.add_argument("url", metavar="URL", help="such as ws://127.0.0.1:23456/game/client0")
    parser.add_argument(
        "--agent", default="greedy", metavar="SPEC", help="who plays (default greedy)"
    )
    parser.add_argument("--room", type=int, help="OpenGuanDan: join this room (default: a new one)")
    parser.add_argument("--seat", type=int, help="OpenGuanDan: the seat, 0 to 3")
    parser.add_argument("--user", default="guandan", help="OpenGuanDan: the user's id (guandan)")
    parser.add_argument(
        "--games", type=int, default=1, help="OpenGuanDan: games in a new room (default 1)"
    )
    parser.add_argument("--rules", default="njupt", metavar="RULES", help=HELP + " (njupt)")
    parser.add_argument("--seed", type=int, default=0, help="of the agent's choices (default 0)")
    parser.add_argument(
        "--retry", type=float, default=30.0, help="seconds to try again if it breaks (default 30)"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON alone")
    return parser
