"""What a match is: its rules, its length, its conduct (RULES 9.1, 9.5, 9.6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eval.competition.reading import DescriptionError, Part
from guandan_env.conduct import Conduct
from guandan_env.errors import RulesError
from guandan_env.rules import RuleSet

MOVE_TIME = 30.0  # seconds, where neither file nor preset says any (003, part 5)
START_TIME = 600.0  # the ten minutes of 003, parts 4 and 5
FORFEIT_LEVELS = 6  # half of the way from 2 to A (9.6)
MOST_GAMES = 99
KEYS = ("rules", "options", "conduct", "best_of", "forfeit_levels")


@dataclass(frozen=True)
class MatchTerms:
    """How the matches of a round are played.

    forfeit_levels: the difference in levels that a forfeit counts as.
    """

    rules: RuleSet
    conduct: Conduct
    best_of: int = 1
    forfeit_levels: int = FORFEIT_LEVELS

    def told(self) -> str:
        """The terms in one line."""
        length = "one game" if self.best_of == 1 else f"best of {self.best_of} games"
        limit = ""
        if self.rules.max_deals is not None:
            limit = f", at most {self.rules.max_deals} deals a {self.rules.limit_scope}"
        return f"{length}, rules {self.rules.name}{limit}"


def merged(*layers: object) -> dict[str, Any]:
    """Several `match` mappings in one: later ones count, `options` and `conduct` key by key.

    A layer that names other rules lets go of the options and the conduct of those before.
    """
    whole: dict[str, Any] = {}
    for layer in layers:
        part = Part({} if layer is None else layer, "match", KEYS).given
        if "rules" in part and part["rules"] != whole.get("rules"):
            whole.pop("options", None)
            whole.pop("conduct", None)
        for key, value in part.items():
            if key in ("options", "conduct") and isinstance(value, Mapping):
                whole[key] = {**whole.get(key, {}), **value}
            else:
                whole[key] = value
    return whole


def terms_of(given: Mapping[str, Any], where: str) -> MatchTerms:
    """The terms that a `match` mapping describes; `DescriptionError` where it does not."""
    part = Part(given, where, KEYS)
    best_of = part.whole("best_of", 1, MOST_GAMES, 1)
    if best_of % 2 == 0:
        raise part.error("best_of", "an odd number of games")
    try:
        name = given.get("rules", "default")
        rules = RuleSet.preset(name)
        options = part.given.get("options", {})
        if not isinstance(options, Mapping):
            raise part.error("options", "a mapping from options of the rules to values")
        if options:
            own = {key: value for key, value in rules.to_dict().items() if key != "name"}
            rules = RuleSet.from_dict({**own, **options})
            if rules.name == "custom":
                rules = rules.replace(name=f"{name} with changes")
        conduct = _conduct(part, Conduct.preset(name))
    except RulesError as error:
        raise DescriptionError(f"{where}: {error}") from error
    return MatchTerms(
        rules=rules,
        conduct=conduct,
        best_of=best_of,
        forfeit_levels=part.whole("forfeit_levels", 0, 13, FORFEIT_LEVELS),
    )


def _conduct(part: Part, preset: Conduct) -> Conduct:
    """The preset's conduct as competitions have it, with what the file says over it.

    A fault never stops a competition, so `illegal_play` is at least `pass`; and nobody may think
    for ever, so there is a time for moves and for starting.
    """
    given = part.given.get("conduct", {})
    if not isinstance(given, Mapping):
        raise part.error("conduct", "a mapping from options of the conduct to values")
    conduct = preset.replace(
        illegal_play="pass" if preset.illegal_play == "error" else preset.illegal_play,
        move_time=MOVE_TIME if preset.move_time is None else preset.move_time,
        start_time=START_TIME if preset.start_time is None else preset.start_time,
    )
    conduct = Conduct.from_dict({**conduct.to_dict(), **given})
    if conduct.illegal_play == "error":
        raise DescriptionError(
            f"{part.where}: illegal_play is 'error', which would end the competition; "
            "pass and forfeit are allowed"
        )
    if conduct.move_time is None or conduct.start_time is None:
        raise DescriptionError(
            f"{part.where}: move_time and start_time are seconds in a competition, since nobody "
            "waits for ever; None is not allowed"
        )
    return conduct
