"""Draws and brackets, followed by hand (RULES 9.2 to 9.5, 9.7). Nothing is played."""

from __future__ import annotations

from collections import Counter
from itertools import combinations_with_replacement

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.competition import draw
from eval.competition.draw import Lot
from eval.competition.elimination import Elimination, Repechage
from eval.competition.field import Field
from eval.competition.results import MatchResult, Pairing, Played, Round
from eval.competition.terms import terms_of

TERMS = terms_of({}, "match")
LONG = terms_of({"best_of": 3}, "match")


def lower_wins(round: Round) -> Played:
    """A round in which the entrant with the lower number wins every match."""
    return Played(round, tuple(result(p) for p in round.pairings))


def result(pairing: Pairing) -> MatchResult | None:
    if pairing.b is None:
        return None
    winner = int(pairing.b < pairing.a)
    return MatchResult(winner, (1 - winner, winner), 3 - 6 * winner, 10)


def play(stage, field):
    """All rounds of a stage in which the lower number wins."""
    played = []
    while (round := stage.next_round(field, played)) is not None:
        played.append(lower_wins(round))
    return played


def shape(played):
    """Matches and byes of every round."""
    return [
        (sum(p.b is not None for p in past.round.pairings),
         sum(p.b is None for p in past.round.pairings))
        for past in played
    ]  # fmt: skip


def field_of(count, seed=3, **more):
    return Field(tuple(range(count)), lot=Lot.from_seed(seed), **more)


def places_of(stage, field, played):
    return {line.entrant: line.place for line in stage.standings(field, played)}


