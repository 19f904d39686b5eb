"""Tables of many agents: ratings, and who won how much against whom."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from eval.crosstable import CrossTable, Duel
from eval.ratings import Rating, expected
from eval.tables import Table


def by_rating(ratings: Sequence[Rating]) -> list[int]:
    """The agents' indices, the best first."""
    return sorted(range(len(ratings)), key=lambda i: -ratings[i].points)


def rating_table(table: CrossTable, ratings: Sequence[Rating]) -> Table:
    """One line an agent, the best first."""
    rows = []
    for place, i in enumerate(by_rating(ratings), 1):
        duels = [duel for (row, _), duel in table.duels.items() if row == i]
        deals = sum(duel.result.deals for duel in duels)
        failures = sum(duel.figure("failures")[0] for duel in duels)
        agent = table.agents[i]
        rows.append(
            (table.labels[i], str(place), *_points(ratings[i]), f"{deals:,}", f"{failures:g}",
             agent.version or agent.files[:8])
        )  # fmt: skip
    columns = ("agent", "place", "rating", "95% interval", "deals", "failures", "version")
    return Table("Ratings, greedy = 0, 400 points are odds of 10 to 1", columns, rows)


def _points(rating: Rating) -> tuple[str, str]:
    sign = {"": "", "at least": "≥ ", "at most": "≤ "}[rating.bound]
    if rating.low is None or rating.high is None:
        return f"{sign}{rating.points:+.0f}", "one-sided"
    if rating.low == rating.high:
        return f"{rating.points:.0f}", "by definition"
    return f"{rating.points:+.0f}", f"{rating.low:+.0f} … {rating.high:+.0f}"


def win_table(table: CrossTable, ratings: Sequence[Rating]) -> Table:
    """Share of the deals that the row's agent won against the column's."""
    title = "Deals won by row against column, ± half the 95% interval"
    return _cross(table, ratings, title, _wins, misfit(table, ratings))


def gain_table(table: CrossTable, ratings: Sequence[Rating]) -> Table:
    """Levels that the row's agent gained against the column's, a deal."""
    title = "Levels gained a deal by row against column, ± half the 95% interval"
    return _cross(table, ratings, title, _gains)


def _wins(duel: Duel) -> str:
    rate = duel.rate
    reach = 50 * (rate.high - rate.low)
    places = 1 if reach >= 0.1 else 2  # no interval that is shown as nothing
    return f"{100 * rate.mean:.{places}f} ± {reach:.{places}f}%"


def _gains(duel: Duel) -> str:
    gain = duel.level_gain
    return f"{gain.mean:+.2f} ± {(gain.high - gain.low) / 2:.2f}"


def _cross(
    table: CrossTable,
    ratings: Sequence[Rating],
    title: str,
    cell: Callable[[Duel], str],
    note: str = "",
) -> Table:
    order = by_rating(ratings)
    rows = [
        (
            table.labels[i],
            *(cell(table.duels[i, j]) if (i, j) in table.duels else "" for j in order),
        )
        for i in order
    ]
    return Table(title, ("", *(table.labels[j] for j in order)), rows, note)


def misfit(table: CrossTable, ratings: Sequence[Rating]) -> str:
    """Where one number an agent says the least about who wins, in a sentence; or nothing."""
    fits = [
        (duel.rate.mean - expected(ratings[i].points - ratings[j].points), i, j)
        for (i, j), duel in table.duels.items()
        if not ratings[i].bound and not ratings[j].bound
    ]
    if not fits:
        return ""
    error, i, j = max(fits)
    seen = table.duels[i, j].rate.mean
    return (
        f"The ratings' largest error: {table.labels[i]} wins {seen:.2%} of the deals against "
        f"{table.labels[j]}, and the ratings say {seen - error:.2%}."
    )


def as_json(table: CrossTable, ratings: Sequence[Rating]) -> dict[str, Any]:
    """All of it for machines: ratings by place, and matches of the better against the worse."""
    order = by_rating(ratings)
    return {
        "ratings": [
            {
                "agent": table.agents[i].spec,
                "version": table.agents[i].version,
                "files": table.agents[i].files,
                "rating": ratings[i].points,
                "rating_ci": [ratings[i].low, ratings[i].high],
                "bound": ratings[i].bound or None,
            }
            for i in order
        ],
        "matches": [
            _match_json(table, i, j)
            for place, i in enumerate(order)
            for j in order[place + 1 :]
            if (i, j) in table.duels
        ],
    }


def _match_json(table: CrossTable, i: int, j: int) -> dict[str, Any]:
    duel = table.duels[i, j]
    rate, gain = duel.rate, duel.level_gain
    return {
        "a": table.labels[i],
        "b": table.labels[j],
        "deals": duel.result.deals,
        "deal_win_rate": rate.mean,
        "deal_win_rate_ci": [rate.low, rate.high],
        "level_gain": gain.mean,
        "level_gain_ci": [gain.low, gain.high],
        "failures": list(duel.figure("failures")),
    }
