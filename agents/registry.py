"""Agents by name: the one grammar of specs, and what it makes.

A spec is `kind[:target][?key=value&…]`. The kind is a registered name, else a Python module, with
the class in it as target, found from the current folder: `greedy`, `my_bot:MyBot?depth=2`. What
follows the first colon is the target, so it may be a Windows path or another spec. Options begin
at the first question mark. In a target or an option `%3F` stands for a question mark, `%26` for
an ampersand, `%25` for a percent sign. Option values are numbers, `true`, `false` or text.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from guandan_env.decisions import Agent
from guandan_env.errors import GuandanError, nearest, one_line, shown


class AgentError(GuandanError):
    """A spec that names no agent, or an agent that does not do what an agent must."""


class Kind(NamedTuple):
    """Where a registered agent lives (`module:Class`), and what it is in a few words.

    takes: what the target of a spec of this kind is, such as `BASE` in `search:BASE`; the class
    gets it as its first argument. Empty for kinds that take no target.
    """

    target: str
    summary: str
    takes: str = ""


KINDS: dict[str, Kind] = {
    "random": Kind("agents.random_bot:Random", "any legal action, each as likely as the others"),
    "greedy": Kind("agents.greedy:Greedy", "the yardstick: low cards first, bombs when it must"),
    "planner": Kind("agents.planner:Planner", "plans its hand and plays to the plan"),
    "ppo": Kind("agents.policy_net:PPO", "a network trained by self-play", "PATH"),
    "dqn": Kind("agents.policy_net:DQN", "values of actions learned from values", "PATH"),
    "dmc": Kind("agents.policy_net:DMC", "values of actions learned from outcomes", "PATH"),
    "onnx": Kind("agents.onnx_file:OnnxPlayer", "a network that was exported", "FILE"),
    "search": Kind("agents.search:Search", "plays BASE's choices out in samples", "BASE"),
    "njupt": Kind(
        "agents.message_bots:Njupt", "a Python bot that speaks the platform's messages", "FOLDER"
    ),
    "exec": Kind("agents.message_bots:Exec", "any program, one JSON message a line", "COMMAND"),
}

Value = int | float | bool | str


@dataclass(frozen=True)
class Spec:
    """A parsed spec: `str(spec)` is its canonical text, and `parse` of that gives it back."""

    kind: str
    target: str = ""
    options: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        text = self.kind + (":" + _escape(self.target) if self.target else "")
        options = "&".join(
            _escape(key).replace("=", "%3D") + "=" + _escape(value) for key, value in self.options
        )
        return text + ("?" + options if options else "")


def parse(text: str) -> Spec:
    """The parts of a spec; `AgentError` where the text is none."""
    if not isinstance(text, str) or not text.strip():
        raise AgentError(f"{shown(text)} is no agent; {_allowed()}")
    front, mark, tail = text.partition("?")
    kind, colon, target = front.partition(":")
    if not kind or (colon and not target):
        raise AgentError(
            f"{shown(text)}: an agent is written kind[:target][?key=value&…]; {_allowed()}"
        )
    options = []
    for pair in tail.split("&") if mark else ():
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise AgentError(
                f"{shown(text)}: {shown(pair)} is no option; after '?' come options key=value with "
                "'&' between (a question mark that is meant is written %3F)"
            )
        options.append((unquote(key), unquote(value)))
    names = [key for key, _ in options]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise AgentError(f"{shown(text)}: the option {twice!r} is given twice")
    return Spec(kind, unquote(target), tuple(options))


def make(spec: str | Spec) -> Agent:
    """The agent that a spec names; `AgentError` for an unknown kind, module, class or option."""
    parsed = spec if isinstance(spec, Spec) else parse(spec)
    factory = _find(parsed)
    options = {key: _value(text) for key, text in parsed.options}
    target = (parsed.target,) if _takes(parsed.kind) else ()
    _check_options(parsed, factory, set(options), len(target))
    try:
        agent = factory(*target, **options)
        name = getattr(agent, "name", "")
    except (GuandanError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise AgentError(f"agent '{parsed}' cannot be made: {_why(error)}") from error
    if not isinstance(name, str):
        raise AgentError(f"agent '{parsed}': its name is {shown(name)}; a string is allowed")
    if not isinstance(agent, Agent):
        lacks = [member for member in ("name", "reset", "act") if not hasattr(agent, member)]
        raise AgentError(f"agent '{parsed}' lacks {', '.join(lacks)}: an agent has all three")
    return agent


def describe() -> dict[str, str]:
    """Registered kinds as they are written in a spec, each with what it is in a few words."""
    return {_written(name): kind.summary for name, kind in KINDS.items()}


def _takes(kind: str) -> str:
    return KINDS[kind].takes if kind in KINDS else ""


def _written(kind: str) -> str:
    return f"{kind}:{_takes(kind)}" if _takes(kind) else kind


def _find(spec: Spec) -> Callable[..., object]:
    """The class that makes the agent."""
    if spec.kind in KINDS:
        takes = _takes(spec.kind)
        if spec.target and not takes:
            raise AgentError(f"agent '{spec}': {spec.kind!r} takes no target {spec.target!r}")
        if takes and not spec.target:
            raise AgentError(f"agent '{spec}' lacks a target; it is written {_written(spec.kind)}")
        path, _, name = KINDS[spec.kind].target.partition(":")
        registered: Callable[..., object] = getattr(importlib.import_module(path), name)
        return registered
    if not spec.target:
        raise AgentError(f"unknown agent {spec.kind!r}{nearest(spec.kind, KINDS)}; {_allowed()}")
    module = _import_from_here(spec)
    found = getattr(module, spec.target, None)
    if not callable(found):
        classes = [
            name
            for name, value in vars(module).items()
            if inspect.isclass(value) and value.__module__ == spec.kind
        ]
        raise AgentError(
            f"agent '{spec}': the module {spec.kind!r} has no class {spec.target!r}"
            f"{nearest(spec.target, classes)}; it has {', '.join(classes) or 'none'}"
        )
    return found


def is_there(spec: Spec) -> bool:
    """Whether the kind of a spec is registered or a module that can be found; nothing is run."""
    if spec.kind in KINDS:
        return True
    _look_here()
    try:
        return importlib.util.find_spec(spec.kind.partition(".")[0]) is not None
    except (ImportError, ValueError):
        return False


def _look_here() -> str:
    """Have modules found in the current folder, too."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    return here


