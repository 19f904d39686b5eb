"""The presets as data: what each changes in `standard`, where it comes from, what it leaves open.

A preset names a RuleSet and a Conduct, both given as differences from `standard`. `standard` in
turn is given as differences from the defaults of the two classes, which are `default`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from guandan_env.errors import RulesError, nearest, shown


@dataclass(frozen=True, slots=True)
class Preset:
    """One preset: its title, its source (document in English, number), notes, and options."""

    title: str
    source: str
    notes: tuple[str, ...] = ()
    rules: Mapping[str, Any] = field(default_factory=dict)
    conduct: Mapping[str, Any] = field(default_factory=dict)


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "default": Preset(
            "Setting of the research literature",
            "none: standard, with the resist and the open counts that published bots play with",
            rules={"resist": "must"},
            conduct={"reveal_counts_at": 27},
        ),
        "standard": Preset(
            "Standard competition rules",
            "Guandan competition rules (001)",
            ("The document also allows tribute_tie='choose'.",),
            rules={"resist": "may"},
            conduct={"reveal_counts_at": 6},
        ),
        "company": Preset(
            "Company competition with streaks",
            "Company Guandan competition rules (000)",
            (
                "The document gives the wind to the next seat after the first finisher; "
                "it is applied to the second as well.",
                "Its rule on pairs that are ten minutes late breaks off in the known copy.",
            ),
            rules={
                "wind": "next",
                "resist": "must",
                "return_limit": "below_level_to_partner",
                "streaks": True,
            },
            conduct={"illegal_play": "pass", "reveal_counts_at": 10},
        ),
        "university": Preset(
            "University staff knock-out with sudden death",
            "Regulations of a university staff card competition (002)",
            (
                "The limit of 150 minutes is taken as 30 deals, an estimate.",
                "Penalties are two levels for a light fault, back to level 2 for a grave one.",
            ),
            rules={
                "promotion": (5, 3, 1),
                "resist": "must",
                "ace_attempts": 3,
                "ace_reset": "2",
                "max_deals": 30,
                "limit_scope": "match",
                "at_limit": "sudden_death",
            },
            conduct={"reveal_counts_at": 7, "penalty_levels": 2, "grave_penalty_levels": 12},
        ),
        "staff": Preset(
            "Company staff tournament on time, promotion past A",
            "Rules of a first staff Guandan tournament (003, part 1)",
            ("The limit of 90 minutes is taken as 18 deals, an estimate.",),
            rules={
                "must_play": (),
                "ace": "wrap",
                "max_deals": 18,
                "at_limit": "higher",
                "at_limit_tie": "overtime",
            },
            conduct={"reveal_counts_at": 10},
        ),
        "pharma": Preset(
            "Tournament without tribute, first to reach A",
            "Guandan competition rules of a pharmaceutical company (003, part 2)",
            ("The document has no rule on card counts.",),
            rules={"tribute": False, "ace": "reach"},
            conduct={"reveal_counts_at": 27},
        ),
        "community": Preset(
            "Residents' new-year competition, first to reach A",
            "Plan of a community's new-year card competition (003, part 3)",
            (
                "Promotion and tribute follow unnamed local rules; they are taken from standard.",
                "The limit of 60 minutes is taken as 12 deals, an estimate.",
                "The second stage plays ace='pass'.",
                "The document has no rule on card counts.",
            ),
            rules={
                "ace": "reach",
                "max_deals": 12,
                "at_limit": "higher",
                "at_limit_tie": "non_declarer",
            },
            conduct={"reveal_counts_at": 27},
        ),
        "casual": Preset(
            "Points tournament with choices and demotion",
            "Guandan competition rules (003, part 4)",
            (
                "The manner of passing A is not said; it is taken from standard.",
                "The limit of 60 minutes is taken as 12 deals, an estimate.",
                "The document has no rule on card counts.",
            ),
            rules={
                "promotion": (5, 3, 1),
                "tribute_tie": "choose",
                "return_tie": "choose_lead",
                "ace_attempts": 3,
                "ace_reset": "2",
                "surplus_demotes": True,
                "max_deals": 12,
                "at_limit": "higher",
                "at_limit_tie": "last_first",
            },
            conduct={"illegal_play": "pass", "reveal_counts_at": 27, "start_time": 600},
        ),
        "graduate": Preset(
            "Student tournament, first to reach A, jacks must be played",
            "Plan of a graduate students' Guandan competition (003, part 5)",
            (
                "The document also says that the first player takes the higher card "
                "(tribute_pairing='rank').",
                "Its wording on failing at A is unclear; the fall is taken as one to K, and "
                "matters only where a later stage plays on at A.",
                "The limit is taken as 12 deals, an estimate.",
                "The document has no rule on card counts.",
            ),
            rules={
                "promotion": (5, 3, 1),
                "tribute_pairing": "seat",
                "tribute_lead": "last",
                "return_limit": "any",
                "must_play": ("J", "A"),
                "ace": "reach",
                "ace_attempts": 3,
                "ace_reset": "K",
                "max_deals": 12,
                "at_limit": "higher",
                "at_limit_tie": "overtime",
            },
            conduct={"reveal_counts_at": 27, "move_time": 30, "start_time": 600},
        ),
        "competitive": Preset(
            "Competitive Guandan on networked devices",
            "Competition rules of competitive Guandan poker (004)",
            (
                "The numbers of the document are lost in the known copies; they are taken from "
                "standard.",
                "Its times for a move and for the first lead are the organiser's to set.",
                "The document has no rule on card counts.",
            ),
            rules={"resist": "must", "first_lead": "heart_level"},
            conduct={"reveal_counts_at": 27},
        ),
        "njupt": Preset(
            "Platform of the national Guandan AI competition",
            "Manuals of the NJUPT offline platform",
            (
                "The old platform asks ace_pass='double_down', and calls a game a draw after "
                "50 falls from A.",
            ),
            rules={
                "resist": "must",
                "tribute_pairing": "seat",
                "tribute_lead": "higher_seat",
                "ace_attempts": 4,
                "ace_attempt_counts": "partner_last",
                "ace_reset": "2",
            },
            conduct={"reveal_counts_at": 27},
        ),
    }
)


def require_preset(name: object) -> None:
    """Raise `RulesError` with the presets' names if `name` is not one of them."""
    if not isinstance(name, str) or name not in PRESETS:
        raise RulesError(
            f"unknown preset {shown(name)}{nearest(name, PRESETS)}; presets: {', '.join(PRESETS)}"
        )


def preset_options(name: str, part: Literal["rules", "conduct"]) -> dict[str, Any]:
    """The options of a preset in full: those of `standard` with the preset's own over them."""
    return {**getattr(PRESETS["standard"], part), **getattr(PRESETS[name], part)}
