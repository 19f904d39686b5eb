"""Points, tie-breaks, Swiss, groups, duplicate and race, worked out by hand. Nothing is played."""

from __future__ import annotations

import itertools

import pytest
from test_competition_draw import TERMS, field_of

from eval.competition.duplicate import Duplicate, score
from eval.competition.groups import Groups, circle
from eval.competition.race import Race
from eval.competition.results import (
    DRAW,
    GameResult,
    MatchResult,
    Pairing,
    Played,
    Round,
    games_needed,
    match_result,
)
from eval.competition.scoring import Points, ranked
from eval.competition.swiss import Swiss, most_rounds
from eval.competition.terms import terms_of


def match(winner, levels):
    wins = {0: (1, 0), 1: (0, 1), DRAW: (0, 0)}[winner]
    return MatchResult(winner, wins, levels, 10)


def order(lines):
    return [(line.entrant, line.place) for line in lines]


@pytest.mark.rule("9.6")
def test_points_then_level_difference_then_direct_result():
    """Four entrants; 0, 1 and 2 have four points each, 3 none.

    0 beats 1 by 4 and 3 by 2, loses to 2 by 5: +1. 1 beats 2 by 6 and 3 by 3, loses to 0 by 4: +5.
    2 beats 0 by 5 and 3 by 6, loses to 1 by 6: +5. So 1 and 2 are equal in levels, and 1 beat 2.
    """
    matches = [
        (0, 1, match(0, 4)), (0, 3, match(0, 2)), (2, 0, match(0, 5)),
        (1, 2, match(0, 6)), (1, 3, match(0, 3)), (3, 2, match(1, -6)),
    ]  # fmt: skip
    lines = ranked([0, 1, 2, 3], matches, Points())
    assert order(lines) == [(1, 1), (2, 2), (0, 3), (3, 4)]
    assert [line.figures["points"] for line in lines] == [4, 4, 4, 0]
    assert [line.figures["levels"] for line in lines] == [5, 5, 1, -11]
    # Without the direct result the two share first place; with it alone, a ring of three does.
    assert order(ranked([0, 1, 2, 3], matches, Points(tie_breaks=("level_difference",)))) == [
        (1, 1), (2, 1), (0, 3), (3, 4),
    ]  # fmt: skip
    assert [x.place for x in ranked([0, 1, 2, 3], matches, Points(tie_breaks=("direct",)))] == [
        1, 1, 1, 4,
    ]  # fmt: skip


def test_a_draw_is_worth_half_a_win_and_a_bye_a_win():
    lines = ranked([0, 1, 2], [(0, 1, match(DRAW, 0))], Points(), byes=[2])
    assert order(lines) == [(2, 1), (0, 2), (1, 2)]
    assert [line.figures["points"] for line in lines] == [2, 1, 1]


@pytest.mark.rule("9.6")
def test_a_forfeit_counts_as_half_of_the_greatest_difference():
    game = GameResult(winner=1, levels=-6, deals=1, won=(0, 1), forfeit=0, absent=True)
    result = match_result([game], True, 0)
    assert (result.winner, result.forfeit, result.levels) == (1, 0, -6)
    lines = ranked([0, 1], [(0, 1, result)], Points())
    assert [(x.entrant, x.figures["points"], x.figures["levels"]) for x in lines] == [
        (1, 2, 6), (0, 0, -6),
    ]  # fmt: skip


def test_a_match_of_several_games_is_forfeited_once():
    lost = GameResult(winner=1, levels=-6, deals=1, won=(0, 1), forfeit=0, absent=True)
    result = match_result([lost, lost], True, 0)
    assert (result.winner, result.levels, result.wins) == (1, -6, (0, 2))


def won(side, levels=13, deals=10):
    return GameResult(side, levels if side == 0 else -levels, deals, (1, 1))


@pytest.mark.rule("9.1")
def test_best_of_n_ends_when_it_is_decided():
    best = {n: terms_of({"best_of": n}, "match") for n in (1, 3, 5)}
    assert games_needed(best[1], [], True) == 1
    assert games_needed(best[1], [won(1)], True) == 0
    assert games_needed(best[3], [], True) == 2  # at least two, so both can be played at once
    assert games_needed(best[3], [won(0), won(1)], True) == 1
    assert games_needed(best[3], [won(0), won(0)], True) == 0
    assert games_needed(best[5], [won(0), won(0), won(1)], True) == 1
    assert match_result([won(0), won(1), won(1)], True, 0).winner == 1
    assert match_result([won(0), won(1), won(1)], True, 0).score() == "1–2"