def _import_from_here(spec: Spec) -> object:
    here = _look_here()
    try:
        return importlib.import_module(spec.kind)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if spec.kind != missing and not spec.kind.startswith(missing + "."):
            raise AgentError(f"agent '{spec}' cannot be imported: {_why(error)}") from error
        raise AgentError(
            f"unknown agent {str(spec)!r}{nearest(spec.kind, KINDS)}; {_allowed()}; "
            f"there is no module {spec.kind!r} in {here}"
        ) from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever the user's module raises
        raise AgentError(f"agent '{spec}' cannot be imported: {_why(error)}") from error


def _check_options(
    spec: Spec, factory: Callable[..., object], given: set[str], targets: int
) -> None:
    """`AgentError` for options that are none; the first `targets` parameters are no options."""
    try:
        parameters = list(inspect.signature(factory).parameters.values())[targets:]
    except ValueError:  # some built-in types tell nothing; what they are given, they judge
        return
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return
    allowed = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    for name in sorted(given - set(allowed)):
        raise AgentError(
            f"agent '{spec}': unknown option {name!r}{nearest(name, allowed)}; "
            f"allowed: {', '.join(allowed) or 'none'}"
        )


def _value(text: str) -> Value:
    if text in ("true", "false"):
        return text == "true"
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def _escape(text: str) -> str:
    for sign, code in (("%", "%25"), ("?", "%3F"), ("&", "%26")):
        text = text.replace(sign, code)
    return text


def _why(error: BaseException) -> str:
    return f"{type(error).__name__}: {one_line(error)}"


def _allowed() -> str:
    kinds = ", ".join(map(_written, KINDS))
    return f"allowed are {kinds}, or module:Class of your own in the current folder"
