"""A competition as a file describes it: checked, and nothing played."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents import AgentError, make, parse
from agents.registry import KINDS, is_there
from eval.competition.field import Format
from eval.competition.reading import DescriptionError, Part
from eval.competition.stages import stage_of
from guandan_env.checks import MOST_SEED
from guandan_env.errors import one_line, shown
from guandan_env.options import LONGEST_TEXT, yaml_module

MOST_ENTRANTS = 1024
MOST_STAGES = 16
LONGEST_SOURCE = 200
KEYS = ("name", "source", "seed", "match", "entrants", "stages")


@dataclass(frozen=True)
class Entrant:
    """A pair (对): the specs of both partners, and the club that they belong to, if any."""

    name: str
    agents: tuple[str, str]
    club: str | None = None

    @property
    def played_by(self) -> str:
        """The agents, one name where both are the same."""
        return self.agents[0] if self.agents[0] == self.agents[1] else " + ".join(self.agents)


@dataclass(frozen=True)
class Stage:
    """A part of a competition. advance: how many of its entrants the next stage takes, or None."""

    name: str
    format: Format
    advance: int | None


@dataclass(frozen=True)
class Competition:
    """What a file describes. sha256: of all that bears on draw and play, see `read`."""

    name: str
    source: str
    seed: int
    entrants: tuple[Entrant, ...]
    stages: tuple[Stage, ...]
    sha256: str


def load(path: Path) -> Competition:
    """The competition of a YAML file; `DescriptionError` says what is wrong with it, and where."""
    try:
        with path.open("rb") as file:
            data = file.read(LONGEST_TEXT + 1)
        return read(data.decode("utf-8"))
    except OSError as error:
        raise DescriptionError(f"{str(path)!r}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise DescriptionError(f"{str(path)!r} is no text in UTF-8") from error
    except DescriptionError as error:
        raise DescriptionError(f"{str(path)!r}: {error}") from error


def read(text: str) -> Competition:
    """The competition that a YAML text describes; `DescriptionError` for anything else."""
    if len(text) > LONGEST_TEXT:
        raise DescriptionError(f"a description has at most {LONGEST_TEXT:,} characters")
    yaml = yaml_module()
    try:
        given = yaml.safe_load(text)
    except Exception as error:  # YAMLError, or what PyYAML's scalars raise
        raise DescriptionError(f"this is not YAML: {one_line(error)}") from error
    return from_dict(given)


def from_dict(given: object) -> Competition:
    """The competition that plain data describe."""
    whole = Part(given, "the description", KEYS)
    entrants = _entrants(whole)
    count = len(entrants)
    stages: list[Stage] = []
    told = whole.items("stages", MOST_STAGES)
    for number, one in enumerate(told):
        last = number == len(told) - 1
        where = f"stage {number + 1}"
        before = stages[-1].format if stages else None
        name, format, advance = stage_of(one, where, whole.given.get("match"), count, before, last)
        stages.append(Stage(name, format, advance))
        count = count if advance is None else advance
    _different([stage.name for stage in stages], "stages")
    return Competition(
        name=whole.text("name"),
        source=whole.text("source", "", LONGEST_SOURCE),
        seed=whole.whole("seed", 0, MOST_SEED, 0),
        entrants=entrants,
        stages=tuple(stages),
        sha256=_hash(whole.given),
    )


def _hash(given: Mapping[str, Any]) -> str:
    """Of the description without what is only for people to read."""
    plain = {key: value for key, value in given.items() if key not in ("name", "source")}
    text = json.dumps(plain, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _entrants(whole: Part) -> tuple[Entrant, ...]:
    entrants: list[Entrant] = []
    for number, one in enumerate(whole.items("entrants", MOST_ENTRANTS), 1):
        part = Part(one, f"entrant {number}", ("name", "club", "agents", "count"))
        count = part.whole("count", 1, MOST_ENTRANTS, 1)
        name, club = part.text("name"), part.text("club", "") or None
        names = [name] if "count" not in part else [f"{name} {i + 1}" for i in range(count)]
        entrants += [Entrant(name, _agents(part), club) for name in names]
    if not 2 <= len(entrants) <= MOST_ENTRANTS:
        raise DescriptionError(
            f"there are {len(entrants)} entrants; 2 to {MOST_ENTRANTS} are allowed"
        )
    _different([entrant.name for entrant in entrants], "entrants")
    for spec in dict.fromkeys(spec for entrant in entrants for spec in entrant.agents):
        _check_agent(spec)
    return tuple(entrants)


def _agents(part: Part) -> tuple[str, str]:
    given = part.given.get("agents")
    both = [given, given] if isinstance(given, str) else given
    good = isinstance(both, list) and len(both) == 2 and all(isinstance(s, str) for s in both)
    if not good or both is None:
        raise part.error("agents", "an agent, or a list of two partners,")
    return str(both[0]), str(both[1])


def _check_agent(spec: str) -> None:
    """Find what is wrong with an agent of this package now; a stranger's is its own affair.

    But for a module that is not there, which is a slip of whoever wrote the file.
    """
    try:
        parsed = parse(spec)
        if parsed.kind in KINDS or not parsed.target or not is_there(parsed):
            make(parsed)
    except AgentError as error:
        raise DescriptionError(str(error)) from error


def _different(names: list[str], what: str) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DescriptionError(f"two {what} are called {shown(twice)}; names are to differ")
