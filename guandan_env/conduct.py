"""What a runner of matches does about faults, time and hidden counts: `Conduct`.

Engine and environments never apply it: there an illegal action always raises. The clauses are
section 7 of docs/rules.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from guandan_env.options import Options, one_of, option, optional, seconds, whole
from guandan_env.presets import preset_options, require_preset


@dataclass(frozen=True, slots=True, kw_only=True)
class Conduct(Options):
    """How a match is conducted. The defaults are the preset `default`. Times are in seconds.

    Raises `RulesError` for a value that is not allowed, and for options that cannot go together.
    """

    illegal_play: str = option(
        "error", one_of("error", "pass", "forfeit"), "what an illegal play leads to (7.4)"
    )
    reveal_counts_at: int = option(
        27, one_of(27, 10, 7, 6), "card counts of others are shown at this many or fewer (7.2)"
    )
    move_time: float | None = option(None, optional(seconds()), "seconds for a decision (7.3)")
    first_lead_time: float | None = option(
        None, optional(seconds()), "seconds for a deal's first lead, if not as move_time (7.3)"
    )
    start_time: float | None = option(
        None, optional(seconds()), "seconds until a player who has not started forfeits (7.6)"
    )
    penalty_levels: int = option(
        0, whole(0, 12), "levels taken off a side between deals for each fault (7.7)"
    )
    grave_penalty_levels: int = option(
        0, whole(0, 12), "the same for a grave one, a crash; 12 is back to level 2 (7.7)"
    )

    def _conflicts(self) -> Iterator[str]:
        if self.grave_penalty_levels < self.penalty_levels:
            yield (
                f"grave_penalty_levels={self.grave_penalty_levels} is milder than "
                f"penalty_levels={self.penalty_levels}"
            )

    @classmethod
    def preset(cls, name: str) -> Conduct:
        """The conduct of a preset by name; raises `RulesError` for a name that is none."""
        require_preset(name)
        return _preset(name)


@cache
def _preset(name: str) -> Conduct:
    return Conduct(**preset_options(name, "conduct"))
