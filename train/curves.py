"""Learning curves: what runs have written of their evaluations, read, joined over seeds, drawn."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from guandan_env.errors import GuandanError, nearest, shown

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

Float = NDArray[np.float64]

FILE = "curve.csv"
BEST = "best"  # an opponent that grows with the run; see `train.run`
AXES = ("moves", "hours")
_NUMBERS = ("moves", "hours", "won", "low", "high")
# Told apart by people who see red and green alike, and in print.
_COLORS = ("#1f5fa8", "#d1641b", "#2f8f6b", "#a8327e", "#6b5bb5", "#8a6d1f", "#3a3a3a")
_STYLES = ("-", "--", ":", "-.")
_MARKED = 40  # points; more would hide the line


class CurveError(GuandanError):
    """A run without evaluations, or a file that is no curve; the message says what is wrong."""


@dataclass(frozen=True)
class Curve:
    """Deals won against one opponent, `won` with `low` and `high` around it, all `(n,)`.

    The band is a 95% interval in the curve of a run, the range of the runs in that of several.
    """

    moves: Float
    hours: Float
    won: Float
    low: Float
    high: Float

    def __len__(self) -> int:
        return len(self.moves)


@dataclass(frozen=True)
class Group:
    """Runs under one label; of each run its curves by opponent."""

    label: str
    runs: tuple[dict[str, Curve], ...]

    @property
    def band(self) -> str:
        """What stands around its curves."""
        return "95% interval" if len(self.runs) == 1 else "range of the runs"

    def over(self, axis: str, against: str) -> Curve | None:
        """The curve of the group, drawn over one of `AXES`; None if no run met that opponent.

        Several runs are looked at wherever one of them was evaluated while all of them were under
        way, between their evaluations in a straight line. Raises `CurveError` if that is nowhere.
        """
        curves = [run[against] for run in self.runs if against in run]
        if not curves:
            return None
        if len(curves) == 1:
            return curves[0]
        try:
            return _joined(curves, axis)
        except CurveError as error:
            raise CurveError(f"{self.label}, against {against}: {error}") from None


def _joined(curves: Sequence[Curve], axis: str) -> Curve:
    places = [getattr(curve, axis) for curve in curves]
    first, last = max(at[0] for at in places), min(at[-1] for at in places)
    if first > last:
        raise CurveError(f"there are no {axis} at which all {len(curves)} runs were under way")
    at = reduce(np.union1d, places)
    at = at[(at >= first) & (at <= last)]

    def of_each(name: str) -> Float:
        each = [np.interp(at, x, getattr(c, name)) for x, c in zip(places, curves, strict=True)]
        return np.array(each)

    won = of_each("won")
    moves, hours = (of_each(name).mean(axis=0) for name in AXES)
    return Curve(moves, hours, won.mean(axis=0), won.min(axis=0), won.max(axis=0))


# ---------------------------------------------------------------------- reading


def read(path: Path) -> dict[str, Curve]:
    """The curves of a run by opponent, from its folder or from a file such as `curve.csv`.

    Raises `CurveError` for a file that is missing, empty or of another kind.
    """
    file = path / FILE if path.is_dir() else path
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        reason = "it is no folder of a run" if path.is_dir() else "there is nothing of this name"
        raise CurveError(f"{file} is missing: {reason}") from None
    except OSError as error:
        raise CurveError(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise CurveError(f"{file} is no curve: it is no text") from None
    if not text.strip():
        raise CurveError(f"{file} is empty")
    lines = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        lacking = [name for name in (*_NUMBERS, "against") if name not in (lines.fieldnames or ())]
        if lacking:
            raise CurveError(f"{file} is no curve: its first line lacks {', '.join(lacking)}")
        found: dict[str, list[list[float]]] = {}
        for line in lines:
            values = _numbers(line, f"{file}, line {lines.line_num}")
            found.setdefault(line["against"], []).append(values)
    except csv.Error as error:
        raise CurveError(f"{file} is no curve: {error}") from None
    if not found:
        raise CurveError(f"{file} holds no evaluation yet")
    curves = {name: Curve(*np.array(rows).T) for name, rows in found.items()}
    for name, curve in curves.items():
        if (np.diff(curve.moves) < 0).any() or (np.diff(curve.hours) < 0).any():
            raise CurveError(f"{file} is no curve: against {name}, moves or hours go back")
    return curves


def _numbers(line: dict[str, str], where: str) -> list[float]:
    values = []
    if None in line or None in line.values():
        raise CurveError(f"{where}: it has not as many values as the first line has names")
    for name in _NUMBERS:
        try:
            value = float(line[name])
        except ValueError:
            value = math.nan
        most = math.inf if name in AXES else 1.0
        if not (math.isfinite(value) and 0 <= value <= most):
            allowed = "a number from 0" + ("" if name in AXES else " to 1")
            raise CurveError(f"{where}: {name} is {shown(line[name])}; {allowed} is allowed")
        values.append(value)
    return values


def groups(words: Iterable[str]) -> list[Group]:
    """Runs as a command line names them: `RUN` or `LABEL=RUN,RUN…`, each a folder or a file."""
    found: list[Group] = []
    for word in words:
        label, equals, rest = word.partition("=")
        if not equals or Path(word).exists():
            label, rest = "", word
        parts = [word] if word and Path(word).exists() else rest.split(",")
        if not all(parts):
            raise CurveError(f"{shown(word)} names no run; RUN or LABEL=RUN,RUN is allowed")
        paths = [Path(part) for part in parts]
        label = label or ", ".join(_name(path) for path in paths)
        if label in {group.label for group in found}:
            raise CurveError(f"two curves are called {shown(label)}; name them: LABEL=RUN")
        found.append(Group(label, tuple(read(path) for path in paths)))
    return found


def _name(path: Path) -> str:
    """What a run is called that has no label: its folder, or a file without its ending."""
    if path.name == FILE:
        return path.absolute().parent.name
    return path.stem.removesuffix("-curve") if path.is_file() else path.absolute().name


def opponents(found: Sequence[Group], asked: Sequence[str]) -> list[str]:
    """Whose curves are drawn: those asked for, or all that stay the same during a run.

    Raises `CurveError` for one that no run met, or where a group met none of them.
    """
    met = list(dict.fromkeys(name for group in found for run in group.runs for name in run))
    for name in asked:
        if name not in met:
            raise CurveError(
                f"no evaluation against {shown(name)}{nearest(name, met)}; "
                f"there are those against {', '.join(met)}"
            )
    chosen = list(dict.fromkeys(asked)) or [name for name in met if name != BEST] or met
    for group in found:
        for run in group.runs:
            if not set(run) & set(chosen):
                raise CurveError(
                    f"{group.label} has no evaluation against {' or '.join(chosen)}, "
                    f"only against {', '.join(run)}"
                )
    return chosen


def as_dict(found: Sequence[Group], chosen: Sequence[str]) -> list[dict[str, Any]]:
    """All numbers of a picture, one entry a group, as plain JSON."""
    return [
        {
            "label": group.label,
            "runs": len(group.runs),
            "band": group.band,
            "against": {
                name: {
                    f"over_{axis}": {key: value.tolist() for key, value in vars(curve).items()}
                    for axis in AXES
                    if (curve := group.over(axis, name)) is not None
                }
                for name in chosen
                if group.over(AXES[0], name) is not None
            },
        }
        for group in found
    ]


# ---------------------------------------------------------------------- drawing


def draw(found: Sequence[Group], chosen: Sequence[str], kind: str) -> bytes:
    """A picture, `svg` or `png`: a row for each opponent, over moves and over hours."""
    from matplotlib.figure import Figure

    from eval.plots import GREY, METADATA, style

    units = [_unit(axis, found, chosen) for axis in AXES]
    with style(9.5):
        figure = Figure(figsize=(9, 0.8 + 2.7 * len(chosen)), layout="constrained")
        rows = figure.subplots(len(chosen), 2, sharey="row", sharex="col", squeeze=False)
        for row, name in zip(rows, chosen, strict=True):
            for axes, axis, (scale, _) in zip(row, AXES, units, strict=True):
                _panel(axes, found, axis, name, scale)
            row[0].set_ylabel(f"deals won against {name}")
            # Both panels of a row are drawn by now, and share this.
            low, high = row[0].get_ylim()
            row[0].set_ylim(max(low, -0.02), min(high, 1.02))
            if low < 0.5 < high:
                for axes in row:
                    axes.axhline(0.5, color=GREY, linewidth=0.8, linestyle=":", zorder=0)
        for axes, (_, label) in zip(rows[-1], units, strict=True):
            axes.set_xlabel(label)
            axes.set_xlim(left=0)
        keys, labels = _keys(found)
        figure.legend(
            keys, labels, loc="outside upper center", ncols=min(5, len(keys)), frameon=False
        )
        out = io.BytesIO()
        figure.savefig(out, format=kind, dpi=200, metadata=METADATA[kind])
    return out.getvalue()


def _panel(axes: Axes, found: Sequence[Group], axis: str, against: str, scale: float) -> None:
    from matplotlib.ticker import PercentFormatter

    from eval.plots import GREY

    for place, group in enumerate(found):
        curve = group.over(axis, against)
        if curve is None:
            continue
        x, look = getattr(curve, axis) * scale, _look(place)
        if len(curve) == 1:
            reach = np.maximum([curve.won - curve.low, curve.high - curve.won], 0)
            axes.errorbar(x, curve.won, yerr=reach, fmt="o", capsize=3, color=look["color"])
            continue
        axes.fill_between(x, curve.low, curve.high, color=look["color"], alpha=0.16, linewidth=0)
        axes.plot(x, curve.won, linewidth=1.6, **look)
        if len(curve) <= _MARKED:
            axes.plot(x, curve.won, "o", markersize=3, color=look["color"])
    axes.grid(axis="y", color=GREY, alpha=0.15, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))


def _look(place: int) -> dict[str, Any]:
    """Color and line of the curve with this number, so that no two look alike."""
    color, style = place % len(_COLORS), place // len(_COLORS)
    return {"color": _COLORS[color], "linestyle": _STYLES[style % len(_STYLES)]}


def _keys(found: Sequence[Group]) -> tuple[list[Artist], list[str]]:
    """What the legend shows and says: the groups, and what the bands around them are."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    from eval.plots import GREY

    keys: list[Artist] = [
        Line2D([], [], linewidth=1.6, **_look(place)) for place in range(len(found))
    ]
    labels = [
        group.label + (f", {len(group.runs)} runs" if len(group.runs) > 1 else "")
        for group in found
    ]
    bands = {group.band for group in found}
    if len(bands) > 1:
        return keys, [f"{label} ({group.band})" for label, group in zip(labels, found, strict=True)]
    return [*keys, Patch(color=GREY, alpha=0.3, linewidth=0)], [*labels, bands.pop()]


def _unit(axis: str, found: Sequence[Group], chosen: Sequence[str]) -> tuple[float, str]:
    """What values along an axis are multiplied with so that they are short, and its label."""
    curves = [group.over(axis, name) for group in found for name in chosen]
    most = max(float(getattr(curve, axis).max()) for curve in curves if curve is not None)
    if axis == "hours":
        return (60.0, "minutes of training") if most < 1 else (1.0, "hours of training")
    for size, word in ((1e9, "billion "), (1e6, "million "), (1e3, "thousand ")):
        if most >= size:
            return 1 / size, f"{word}moves"
    return 1.0, "moves"
