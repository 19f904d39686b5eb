"""What the game is: `RuleSet`, an immutable set of options, and its presets by name.

The rules themselves are written down in docs/rules.md; the clause numbers below refer to it.
What a runner does about faults and time is `guandan_env.conduct.Conduct`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from guandan_env.options import Options, flag, level, levels, one_of, option, optional, text, whole
from guandan_env.presets import PRESETS, preset_options, require_preset

# Far above any real limit, and within the counters of the batch engine: five levels a deal stay
# below 2**15.
MOST_DEALS = 6_000
MOST_ATTEMPTS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSet(Options):
    """The rules of a game of Guandan (掼蛋). The defaults are the preset `default`.

    Levels are characters, "2" to "A". Raises `RulesError` for a value that is not allowed, and
    for options that cannot go together, with the reason.
    """

    name: str = option(
        "", text(80), "label: the preset of these options, 'custom', or one's own", compare=False
    )
    # Patterns and play: clauses 2.x, 4.x
    flush_straight_as_straight: bool = option(
        False, flag(), "five natural cards of one suit may be claimed as a plain straight (2.8)"
    )
    wind: str = option(
        "partner", one_of("partner", "next"), "who leads after a finisher's last play (借风, 4.6)"
    )
    first_lead: str = option(
        "turned", one_of("turned", "heart_level"), "who leads the first deal of a game (4.10)"
    )
    # Promotion and the end of a game: clauses 5.x
    promotion: tuple[int, int, int] = option(
        (3, 2, 1),
        one_of((3, 2, 1), (5, 3, 1)),
        "levels for first with second, with third, with last (升级, 5.2)",
    )
    must_play: tuple[str, ...] = option(
        ("A",), levels(), "levels that a promotion may not jump over (必打, 5.4)"
    )
    ace: str = option("pass", one_of("pass", "reach", "wrap"), "what level A means (5.5)")
    ace_pass: str = option(
        "not_last", one_of("not_last", "double_down"), "how level A is passed (过A, 5.6)"
    )
    ace_attempts: int | None = option(
        None, optional(whole(1, MOST_ATTEMPTS)), "failed deals at A before falling back (5.8)"
    )
    ace_attempt_counts: str = option(
        "any", one_of("any", "partner_last"), "which deals at A count as failed (5.8)"
    )
    ace_reset: str = option("2", level(), "the level fallen back to from A (5.8)")
    surplus_demotes: bool = option(
        False, flag(), "what a promotion has beyond A is taken off the opponents (5.9)"
    )
    streaks: bool = option(
        False, flag(), "third and further lasts or firsts in a row move a level (5.10)"
    )
    start_level: str = option("2", level(), "the level of a game's first deal (5.1)")
    fixed_level: str | None = option(
        None, optional(level()), "play every deal at this level, for points (5.13)"
    )
    max_deals: int | None = option(
        None, optional(whole(1, MOST_DEALS)), "deals after which play is cut off (5.14)"
    )
    limit_scope: str = option(
        "game", one_of("game", "match"), "whether the limit counts a game or a match (5.14)"
    )
    at_limit: str = option(
        "higher", one_of("higher", "sudden_death"), "what decides at the limit (5.15, 5.17)"
    )
    at_limit_tie: str = option(
        "last_first",
        one_of("last_first", "non_declarer", "overtime", "draw"),
        "who wins on equal levels at the limit (5.16)",
    )
    # Tribute: clauses 6.x
    tribute: bool = option(True, flag(), "losers pay tribute before the next deal (进贡, 6.1)")
    resist: str = option(
        "must", one_of("must", "may"), "whether two big jokers must resist or may (抗贡, 6.5)"
    )
    tribute_pairing: str = option(
        "rank", one_of("rank", "seat"), "which of two payers pays whom (6.7)"
    )
    tribute_tie: str = option(
        "seat", one_of("seat", "choose"), "which of two equal tributes goes to whom (6.8)"
    )
    tribute_lead: str = option(
        "higher", one_of("higher", "higher_seat", "last"), "who leads after two tributes (6.9)"
    )
    return_limit: str = option(
        "ten",
        one_of("ten", "any", "below_level_to_partner"),
        "which cards may be returned (还牌, 6.12)",
    )
    return_tie: str | None = option(
        None, one_of(None, "choose_lead"), "the returns decide the lead after a tie (6.10)"
    )

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if not self.name:
            object.__setattr__(self, "name", self._matching_preset())

    def _matching_preset(self) -> str:
        return next((n for n in PRESETS if not self.differences(_preset(n))), "custom")

    def _conflicts(self) -> Iterator[str]:
        unlimited = self.max_deals is None
        if self.fixed_level is not None and unlimited:
            yield "fixed_level needs max_deals: levels that do not move never end a game"
        if self.ace == "wrap" and unlimited:
            yield "ace='wrap' needs max_deals: promotions that run on past A never end a game"
        if self.ace != "wrap" and "A" not in self.must_play:
            yield f"must_play={self.must_play!r} lacks 'A', which only ace='wrap' lets one jump"
        if self.ace == "reach" and self.start_level == "A" and self.fixed_level is None:
            yield "start_level='A' with ace='reach' is won before the first deal"
        if self.fixed_level is not None and self.start_level not in ("2", self.fixed_level):
            yield (
                f"start_level={self.start_level!r} contradicts fixed_level={self.fixed_level!r}: "
                "every deal is at the fixed level; leave start_level at '2'"
            )
        if self.ace_reset == "A":
            yield "ace_reset='A' is no fall from A; allowed: a level below A"
        moving = [
            name for name in ("streaks", "surplus_demotes", "ace_attempts") if getattr(self, name)
        ]
        for name in moving:
            if self.fixed_level is not None:
                yield f"{name} moves levels, which fixed_level={self.fixed_level!r} forbids"
            if self.ace == "wrap":
                yield f"{name} needs A as the last level, and with ace='wrap' there is none"
        if self.at_limit == "sudden_death":
            if self.fixed_level is not None:
                yield "at_limit='sudden_death' wins games, and with fixed_level points are counted"
            if self.ace == "wrap":
                yield "at_limit='sudden_death' would void the game that ace='wrap' never finishes"
        if self.tribute_tie == "choose":
            if self.tribute_pairing == "seat":
                yield "tribute_tie='choose' has no choice to make with tribute_pairing='seat'"
            if self.tribute_lead != "higher":
                yield (
                    f"tribute_tie='choose' lets the chosen card's payer lead, and "
                    f"tribute_lead={self.tribute_lead!r} says otherwise"
                )
        elif self.return_tie is not None:
            yield f"return_tie={self.return_tie!r} needs tribute_tie='choose'"

    @classmethod
    def presets(cls) -> tuple[str, ...]:
        """The names of all presets, `default` first."""
        return tuple(PRESETS)

    @classmethod
    def preset(cls, name: str) -> RuleSet:
        """The rules of a preset by name; raises `RulesError` for a name that is none."""
        require_preset(name)
        return _preset(str(name))

    @classmethod
    def of(cls, rules: object) -> RuleSet:
        """A RuleSet as it is, or the preset of a name; `RulesError` for anything else."""
        return rules if isinstance(rules, RuleSet) else cls.preset(rules)  # type: ignore[arg-type]


@cache
def _preset(name: str) -> RuleSet:
    return RuleSet(name=name, **preset_options(name, "rules"))
