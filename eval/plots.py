"""Plots of reports, each as an SVG text that stands in a page by itself."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy import stats

from eval.statistics import Estimate

Float = NDArray[np.float64]

BLUE, PALE, GREY = "#1f5fa8", "#c7daf0", "#888888"
_POINTS = 400  # of a line; more cannot be seen
_FIRST = 10  # pairs before an interval is drawn
# The same picture is the same text, and letters stay letters.
_SETTINGS: Any = {
    "svg.hashsalt": "guandan",
    "svg.fonttype": "none",
    "text.parse_math": False,  # a dollar sign in a name is no formula
}
# What is written into files of these kinds beside the picture: nothing that changes.
METADATA: dict[str, Any] = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}


@contextmanager
def style(font_size: float) -> Iterator[None]:
    """Within it, figures are made and saved in the look of all plots."""
    settings = {**_SETTINGS, "font.size": font_size}
    with mpl.rc_context(settings), warnings.catch_warnings():
        # Names in letters that the measuring font lacks: the browser has its own.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        yield


class _Plot:
    """A figure with one pair of axes, and the text it becomes."""

    def __init__(self, width: float, height: float) -> None:
        self.figure = Figure(figsize=(width, height), layout="constrained")
        self.axes: Axes = self.figure.subplots()
        self.axes.spines[["top", "right"]].set_visible(False)
        self.svg = ""


@contextmanager
def _plot(width: float = 5.2, height: float = 2.8) -> Iterator[_Plot]:
    with style(9.0):
        plot = _Plot(width, height)
        yield plot
        text = io.StringIO()
        plot.figure.savefig(text, format="svg", metadata=METADATA["svg"])
        plot.svg = text.getvalue()[text.getvalue().index("<svg") :]


def running(values: Float, even: float, unit: str) -> str:
    """The mean of the first pairs, with its 95% interval, as pairs were added; values `(n,)`."""
    n = np.arange(1, len(values) + 1)
    mean = np.cumsum(values) / n
    squares = np.maximum(np.cumsum(values**2) - n * mean**2, 0)
    error = np.sqrt(squares / np.maximum(n - 1, 1) / n)
    reach = stats.t.ppf(0.975, np.maximum(n - 1, 1)) * error
    shown = np.unique(np.linspace(min(_FIRST, len(n)) - 1, len(n) - 1, _POINTS).astype(int))
    with _plot() as plot:
        axes = plot.axes
        axes.axhline(even, color=GREY, linewidth=0.8, linestyle=":")
        axes.fill_between(
            n[shown], (mean - reach)[shown], (mean + reach)[shown], color=PALE, linewidth=0
        )
        axes.plot(n[shown], mean[shown], color=BLUE)
        axes.set_xlabel("pairs played")
        axes.set_ylabel(unit)
    return plot.svg


def groups(labels: Sequence[str], rates: Sequence[Estimate | None], xlabel: str) -> str:
    """A rate with its interval in each group; nothing stands where a group is too small."""
    with _plot() as plot:
        axes = plot.axes
        axes.axhline(0.5, color=GREY, linewidth=0.8, linestyle=":")
        known = [(place, rate) for place, rate in enumerate(rates) if rate is not None]
        if known:
            _dots(axes, [place for place, _ in known], [rate for _, rate in known])
        axes.set_xticks(range(len(labels)), labels)
        axes.set_xlim(-0.5, len(labels) - 0.5)
        axes.set_xlabel(xlabel)
        axes.set_ylabel("deals won")
    return plot.svg


def _dots(axes: Axes, places: list[int], rates: list[Estimate]) -> None:
    low = [rate.mean - rate.low for rate in rates]
    high = [rate.high - rate.mean for rate in rates]
    means = [rate.mean for rate in rates]
    axes.errorbar(places, means, yerr=np.maximum([low, high], 0), fmt="o", color=BLUE, capsize=3)


def scale(
    labels: Sequence[str], points: Sequence[float], ends: Sequence[tuple[float, float]]
) -> str:
    """Ratings on a line each, the first on top, each with the ends of its interval."""
    with _plot(6.4, 0.9 + 0.32 * len(labels)) as plot:
        axes = plot.axes
        places = np.arange(len(labels))
        axes.axvline(0, color=GREY, linewidth=0.8, linestyle=":")
        reach = [[p - low for p, (low, _) in zip(points, ends, strict=True)],
                 [high - p for p, (_, high) in zip(points, ends, strict=True)]]  # fmt: skip
        axes.errorbar(points, places, xerr=np.maximum(reach, 0), fmt="o", color=BLUE, capsize=3)
        axes.set_yticks(places, labels)
        axes.set_ylim(len(labels) - 0.5, -0.5)
        axes.set_xlabel("rating (greedy = 0)")
    return plot.svg
