"""The program that `njupt:FOLDER` runs: one bot of a folder, told and asked through lines of JSON.

It is started by its path and imports nothing of ours: the bot's modules may have any names, and it
starts quickly. Arguments: the folder, and where in it the bot is, `module:Name` or `module`.
"""

import importlib
import json
import operator
import os
import signal
import sys
from queue import SimpleQueue
from threading import Thread

NAMES = ("Bot", "act")  # what is looked for in a module where no name is given


def main() -> None:
    """Load the bot, say that it is ready, and answer until the input ends."""
    folder, entry = sys.argv[1:3]
    sys.path[0] = folder
    asked, answers = own_pipes()
    lines: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=listen, args=(asked, lines), daemon=True).start()
    bot = load(entry)
    answer = bot.act if hasattr(bot, "act") else bot
    hear = getattr(bot, "notify", None)
    say(answers, {"ready": True})
    while True:
        message = json.loads(lines.get())
        if message["type"] == "act":
            say(answers, answer(message))
        elif hear is not None:
            hear(message)


def load(entry):
    """The bot: an object of the class that is named, or the function."""
    module_name, _, name = entry.partition(":")
    module = importlib.import_module(module_name)
    names = [name] if name else [n for n in NAMES if hasattr(module, n)]
    if not names:
        raise AttributeError(f"module {module_name!r} has neither a class Bot nor a function act")
    found = getattr(module, names[0])
    return found() if isinstance(found, type) else found


def say(answers, value) -> None:
    """Write a line; numbers of numpy are numbers too."""
    answers.write(json.dumps(value, default=operator.index).encode() + b"\n")
    answers.flush()


def listen(asked, lines) -> None:
    """Take in lines; when nobody asks any more, end whatever the bot is doing."""
    for line in asked:
        lines.put(line)
    os.killpg(0, signal.SIGKILL)  # its children too


def own_pipes():
    """Standard input and output for lines alone: what the bot prints goes to standard error."""
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return asked, answers


if __name__ == "__main__":
    main()
