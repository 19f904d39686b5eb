"""The `stages` of a description: which format, with which settings, for how many entrants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from eval.competition.draw import power_of_two
from eval.competition.duplicate import SCORINGS, Duplicate
from eval.competition.elimination import BYES, DRAWS, Elimination, Repechage
from eval.competition.field import APART, Format
from eval.competition.groups import LETTERS, Groups
from eval.competition.race import Race
from eval.competition.reading import DescriptionError, Part
from eval.competition.scoring import TIE_BREAKS, Points
from eval.competition.swiss import MOST_ENTRANTS, Swiss, most_rounds
from eval.competition.swiss import TIE_BREAKS as SWISS_TIE_BREAKS
from eval.competition.terms import MatchTerms, merged, terms_of

MOST_ROUNDS = 1000
MOST_DEALS = 1000
MOST_POINTS = 100
COMMON = ("name", "format", "advance", "match")
_POINTS = ("points", "tie_breaks")


@dataclass(frozen=True)
class _Given:
    """A stage as it is described, and where it stands."""

    part: Part
    terms: MatchTerms
    match: dict[str, Any]
    entrants: int
    apart: str
    advance: int | None


def stage_of(
    given: object, where: str, match: object, entrants: int, before: Format | None, last: bool
) -> tuple[str, Format, int | None]:
    """Name, format and number of entrants that go on, of one item of `stages`.

    match: the `match` of the whole file. entrants: how many take part. before: the stage before.
    """
    named = Part(given, where, _all_keys())
    format = named.choice("format", FORMATS)
    make, keys = FORMATS[format]
    part = Part(given, f"{where} ({format})", (*COMMON, *keys))
    advance = _advance(part, entrants, last)
    if entrants < 2:
        raise DescriptionError(f"{part.where} has {entrants} entrant; 2 or more are allowed")
    own = merged(match, part.given.get("match"))
    grouped = isinstance(before, Groups) and before.groups > 1
    stage = make(
        _Given(
            part=part,
            terms=terms_of(own, f"{part.where}: match"),
            match=own,
            entrants=entrants,
            apart=part.choice("apart", APART, "group" if grouped else "club"),
            advance=advance,
        )
    )
    return part.text("name", format.replace("_", " ")), stage, advance


def _all_keys() -> tuple[str, ...]:
    keys = [key for _, more in FORMATS.values() for key in more]
    return tuple(dict.fromkeys((*COMMON, *keys)))


def _advance(part: Part, entrants: int, last: bool) -> int | None:
    if last:
        if "advance" in part:
            raise DescriptionError(f"{part.where} is the last stage; it has no 'advance'")
        return None
    return part.whole("advance", 2, entrants)


def _late(given: _Given) -> tuple[tuple[int, MatchTerms], ...]:
    part, late = given.part, []
    for number, one in enumerate(part.items("late", 16, []), 1):
        where = f"{part.where}: late {number}"
        own = Part(one, where, ("from", "match"))
        most = own.whole("from", 2, given.entrants)
        late.append((most, terms_of(merged(given.match, own.given.get("match")), where)))
    if len({most for most, _ in late}) < len(late):
        raise part.error("late", "a list in which every 'from' is another one")
    return tuple(sorted(late, key=lambda item: item[0]))


def _elimination(given: _Given) -> Format:
    part, n = given.part, given.entrants
    until = 1 if given.advance is None else given.advance
    byes = part.choice("byes", BYES, "first" if until == power_of_two(until) else "each")
    how = part.choice("draw", DRAWS, "lot")
    if how == "pools":
        byes = part.choice("byes", ("each",), "each")
    if until >= n:
        raise part.error("advance", f"a number below that of the entrants, {n},")
    if byes == "first" and until != power_of_two(until):
        raise DescriptionError(
            f"{part.where}: byes are 'first' and advance is {until}; with byes in the first round "
            "only, 2, 4, 8 … are left"
        )
    if how == "seeded" and byes == "each":
        raise DescriptionError(f"{part.where}: draw 'seeded' needs byes 'first'")
    third = part.flag("third_place", False)
    if third and until > 1:
        raise part.error("third_place", "in the last stage only, true")
    return Elimination(
        terms=given.terms,
        until=until,
        how=how,
        apart=given.apart,
        byes=byes,
        redraw=part.flag("redraw", False),
        third_place=third,
        late=_late(given),
    )


def _repechage(given: _Given) -> Format:
    part, winners = given.part, given.entrants // 2
    if given.advance is None:
        raise DescriptionError(f"{part.where} is the last stage; a repechage leads to another")
    if not winners < given.advance < given.entrants:
        raise part.error("advance", f"a number from {winners + 1} to {given.entrants - 1}")
    return Repechage(given.terms, given.advance, given.apart)


def _groups(given: _Given) -> Format:
    part, most = given.part, min(len(LETTERS), given.entrants // 2)
    groups = part.whole("groups", 2, most)
    if given.advance is not None and given.advance < groups:
        raise part.error("advance", f"a number from {groups}, one of each group,")
    return Groups(given.terms, groups, part.whole("meetings", 1, 10, 1), given.apart, _points(part))


def _round_robin(given: _Given) -> Format:
    meetings = given.part.whole("meetings", 1, 10, 1)
    return Groups(given.terms, 1, meetings, given.apart, _points(given.part))


def _swiss(given: _Given) -> Format:
    if given.entrants > MOST_ENTRANTS:
        raise DescriptionError(
            f"{given.part.where} has {given.entrants} entrants; {MOST_ENTRANTS} are allowed"
        )
    most = most_rounds(given.entrants)
    try:
        rounds = given.part.whole("rounds", 1, most)
    except DescriptionError as error:
        raise DescriptionError(
            f"{error} (with {given.entrants} entrants, so many rounds have no rematch for certain)"
        ) from None
    return Swiss(given.terms, rounds, given.apart, _points(given.part, SWISS_TIE_BREAKS))


def _duplicate(given: _Given) -> Format:
    part = given.part
    if given.entrants < 4:
        raise DescriptionError(
            f"{part.where} has {given.entrants} entrants; scores are compared across 2 tables or "
            "more, so 4 or more are allowed"
        )
    if given.terms.best_of > 1:
        raise DescriptionError(f"{part.where}: best_of has no meaning here; it plays 'deals'")
    everybody = given.entrants - 1 + given.entrants % 2
    rounds = part.whole("rounds", 1, MOST_ROUNDS, everybody)
    deals = part.whole("deals", 1, MOST_DEALS)
    return Duplicate(given.terms, rounds, deals, part.choice("scoring", SCORINGS, "levels"))


def _race(given: _Given) -> Format:
    if given.entrants % 2:
        raise DescriptionError(
            f"{given.part.where} has {given.entrants} entrants; an even number is allowed"
        )
    rules = given.terms.rules
    if given.terms.best_of > 1 or rules.ace == "wrap" or rules.fixed_level is not None:
        raise DescriptionError(
            f"{given.part.where}: it is one game to pass or reach A; best_of 1, and rules with an "
            "A to pass or reach, are allowed"
        )
    return Race(given.terms, given.apart)


def _points(part: Part, tie_breaks: tuple[str, ...] = Points.tie_breaks) -> Points:
    default = Points()
    own = Part(part.given.get("points", {}), f"{part.where}: points", ("win", "draw", "loss"))
    win, draw, loss = (
        own.whole(name, -MOST_POINTS, MOST_POINTS, getattr(default, name))
        for name in ("win", "draw", "loss")
    )
    if not loss <= draw <= win or loss == win:
        raise DescriptionError(
            f"{own.where} are {win}, {draw} and {loss}; a win brings more than a loss, and a draw "
            "something from the one to the other"
        )
    words = part.items("tie_breaks", len(TIE_BREAKS), list(tie_breaks))
    for word in words:
        Part({"tie_breaks": word}, part.where, ("tie_breaks",)).choice("tie_breaks", TIE_BREAKS)
    return Points(win, draw, loss, tuple(dict.fromkeys(words)))


# name: (how it is made, its keys beside the common ones)
FORMATS: dict[str, tuple[Callable[[_Given], Format], tuple[str, ...]]] = {
    "elimination": (_elimination, ("draw", "apart", "byes", "redraw", "third_place", "late")),
    "repechage": (_repechage, ("apart",)),
    "groups": (_groups, ("groups", "meetings", "apart", *_POINTS)),
    "round_robin": (_round_robin, ("meetings", "apart", *_POINTS)),
    "swiss": (_swiss, ("rounds", "apart", *_POINTS)),
    "duplicate": (_duplicate, ("rounds", "deals", "scoring")),
    "race": (_race, ("apart",)),
}
