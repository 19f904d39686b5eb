"""The numbers of `planner`: what a partition of a hand is worth, and what a play is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class PlanWeights:
    """What the plays of a hand's partition are worth, in turns.

    A play costs one turn and gives its control back. Control of one to three cards of a rank
    mixes two views, the first with the weight `share`: the part of the unseen cards of that kind
    that are not higher, squared (can it be got rid of over others), and
    1 / (1 + risk * higher ones that the opponents may hold)² (does it stand).
    """

    share: float = 0.525
    risk_single: float = 0.316
    risk_pair: float = 0.506
    risk_triple: float = 0.598
    straight: float = 0.1  # the lowest; `rise` from there to the highest
    straight_rise: float = 0.496
    tube: float = 0.336
    tube_rise: float = 0.36
    plate: float = 0.567
    plate_rise: float = 0.25
    bomb: float = 0.719  # four of the lowest rank, beyond the turn it costs
    bomb_tier: float = 0.127  # each tier above
    lone_wild: float = 0.594
    triple_value: float = -0.611  # of a triple that a wild may make a bomb
    pair_value: float = -0.802  # of a pair that two wilds may make a bomb
    low_pair: float = 0.488  # pairs below this control are low
    absorb_low: float = 0.812  # what a low pair gains in a full house
    absorb_high: float = 0.321


# Only their proportions matter. The pass features do not arise when leading.
PLAYS: dict[str, tuple[float, float, float]] = {
    # feature: leading, over an opponent, over the partner
    "value": (4.85, 4.79, 3.42),
    "value_danger": (-1.97, -1.44, -0.79),
    "value_early": (0.67, 0.27, 0),
    "value_next": (1.09, 0.17, 0.38),
    "value_few": (-2.84, 0.15, -0.54),
    "value_ended": (-0.60, 0.58, 0.13),
    "value_above_1": (0.80, -1.69, 1.01),
    "value_above_2": (1.46, 2.20, 0.82),
    "value_above_4": (0.48, 3.46, 1.02),
    "turns": (1.14, 1.76, 1.12),
    "turns_danger": (-0.85, -0.68, 0.56),
    "out": (9.35, 9.40, 9.31),
    "one_left": (1.06, -0.28, 0.97),
    "two_left": (-0.01, 0.23, 0.33),
    "one_left_control": (-0.27, 1.79, -0.03),
    "bombs_left": (1.64, 0.68, 0.86),
    "bombs_left_danger": (0.78, 0.38, 0.27),
    "singles_left": (-0.39, -0.51, -0.32),
    "weak_singles_left": (0.01, -0.29, -0.29),
    "strong_singles_left": (0.29, 0.24, -0.58),
    "pairs_left": (-0.28, -0.52, -0.85),
    "weak_pairs_left": (0.35, 0.56, 0.15),
    "strong_pairs_left": (0.41, 0.76, 0.62),
    "triples_left": (0.78, -0.06, 0.45),
    "wilds_left": (1.94, 1.90, 0.43),
    "wilds_left_early": (-0.14, 0.31, 0.16),
    "stand": (3.78, 1.76, 1.11),
    "stand_danger": (-1.16, 1.83, 1.08),
    "stand_near": (5.77, 0.67, 1.66),
    "stand_one_left": (1.46, 0.75, 1.99),
    "stand_two_left": (1.00, -1.38, 0.56),
    "stand_passed": (0, -1.33, -1.31),
    "stand_passed_next": (0, 0.75, 0.01),
    "stand_few": (-0.02, -0.35, -0.09),
    "stand_ended": (-0.55, 1.19, 0.62),
    "stand_value": (2.07, 1.84, 3.87),
    "sure": (0.91, 0.22, 2.25),
    "sure_near": (1.14, -0.01, 0.91),
    "sure_one_left": (2.86, 0.79, 1.05),
    "control": (-0.05, 3.65, 0.68),
    "control_danger": (0.55, 1.57, 0.54),
    "control_early": (-0.47, -0.76, -0.73),
    "cards": (1.38, -0.03, -0.53),
    "cards_danger": (1.65, 0.72, -0.24),
    "cards_early": (-0.70, -0.46, -0.09),
    "single": (-1.63, -0.60, 0.07),
    "pair": (-0.27, -0.60, 0.20),
    "triple": (0.64, 2.45, 0.36),
    "full_house": (-1.56, -1.37, -0.76),
    "straight": (-0.48, 1.47, 1.07),
    "tube": (0.87, -0.35, 0.10),
    "plate": (3.16, 1.42, 0.13),
    "single_danger": (-1.82, 0.11, 0.05),
    "pair_danger": (-1.35, -0.54, -0.12),
    "single_few": (1.92, 0.34, 0.13),
    "pair_few": (0.91, 1.74, -1.09),
    "wilds": (-1.08, -1.92, -1.95),
    "wilds_near": (-0.13, 0.26, -0.08),
    "bomb": (-0.63, -4.45, -2.39),
    "bomb_danger": (1.03, 2.42, -0.06),
    "bomb_near": (1.37, 1.30, 0.55),
    "bomb_ended": (-0.84, -0.57, -0.23),
    "bomb_tier": (-1.08, -1.08, -0.92),
    "bomb_over_bomb": (0, 0.67, -0.07),
    "bomb_over_cards": (0, 0.48, -0.17),
    "mute": (2.89, 1.66, 0.59),
    "feeds_next": (-7.75, -5.48, -1.19),
    "feeds_previous": (-1.97, -0.72, -0.47),
    "feeds_close": (-0.29, -0.41, -0.12),
    "feeds_partner": (4.34, -0.34, -0.53),
    "feeds_partner_close": (1.45, -0.80, -0.59),
    "pass": (0, 0.09, -0.49),
    "pass_danger": (0, -1.84, 0.03),
    "pass_next": (0, 0.09, -1.31),
    "pass_previous": (0, -3.36, -0.66),
    "pass_loses": (0, -0.49, 0),
    "pass_loses_danger": (0, -1.41, 0),
    "pass_loses_value": (0, -0.11, 0),
    "pass_stand": (0, -4.46, 2.22),
    "pass_stand_danger": (0, -1.70, 0.27),
    "pass_partner": (0, 0.48, 0),
    "pass_partner_passed": (0, -2.46, 0),
    "pass_passed": (0, 0.53, 0.21),
    "pass_passed_next": (0, -1.32, -0.39),
    "pass_few": (0, 0.10, 1.23),
    "pass_behind": (0, 1.41, 0.68),
    "pass_near": (0, 1.58, -1.89),
    "pass_ended": (0, -0.19, -1.42),
    "pass_bomb": (0, -1.30, 0.04),
    "pass_bombs": (0, -1.22, -0.45),
    "pass_cards": (0, -2.77, 0.34),
}


@dataclass(frozen=True)
class PlannerWeights:
    """All numbers of `planner`."""

    plan: PlanWeights = field(default_factory=PlanWeights)
    plays: Mapping[str, tuple[float, float, float]] = field(default_factory=lambda: dict(PLAYS))
    help_partner: float = 0.01  # see planner_tribute


WEIGHTS = PlannerWeights()
