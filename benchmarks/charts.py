"""Two kinds of chart: bars in panels of their own scale, and curves of latency over its quantiles."""

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.svg import FAINT, INK, Drawing

_WIDTH: Final = 860
_LEFT: Final = 150
_RIGHT: Final = 150
_BAR: Final = 20
_GAP: Final = 6
_PANEL_HEAD: Final = 34
_HEAD: Final = 40
_LINE: Final = 15
_CAPTION_WIDTH: Final = 125
_OURS: Final = "#d9480f"
_THEIRS: Final = "#adb5bd"
_COLOURS: Final = ("#d9480f", "#1971c2", "#2f9e44", "#9c36b5", "#868e96", "#e8590c")
_PLOT_HEIGHT: Final = 300
_NINES: Final = (0.0, 0.5, 0.9, 0.99, 0.999)


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure, with the least and the most that were measured."""

    name: str
    value: float
    low: float
    high: float
    ours: bool


def bar_chart(
    title: str,
    panels: Mapping[str, Sequence[Bar]],
    caption: Sequence[str],
    label: Callable[[float], str],
) -> str:
    """Bars by panel; each panel has its own scale, so that the small ones can be seen."""
    notes = _wrapped(caption)
    bars = sum(len(panel) for panel in panels.values())
    height = _HEAD + _PANEL_HEAD * len(panels) + (_BAR + _GAP) * bars + _LINE * (len(notes) + 2)
    drawing = Drawing(_WIDTH, height, title)
    drawing.text((16, 26), title, size=16)
    y = float(_HEAD)
    for name, panel in panels.items():
        drawing.text((16, y + 20), name, size=13)
        y += _PANEL_HEAD
        most = max(bar.high for bar in panel)
        for bar in panel:
            _draw(drawing, bar, y, most, label)
            y += _BAR + _GAP
    _write(drawing, notes, y + _LINE)
    return str(drawing)


def _draw(drawing: Drawing, bar: Bar, y: float, most: float, label: Callable[[float], str]) -> None:
    scale = (_WIDTH - _LEFT - _RIGHT) / most
    middle = y + _BAR / 2
    drawing.text((_LEFT - 8, middle + 4), bar.name, anchor="end")
    drawing.box((_LEFT, y), (bar.value * scale, _BAR), _OURS if bar.ours else _THEIRS)
    drawing.line([(_LEFT + bar.low * scale, middle), (_LEFT + bar.high * scale, middle)], INK)
    drawing.text((_LEFT + bar.high * scale + 8, middle + 4), label(bar.value))


def latency_chart(
    title: str, curves: Mapping[str, Mapping[float, float]], caption: Sequence[str]
) -> str:
    """Milliseconds by quantile; each nine of the quantile has the same width.

    Args:
        title: Above the chart.
        curves: By name: quantile (0 to less than 1) to milliseconds.
        caption: Below the chart.
    """
    notes = _wrapped(caption)
    height = _HEAD + _PLOT_HEIGHT + 60 + _LINE * (len(notes) + len(curves) + 1)
    drawing = Drawing(_WIDTH, height, title)
    drawing.text((16, 26), title, size=16)
    most = _round_up(max(ms for curve in curves.values() for ms in curve.values()))
    bottom = _HEAD + _PLOT_HEIGHT

    def place(quantile: float, ms: float) -> tuple[float, float]:
        across = nines(quantile) / nines(_NINES[-1]) * (_WIDTH - 2 * 70)
        return 70 + across, bottom - ms / most * (_PLOT_HEIGHT - 10)

    for step in range(5):
        x, y = place(0, most * step / 4)
        drawing.line([(x, y), (_WIDTH - 70, y)], "#e9ecef")
        drawing.text((x - 8, y + 4), f"{most * step / 4:g} ms", anchor="end", size=11)
    for quantile in _NINES:
        x, _ = place(quantile, 0)
        drawing.text((x, bottom + 18), f"p{quantile * 100:g}", anchor="middle", size=11)
    y = bottom + 40.0
    for number, (name, curve) in enumerate(curves.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        shown = sorted(each for each in curve if each <= _NINES[-1])
        drawing.line([place(each, curve[each]) for each in shown], colour, width=2)
        drawing.box((70, y - 9), (18, 9), colour)
        drawing.text((96, y), name)
        y += _LINE
    _write(drawing, notes, y + _LINE)
    return str(drawing)


def nines(quantile: float) -> float:
    """How far out a quantile is: 1 for 0.9, 2 for 0.99.

    >>> [round(nines(each), 3) for each in (0.0, 0.9, 0.99)]
    [0.0, 1.0, 2.0]
    """
    return math.log10(1 / (1 - quantile))


def _round_up(value: float) -> float:
    """The next number with one digit that is not 0, so that the axis ends on it."""
    digit = 10 ** math.floor(math.log10(value)) if value > 0 else 1.0
    return math.ceil(value / digit) * digit


def _wrapped(caption: Sequence[str]) -> list[str]:
    return [line for words in caption for line in textwrap.wrap(words, _CAPTION_WIDTH)]


def _write(drawing: Drawing, notes: Sequence[str], y: float) -> None:
    for number, line in enumerate(notes):
        drawing.text((16, y + number * _LINE), line, size=11, colour=FAINT)