def test_a_match_that_ends_level():
    """Fixed levels can end level: then levels decide, then further games, then the lot."""
    terms = terms_of({"best_of": 3}, "match")
    even = GameResult(DRAW, 0, 10, (5, 5))
    assert games_needed(terms, [even] * 3, False) == 0
    assert match_result([even] * 3, False, 1).winner == DRAW
    apart = [won(0, levels=3), won(1, levels=5), even]
    assert games_needed(terms, apart, True) == 0
    assert match_result(apart, True, 0).score() == "1–1 by levels"
    assert match_result(apart, True, 0).winner == 1
    assert [games_needed(terms, [even] * n, True) for n in (3, 4, 5, 6)] == [1, 1, 1, 0]
    assert match_result([*[even] * 3, won(1)], True, 0).winner == 1
    assert match_result([even] * 6, True, 1).score() == "0–0 by lot"
    assert match_result([even] * 6, True, 1).winner == 1


@pytest.mark.rule("5.14")
def test_games_of_a_match_with_a_common_limit_follow_one_another():
    sudden = terms_of({"rules": "university", "best_of": 3}, "match")
    assert games_needed(sudden, [], True) == 1
    assert games_needed(sudden, [won(0, deals=40)], True) == 1  # one deal of sudden death
    higher = terms_of({"options": {"max_deals": 12, "limit_scope": "match"}, "best_of": 3}, "match")
    assert games_needed(higher, [won(0, deals=11)], True) == 1
    assert games_needed(higher, [won(0, deals=12)], True) == 0
    assert match_result([won(0, deals=12)], True, 1).winner == 0


def lower_number_wins(round):
    return Played(
        round,
        tuple(
            None if p.b is None else match(int(p.b < p.a), 3 - 6 * (p.b < p.a))
            for p in round.pairings
        ),
    )


@pytest.mark.rule("9.10")
def test_a_swiss_of_nine_by_hand():
    """After a round 0, 2, 4, 6 have won and 8 has rested: five have two points, four have none.

    So the best next round has two pairs of those with points, one of them against one without, one
    pair of those without, and one of those without rests.
    """
    stage, field = Swiss(TERMS, rounds=5), field_of(9)
    pairings = (Pairing(0, 1), Pairing(2, 3), Pairing(4, 5), Pairing(6, 7), Pairing(8))
    played = [lower_number_wins(Round("round 1", pairings, TERMS))]
    second = stage.next_round(field, played)
    with_points = {0, 2, 4, 6, 8}
    kinds = [sorted(e in with_points for e in (p.a, p.b) if e is not None)
             for p in second.pairings]  # fmt: skip
    assert sorted(kinds) == [[False], [False, False], [False, True], [True, True], [True, True]]
    played.append(lower_number_wins(second))
    while (round := stage.next_round(field, played)) is not None:
        played.append(lower_number_wins(round))
    assert len(played) == most_rounds(9) == 5
    met = [frozenset((p.a, p.b)) for past in played for p in past.round.pairings]
    assert len(met) == len(set(met)) == 5 * 5  # nobody twice, and nobody rests twice
    for past in played:
        seen = [e for p in past.round.pairings for e in (p.a, p.b) if e is not None]
        assert sorted(seen) == list(range(9))
    lines = stage.standings(field, played)
    assert (lines[0].entrant, lines[0].figures["points"]) == (0, 10)
    assert sum(x.figures["points"] for x in lines) == 5 * 5 * 2


def test_swiss_pairs_by_the_least_differences():
    """After one round of four: the winners meet, and the losers."""
    stage, field = Swiss(TERMS, rounds=2), field_of(4)
    first = Round("round 1", (Pairing(0, 1), Pairing(2, 3)), TERMS)
    played = [Played(first, (match(0, 3), match(1, -3)))]
    second = stage.next_round(field, played)
    assert [{p.a, p.b} for p in second.pairings] == [{0, 3}, {1, 2}]


@pytest.mark.parametrize("count", range(2, 14))
def test_swiss_always_finds_its_rounds(count):
    stage, field = Swiss(TERMS, rounds=most_rounds(count)), field_of(count)
    played = []
    while (round := stage.next_round(field, played)) is not None:
        results = tuple(None if p.b is None else match(p.a % 2, 1) for p in round.pairings)
        played.append(Played(round, results))
    assert len(played) == most_rounds(count)


def test_swiss_keeps_a_club_apart_where_points_allow():
    field = field_of(8, clubs={e: "same" if e < 4 else None for e in range(8)})
    for pairing in Swiss(TERMS, rounds=1).next_round(field, []).pairings:
        assert not {pairing.a, pairing.b} <= {0, 1, 2, 3}


