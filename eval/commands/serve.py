"""`guandan serve`: a server that bots of the NJUPT platform and OpenGuanDan connect to."""

from __future__ import annotations

import argparse
import asyncio
import secrets
import sys
from contextlib import ExitStack
from pathlib import Path

from agents import describe
from agents.process_agent import close, make_under
from eval.serving.server import GameServer
from eval.serving.terms import LATE, MOST_GAMES, Limits, Terms
from guandan_env.checks import check_seed, whole_number
from guandan_env.conduct import Conduct
from guandan_env.errors import GuandanError
from guandan_env.record_file import RecordWriter
from guandan_env.rules_file import HELP, load_rules

LOOPBACK = "127.0.0.1"
OLD_PORT = 23456
_MOST_SECONDS = 86_400.0


def main(argv: list[str]) -> int:
    """Serve until Ctrl-C; returns the exit status."""
    args = _parser().parse_args(argv)
    terms = terms_of(args)
    port = whole_number(args.port, "--port", 0, 65_535)
    # What is wrong with the agent is said now, not when the first room begins.
    close(make_under(terms.fill, Conduct()))
    with ExitStack() as stack:
        writer = None if args.record is None else stack.enter_context(RecordWriter(args.record))
        try:
            asyncio.run(_serve(terms, args.host, port, writer))
        except KeyboardInterrupt:
            print("Goodbye.", file=sys.stderr)
    return 0


async def _serve(terms: Terms, host: str, port: int, writer: RecordWriter | None) -> None:
    try:
        async with GameServer(terms, writer).listening(host, port) as server:
            number = next(iter(server.sockets)).getsockname()[1]
            shown = f"[{host}]" if ":" in host else host
            print(f"Serving ws://{shown}:{number}; Ctrl-C ends it.", flush=True)
            print(f"  old platform   ws://{shown}:{number}/game/NAME", flush=True)
            print(f"  OpenGuanDan    ws://{shown}:{number}", flush=True)
            print(f"  spectators     ws://{shown}:{number}/watch/ROOM", flush=True)
            await server.serve_forever()
    except OSError as error:
        raise GuandanError(f"cannot listen at {host} port {port}: {error.strerror}") from error


def _parser() -> argparse.ArgumentParser:
    usual = Limits()
    parser = argparse.ArgumentParser(
        prog="guandan serve",
        allow_abbrev=False,
        description="A WebSocket server for bots that speak the messages of the NJUPT platform "
        "(/game/NAME) or of OpenGuanDan (any other path). Agents take the seats that nobody "
        "takes. Only this machine can connect, unless --host says otherwise.",
        epilog="agents: " + "; ".join(f"{n} ({text})" for n, text in describe().items()),
    )
    parser.add_argument("--host", default=LOOPBACK, help=f"address to listen at ({LOOPBACK})")
    parser.add_argument(
        "--port", type=int, default=OLD_PORT, help=f"port, 0 for any that is free ({OLD_PORT})"
    )
    parser.add_argument(
        "--agent", default="greedy", metavar="SPEC", help="who takes the other seats (greedy)"
    )
    parser.add_argument(
        "--seats",
        default="0,1,2,3",
        help="seats that bots may take; agents have the others from the start (0,1,2,3)",
    )
    parser.add_argument(
        "--wait",
        type=float,
        default=usual.wait,
        help=f"seconds until agents take the seats that are left ({usual.wait:g})",
    )
    parser.add_argument(
        "--games", type=int, default=1, help="games in a room of the old platform (1)"
    )
    parser.add_argument("--rules", default="njupt", metavar="RULES", help=HELP + " (njupt)")
    parser.add_argument("--seed", type=int, help="of the deals (default: a new one each time)")
    parser.add_argument(
        "--move-time",
        type=float,
        default=usual.move_time,
        help=f"seconds for a decision ({usual.move_time:g})",
    )
    parser.add_argument(
        "--return-within",
        type=float,
        default=usual.return_within,
        help=f"seconds for a bot that has dropped to come back ({usual.return_within:g})",
    )
    parser.add_argument(
        "--late",
        choices=LATE,
        default=LATE[0],
        help="what becomes of a bot that is lost: an agent plays on, or its side forfeits (agent)",
    )
    parser.add_argument("--record", type=Path, metavar="FILE", help="write every deal to a file")
    return parser


def terms_of(args: argparse.Namespace) -> Terms:
    """What the arguments say is played; `GuandanError` where that cannot be."""
    for name in ("wait", "move_time", "return_within"):
        value = getattr(args, name)
        if not 0 <= value <= _MOST_SECONDS or (name == "move_time" and value == 0):
            option = "--" + name.replace("_", "-")
            raise GuandanError(f"{option} is {value}; seconds up to {_MOST_SECONDS:g} are allowed")
    rules, _ = load_rules(args.rules)
    # Whoever knows the seed knows all hands, so a fixed one is for trials only.
    seed = secrets.randbelow(2**63) if args.seed is None else check_seed(args.seed)
    return Terms(
        rules=rules,
        seed=seed,
        fill=args.agent,
        open_seats=_seats(args.seats),
        games=whole_number(args.games, "--games", 1, MOST_GAMES),
        late=args.late,
        limits=Limits(move_time=args.move_time, return_within=args.return_within, wait=args.wait),
    )


def _seats(text: str) -> tuple[int, ...]:
    words = text.replace(" ", "").split(",")
    if not set(words) <= set("0123") or len(set(words)) != len(words):
        raise GuandanError(f"--seats is {text!r}; different seats from 0,1,2,3 are allowed")
    return tuple(sorted(int(word) for word in words))
