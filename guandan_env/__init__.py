"""Guandan (掼蛋): the game and its environments."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from guandan_env.registration import register

__version__ = "0.1.0"

if TYPE_CHECKING:
    from guandan_env.aec import env, raw_env
    from guandan_env.decisions import Agent, Decisions
    from guandan_env.engine import Engine
    from guandan_env.errors import GuandanError
    from guandan_env.plays import Play, legal_plays
    from guandan_env.rules import RuleSet
    from guandan_env.single_seat import SingleSeatEnv, SingleSeatVectorEnv
    from guandan_env.vector import make_vec

_HOME = {
    "Agent": "decisions",
    "Decisions": "decisions",
    "Engine": "engine",
    "GuandanError": "errors",
    "Play": "plays",
    "RuleSet": "rules",
    "SingleSeatEnv": "single_seat",
    "SingleSeatVectorEnv": "single_seat",
    "env": "aec",
    "legal_plays": "plays",
    "make_vec": "vector",
    "raw_env": "aec",
}

__all__ = [
    "Agent",
    "Decisions",
    "Engine",
    "GuandanError",
    "Play",
    "RuleSet",
    "SingleSeatEnv",
    "SingleSeatVectorEnv",
    "env",
    "legal_plays",
    "make_vec",
    "raw_env",
]


def __getattr__(name: str) -> object:
    """Import public names when they are first used, so that `guandan --help` stays quick."""
    if name not in _HOME:
        raise AttributeError(f"module 'guandan_env' has no attribute {name!r}")
    return getattr(importlib.import_module(f"guandan_env.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    """What completion offers."""
    return sorted({*globals(), *_HOME})


register()