@pytest.mark.rule("9.9")
@pytest.mark.parametrize("count", [2, 3, 6, 7])
def test_a_round_robin_lets_everybody_meet_everybody_once(count):
    rounds = circle(range(count))
    met = [frozenset(pair) for pairs in rounds for pair in pairs]
    everybody = {frozenset(pair) for pair in itertools.combinations(range(count), 2)}
    assert sorted(map(sorted, met)) == sorted(map(sorted, everybody))
    assert len(rounds) == count - 1 + count % 2
    for pairs in rounds:
        seen = [e for pair in pairs for e in pair]
        assert len(seen) == len(set(seen)) == count - count % 2
    first = [pair[0] for pairs in rounds for pair in pairs]
    assert all(abs(2 * first.count(e) - (count - 1)) <= 2 for e in range(count))


def test_groups_are_even_and_keep_clubs_apart():
    clubs = {e: "abc"[e] if e < 3 else "abc"[e - 3] if e < 6 else None for e in range(11)}
    stage, field = Groups(TERMS, groups=2), field_of(11, clubs=clubs)
    members = stage.members(field)
    assert sorted(map(len, members.values())) == [5, 6]
    for own in members.values():
        labels = [clubs[e] for e in own if clubs[e]]
        assert len(labels) == len(set(labels)) == 3
    played = []
    while (round := stage.next_round(field, played)) is not None:
        played.append(Played(round, tuple(match(int(p.b < p.a), 1) for p in round.pairings)))
    assert len(played) == 5
    assert sum(len(past.round.pairings) for past in played) == 10 + 15
    lines = stage.standings(field, played)
    # All firsts, then all seconds: those who go on are the first of each group.
    assert [line.place for line in lines] == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6]
    assert {line.entrant for line in lines[:2]} == {min(own) for own in members.values()}


def deals(*gains):
    """A match of a duplicate round: a's gains, deal by deal."""
    games = tuple(GameResult(int(g < 0), g, 1, (int(g > 0), int(g < 0))) for g in gains)
    return match_result(games, False, 0)


@pytest.mark.rule("9.11")
def test_duplicate_compares_with_those_who_held_the_same_cards():
    """Three tables, two deals. Deal 1: the first pairs gain 3, 1, -1; deal 2: 2, 2, -3.

    Levels of the first table's first pair: 3 - (1 - 1)/2 = 3, and 2 - (2 - 3)/2 = 2.5; its
    opponents, compared with the other second pairs: -3 and -2.5.
    """
    pairings = (Pairing(0, 1), Pairing(2, 3), Pairing(4, 5))
    round = Round("round 1", pairings, TERMS, deals=2)
    played = [Played(round, (deals(3, 2), deals(1, 2), deals(-1, -3)))]
    field = field_of(6)
    lines = Duplicate(TERMS, rounds=1, deals=2).standings(field, played)
    scores = {x.entrant: x.figures["score"] for x in lines}
    assert scores == pytest.approx({0: 2.75, 1: -2.75, 2: 1.25, 3: -1.25, 4: -4.0, 5: 4.0})
    assert order(lines) == [(5, 1), (0, 2), (2, 3), (3, 4), (1, 5), (4, 6)]
    # Matchpoints: deal 1: 2, 1, 0 of 2 beaten; deal 2: one and a half, one and a half, 0.
    lines = Duplicate(TERMS, rounds=1, deals=2, scoring="matchpoints").standings(field, played)
    scores = {x.entrant: x.figures["score"] for x in lines}
    assert scores == pytest.approx({0: 0.875, 1: 0.125, 2: 0.625, 3: 0.375, 4: 0, 5: 1})


def test_a_pair_without_comparison_scores_nothing():
    assert score(3, [3], "levels") == 0
    assert score(3, [3], "matchpoints") == 0.5


def test_duplicate_changes_opponents():
    stage, field = Duplicate(TERMS, rounds=5, deals=1), field_of(6)
    played = []
    while (round := stage.next_round(field, played)) is not None:
        assert round.deals == 1
        played.append(Played(round, (deals(1), deals(0), deals(-1))))
    met = {frozenset((p.a, p.b)) for past in played for p in past.round.pairings}
    assert len(met) == 15


@pytest.mark.rule("9.8")
def test_a_race_ranks_by_deals_fewest_first():
    """Passed A after 9, 7 and 9 deals; of equals the one that was further ahead."""
    stage, field = Race(TERMS), field_of(6)
    round = Round("", (Pairing(0, 1), Pairing(2, 3), Pairing(4, 5)), TERMS, decides=True)
    results = (
        MatchResult(0, (1, 0), 5, 9), MatchResult(1, (0, 1), -8, 7), MatchResult(0, (1, 0), 6, 9),
    )  # fmt: skip
    assert order(stage.standings(field, [Played(round, results)])) == [
        (3, 1), (4, 2), (0, 3), (1, 4), (5, 5), (2, 6),
    ]  # fmt: skip
    assert stage.next_round(field, [Played(round, results)]) is None
    assert len(stage.next_round(field, []).pairings) == 3
