"""The command `guandan`: a table of subcommands, each imported only when it is called.

A subcommand is a function `main(argv: list[str]) -> int` that takes the words after its name and
returns the exit status. Errors in what the user gave (`GuandanError`) become one line on standard
error and status 2; an interrupt gives 130, a reader that went away 141, as in a shell.
"""

from __future__ import annotations

import errno
import importlib
import io
import os
import sys
from collections.abc import Callable
from typing import NamedTuple

from guandan_env import __version__
from guandan_env.errors import GuandanError, nearest

EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141


class Command(NamedTuple):
    """Where a subcommand lives (`module:function`) and what `guandan --help` says of it."""

    target: str
    summary: str


COMMANDS: dict[str, Command] = {
    "demo": Command("train.commands.demo:main", "watch bots play, and one learn it in two minutes"),
    "match": Command("eval.commands.match:main", "two agents on the same deals, sides exchanged"),
    "tournament": Command("eval.commands.tournament:main", "a whole competition, from one file"),
    "eval": Command("eval.commands.eval:main", "an agent against the standard opponents"),
    "leaderboard": Command("eval.commands.leaderboard:main", "ratings, and who beats whom"),
    "play": Command("eval.commands.play:main", "play at the terminal against bots"),
    "serve": Command("eval.commands.serve:main", "a server for bots of the NJUPT platform"),
    "join": Command("eval.commands.join:main", "an agent plays on such a server"),
    "replay": Command("guandan_env.commands.replay:main", "look at recorded deals, move by move"),
    "verify": Command("guandan_env.commands.verify:main", "play recorded deals again, find faults"),
    "dataset": Command(
        "guandan_env.commands.dataset:main", "decisions of recorded deals as arrays"
    ),
    "train": Command("train.commands.train:main", "learn by self-play: ppo, dqn, dmc"),
    "export": Command("train.commands.export:main", "a trained agent as an ONNX model"),
    "curves": Command("train.commands.curves:main", "learning curves of runs in one picture"),
    "exploit": Command(
        "train.commands.exploit:main", "what an opponent gains that learns against an agent"
    ),
    "equity": Command("eval.commands.equity:main", "what every standing of a game is worth"),
    "rules": Command("guandan_env.commands.rules:main", "the presets: what differs, and sources"),
    "actions": Command("guandan_env.commands.actions:main", "look up rows of the action table"),
    "bench": Command("guandan_env.commands.bench:main", "measure speed and memory"),
}

# Which extra brings a module that guandan_env itself does without.
_EXTRA_OF = {
    "rich": "eval",
    "scipy": "eval",
    "msgspec": "eval",
    "yaml": "eval",
    "matplotlib": "eval",
    "jinja2": "eval",
    "networkx": "eval",
    "PIL": "render",
    "torch": "train",
    "tensorboard": "train",
    "safetensors": "train",
    "websockets": "web",
    "onnx": "export",
    "onnxruntime": "export",
    "onnxscript": "export",
}


class UsageError(GuandanError):
    """A command line that names no subcommand, or one whose extra is not installed."""


def main(argv: list[str] | None = None) -> int:
    """Run `guandan` with the words `argv` (default: `sys.argv[1:]`); returns the exit status."""
    words = sys.argv[1:] if argv is None else argv
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that cannot show 掼 or ♠ shows a question mark, not a traceback.
        sys.stdout.reconfigure(errors="replace")
    try:
        try:
            return _dispatch(words)
        finally:
            # Here, and not at the interpreter's exit, a closed pipe can still be answered.
            sys.stdout.flush()
    except GuandanError as error:
        print(f"guandan: error: {error}", file=sys.stderr)
        return EXIT_USAGE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # What is still buffered goes nowhere, or the interpreter's last flush would complain.
        _no_more_output()
        return EXIT_BROKEN_PIPE
    except OSError as error:
        if error.errno != errno.ENOSPC or error.filename is not None:
            raise
        _no_more_output()
        print("guandan: error: standard output: no space left", file=sys.stderr)
        return EXIT_USAGE


def _no_more_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _dispatch(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help"):
        print(_help())
        return 0
    if words[0] == "--version":
        print(f"guandan {__version__}")
        return 0
    name, *rest = words
    if name not in COMMANDS:
        kind = "option" if name.startswith("-") else "command"
        allowed = ["--help", "--version"] if kind == "option" else list(COMMANDS)
        raise UsageError(
            f"unknown {kind} {name!r}{nearest(name, allowed)}; allowed: {', '.join(allowed)}"
        )
    try:
        return _load(COMMANDS[name].target)(rest)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _EXTRA_OF:
            raise
        raise UsageError(
            f"'guandan {name}' needs {package}: pip install 'guandan[{_EXTRA_OF[package]}]'"
        ) from error


def _load(target: str) -> Callable[[list[str]], int]:
    module, _, function = target.partition(":")
    package = module.partition(".")[0]
    if package != "guandan_env":
        # Imported here: `guandan --help` does without it.
        from guandan_env.packages import require_ours

        require_ours(package)
    command: Callable[[list[str]], int] = getattr(importlib.import_module(module), function)
    return command


def _help() -> str:
    width = max(map(len, COMMANDS))
    lines = [
        "usage: guandan COMMAND [ARGUMENTS]",
        "",
        "Guandan (掼蛋): rules, fast environments, agents, evaluation.",
        "",
        "commands:",
        *(f"  {name:{width}}  {command.summary}" for name, command in COMMANDS.items()),
        "",
        "options:",
        "  -h, --help  this text; 'guandan COMMAND --help' tells more",
        "  --version   the version",
    ]
    return "\n".join(lines)