@pytest.mark.rule("9.2")
@pytest.mark.rule("9.3")
@pytest.mark.parametrize(
    ("count", "rounds"),
    [
        (2, [(1, 0)]),
        (5, [(1, 3), (2, 0), (1, 0)]),
        (6, [(2, 2), (2, 0), (1, 0)]),
        (7, [(3, 1), (2, 0), (1, 0)]),
        (44, [(12, 20), (16, 0), (8, 0), (4, 0), (2, 0), (1, 0)]),
    ],
)
def test_a_bracket_has_its_byes_in_the_first_round(count, rounds):
    stage, field = Elimination(TERMS), field_of(count)
    played = play(stage, field)
    assert shape(played) == rounds
    places = places_of(stage, field, played)
    assert places[0] == 1
    assert len(places) == count
    # Who is out in the same round shares a place: 1, 2, 3–4, 5–8, …
    expected = Counter({1: 1, 2: 1})
    for left in (4, 8, 16, 32, 64):
        if min(left, count) > left // 2:
            expected[left // 2 + 1] = min(left, count) - left // 2
    assert Counter(places.values()) == expected


def test_a_bracket_of_six_by_hand():
    """Listed order: the first two have byes; 3 meets 4 and 5 meets 6 (numbers here from 0)."""
    stage, field = Elimination(TERMS, how="order", third_place=True), field_of(6)
    first = stage.next_round(field, [])
    assert first.name == "round 1 (6 entrants)"
    assert first.pairings == (Pairing(0), Pairing(1), Pairing(2, 3), Pairing(4, 5))
    played = [lower_wins(first)]
    semi = stage.next_round(field, played)
    assert semi.name == "semi-finals"
    assert semi.pairings == (Pairing(0, 1), Pairing(2, 4))
    played.append(lower_wins(semi))
    final = stage.next_round(field, played)
    assert final.name == "final"
    assert final.pairings == (Pairing(0, 2, "final"), Pairing(1, 4, "third place"))
    played.append(lower_wins(final))
    assert stage.next_round(field, played) is None
    assert [(x.entrant, x.place) for x in stage.standings(field, played)] == [
        (0, 1), (2, 2), (1, 3), (4, 4), (3, 5), (5, 5),
    ]  # fmt: skip


@pytest.mark.rule("9.5")
def test_late_rounds_have_terms_of_their_own_and_losers_of_semi_finals_meet():
    stage = Elimination(TERMS, third_place=True, redraw=True, late=((4, LONG),))
    played = play(stage, field_of(8))
    assert [past.round.terms.best_of for past in played] == [1, 3, 3]
    assert [p.label for p in played[-1].round.pairings] == ["final", "third place"]
    assert set(played[1].losers()) == {
        played[2].round.pairings[1].a,
        played[2].round.pairings[1].b,
    }


def test_with_three_left_the_loser_of_the_semi_final_is_third():
    stage, field = Elimination(TERMS, byes="each", third_place=True), field_of(3)
    played = play(stage, field)
    assert shape(played) == [(1, 1), (1, 0)]
    assert sorted(places_of(stage, field, played).values()) == [1, 2, 3]


@pytest.mark.rule("9.4")
def test_the_plan_of_44_pairs():
    """44, 22, 11; five winners and three of the repechage; eight, four, final."""
    field = field_of(44)
    first = Elimination(TERMS, until=11, byes="each")
    played = play(first, field)
    assert shape(played) == [(22, 0), (11, 0)]
    # The second round is no new draw: the winners of matches 1 and 2 meet, of 3 and 4, and so on.
    winners = played[0].winners()
    assert [(p.a, p.b) for p in played[1].round.pairings] == list(
        zip(winners[::2], winners[1::2], strict=True)
    )
    left = [x.entrant for x in first.standings(field, played) if x.place == 1]
    assert len(left) == 11

    second = Repechage(TERMS, advance=8)
    field = Field(tuple(left), lot=Lot.from_seed(9))
    played = play(second, field)
    assert shape(played) == [(5, 1), (3, 0)]
    bye = next(p for p in played[0].round.pairings if p.b is None)
    assert bye.label == "bye, to the repechage"
    assert {e for p in played[1].round.pairings for e in (p.a, p.b)} == {
        bye.a, *played[0].losers(),
    }  # fmt: skip
    lines = second.standings(field, played)
    assert [line.place for line in lines] == [1] * 5 + [6] * 3 + [9] * 3
    assert {x.entrant for x in lines[:5]} == set(played[0].winners()) - {bye.a}
    assert {x.entrant for x in lines[5:8]} == set(played[1].winners())


def test_a_repechage_of_more_rounds():
    """12, of which 7 go on: six winners, and one of six losers in 6 → 3 → 2 → 1."""
    stage, field = Repechage(TERMS, advance=7), field_of(12)
    played = play(stage, field)
    assert shape(played) == [(6, 0), (3, 0), (1, 1), (1, 0)]
    lines = stage.standings(field, played)
    assert [line.place for line in lines] == [1] * 6 + [7, 8, 9, 10, 10, 10]


@pytest.mark.rule("9.7")
def test_pools_meet_one_by_one():
    stage, field = Elimination(TERMS, how="pools", byes="each"), field_of(14)
    first = stage.next_round(field, [])
    assert [p.label for p in first.pairings] == [f"A{i}–B{i}" for i in range(1, 8)]
    assert {e for p in first.pairings for e in (p.a, p.b)} == set(range(14))
    assert shape(play(stage, field)) == [(7, 0), (3, 1), (2, 0), (1, 0)]


def test_pools_of_an_odd_number():
    stage = Elimination(TERMS, how="pools", byes="each")
    labels = [p.label for p in stage.next_round(field_of(5), []).pairings]
    assert labels == ["A1–B1", "A2–B2", "A3"]


def test_nobody_has_a_second_bye_while_others_had_none():
    stage = Elimination(TERMS, byes="each")
    for seed in range(30):
        played = play(stage, field_of(11, seed))  # 11, 6, 3, 2, with byes at 11 and 3
        byes = [p.a for past in played for p in past.round.pairings if p.b is None]
        assert len(byes) == len(set(byes)) == 2


def test_seeds_meet_as_late_as_can_be():
    assert draw.seeded(range(8), 8) == [0, 7, 3, 4, 1, 6, 2, 5]
    assert draw.seeded(range(5), 8) == [0, None, 3, 4, 1, None, 2, None]


@pytest.mark.rule("9.2")
@given(
    clubs=st.lists(st.sampled_from("abcdefgh") | st.none(), min_size=2, max_size=70),
    seed=st.integers(0, 2**63 - 1),
)
def test_clubs_are_kept_in_different_halves(clubs, seed):
    drawn_in_halves(clubs, seed)


@pytest.mark.rule("9.2")
@pytest.mark.parametrize("count", range(2, 9))
def test_clubs_are_kept_in_different_halves_of_all_small_fields(count):
    for clubs in combinations_with_replacement(["a", "b", "c", None], count):
        for seed in range(4):
            drawn_in_halves(clubs, seed)


def drawn_in_halves(clubs, seed):
    entrants, label = list(range(len(clubs))), dict(enumerate(clubs))
    slots = draw.power_of_two(len(clubs))
    lines = draw.bracket(entrants, label, Lot.from_seed(seed), slots)
    assert len(lines) == slots
    assert sorted(e for e in lines if e is not None) == entrants
    for i in range(0, slots, 2):
        assert lines[i : i + 2] != [None, None]
    for half in (lines[: slots // 2], lines[slots // 2 :]):
        own = Counter(label[e] for e in half if e is not None)
        assert abs(own.total() - len(clubs) / 2) < 1
        for club, members in Counter(clubs).items():
            if club is not None:
                assert abs(own[club] - members / 2) < 1
    order = draw.in_pairs(entrants, label, Lot.from_seed(seed))
    assert sorted(order) == entrants
    sizes = Counter(club for club in clubs if club is not None)
    if max(sizes.values(), default=0) <= (len(clubs) + 1) // 2:  # else some must meet
        for one, other in zip(order[::2], order[1::2], strict=False):
            assert label[one] is None or label[one] != label[other]


@given(count=st.integers(3, 40), seed=st.integers(0, 2**32))
def test_two_of_a_club_never_meet_first(count, seed):
    """Pairs of one club, in a draw of neighbours; of an odd number somebody has no club."""
    label = {e: (e // 2 if e // 2 * 2 + 1 < count else None) for e in range(count)}
    order = draw.in_pairs(range(count), label, Lot.from_seed(seed))
    for a, b in zip(order[::2], order[1::2], strict=False):
        assert label[a] is None or label[a] != label[b]


def test_a_draw_hangs_on_its_seed_alone():
    one, again, other = (
        Elimination(TERMS).next_round(field_of(16, seed), []).pairings for seed in (1, 1, 2)
    )
    assert one == again != other
    # Written down, so that a change of how lots are drawn is noticed: competitions go on.
    assert Lot.from_seed(1).shuffled("abcdefgh") == list("cgefdhab")


def test_lots_are_fair():
    firsts = Counter(Lot.from_seed(7).of(i).shuffled(range(4))[0] for i in range(4000))
    assert all(abs(count - 1000) < 150 for count in firsts.values())
    assert abs(sum(Lot.from_seed(7).of(i).below(2) for i in range(4000)) - 2000) < 200
