"""Two kinds of chart: dots along a scale, a line for each workload, and curves."""

import math
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from benchmarks.svg import FAINT, GRID, INK, Drawing, Point

_WIDTH: Final = 900
_EDGE: Final = 20
_LEFT: Final = 155
_RIGHT: Final = 110
_ROW: Final = 25
_GROUP: Final = 26
_LINE: Final = 15
_LEGEND_LINE: Final = 20
_LETTER: Final = 6.7
_CAPTION_WIDTH: Final = 138
_PLOT_HEIGHT: Final = 330
_NEAR: Final = 12.0
_LANES: Final = (0.0, -5.5, 5.5)
_LABEL_GAP: Final = 14.0
_FEW_DECADES: Final = 2.5


@dataclass(frozen=True, slots=True)
class Look:
    """How a system is drawn, in every chart alike."""

    colour: str
    shape: str = "circle"


@dataclass(frozen=True, slots=True)
class Dot:
    """A figure of one system, with the least and the most that were measured."""

    system: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Words:
    """What is written around a chart.

    Attributes:
        title: Above it.
        subtitle: Below the title.
        caption: Below the chart.
    """

    title: str
    subtitle: str
    caption: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Axis:
    """A logarithmic scale from one pixel to another, with round ends."""

    low: float
    high: float
    start: float
    end: float

    def place(self, value: float) -> float:
        """The pixel of a value.

        >>> Axis(1, 100, 0, 200).place(10)
        100.0
        """
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Powers of ten; where these are few, twice and five times them too.

        >>> Axis(1, 1000, 0, 1).ticks()
        [1.0, 10.0, 100.0, 1000.0]
        >>> Axis(5, 50, 0, 1).ticks()
        [5.0, 10.0, 20.0, 50.0]
        """
        few = math.log10(self.high / self.low) < _FEW_DECADES
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        steps = (1, 2, 5) if few else (1,)
        every = [step * 10.0**power for power in range(first, last + 1) for step in steps]
        return [tick for tick in every if self.low * 0.999 <= tick <= self.high * 1.001]


def axis(values: Iterable[float], start: float, end: float) -> Axis:
    """That holds all values; ends at 1, 2 or 5 times a power of ten.

    >>> axis([30, 4000], 0, 1)
    Axis(low=20.0, high=5000.0, start=0, end=1)
    """
    known = list(values)
    return Axis(_round(min(known), up=False), _round(max(known), up=True), start, end)


def _round(value: float, *, up: bool) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    steps = [step * power for step in (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)]
    if up:
        return next(step for step in steps if step > value * 1.02)
    return next(step for step in reversed(steps) if step < value * 0.98)


@dataclass
class DotChart:
    """A line for each workload, a dot on it for each system.

    Attributes:
        words: Around the chart.
        looks: Of the systems, in the order of the legend; those drawn last are on top.
        groups: By heading, by workload: the dots.
        label: A value of the axis in words.
        note: What stands right of a workload's line.
        note_head: What stands above these notes.
        marks: Values that have a line of their own, with what is written on it.
    """

    words: Words
    looks: Mapping[str, Look]
    groups: Mapping[str, Mapping[str, Sequence[Dot]]]
    label: Callable[[float], str]
    note: Mapping[str, str] = field(default_factory=dict)
    note_head: str = ""
    marks: Mapping[float, str] = field(default_factory=dict)

    def __str__(self) -> str:
        groups = {name: lines for name, lines in self.groups.items() if lines}
        dots = [dot for lines in groups.values() for several in lines.values() for dot in several]
        shown = [name for name in self.looks if any(dot.system == name for dot in dots)]
        top = 58 + _LEGEND_LINE * len(_legend_lines(shown)) + 30
        lines = sum(len(each) for each in groups.values())
        bottom = top + _GROUP * len(groups) + _ROW * lines
        caption = _wrapped(self.words.caption)
        drawing = Drawing(_WIDTH, bottom + 50 + _LINE * len(caption), self.words.title)
        _head(drawing, self.words, {name: self.looks[name] for name in shown})
        ends = [end for dot in dots for end in (dot.low, dot.high)]
        scale = axis([*ends, *self.marks], _LEFT, _WIDTH - _RIGHT)
        self._grid(drawing, scale, top, bottom)
        y = float(top)
        for name, workloads in groups.items():
            drawing.text((_EDGE, y + 18), name, size=12, colour=FAINT)
            y += _GROUP
            for workload, several in workloads.items():
                self._line(drawing, scale, y + _ROW / 2, workload, several)
                y += _ROW
        _foot(drawing, caption, bottom + 46)
        return str(drawing)

    def _grid(self, drawing: Drawing, scale: Axis, top: float, bottom: float) -> None:
        for tick in scale.ticks():
            x = scale.place(tick)
            drawing.line([(x, top), (x, bottom)], GRID)
            for y in (top - 6, bottom + 16):
                drawing.text((x, y), self.label(tick), anchor="middle", size=11, colour=FAINT)
        for value, words in self.marks.items():
            x = scale.place(value)
            drawing.line([(x, top), (x, bottom)], INK, 1.5, dashed=True)
            drawing.text((x + 5, top + 12), words, size=11)
        if self.note_head:
            at = (_WIDTH - _EDGE, top - 6)
            drawing.text(at, self.note_head, anchor="end", size=11, colour=FAINT)

    def _line(
        self, drawing: Drawing, scale: Axis, y: float, workload: str, several: Sequence[Dot]
    ) -> None:
        drawing.text((_LEFT - 12, y + 4), workload, anchor="end")
        drawing.line([(_LEFT, y), (_WIDTH - _RIGHT, y)], GRID)
        lanes = _lanes([scale.place(dot.value) for dot in several])
        order = {name: place for place, name in enumerate(self.looks)}
        for dot, lane in sorted(
            zip(several, lanes, strict=True), key=lambda pair: -order[pair[0].system]
        ):
            look = self.looks[dot.system]
            span = [(scale.place(dot.low), y + lane), (scale.place(dot.high), y + lane)]
            drawing.line(span, look.colour, 2)
            drawing.marker((scale.place(dot.value), y + lane), look.shape, look.colour)
        if words := self.note.get(workload):
            drawing.text((_WIDTH - _EDGE, y + 4), words, anchor="end")


def _lanes(places: Sequence[float]) -> list[float]:
    """How far each dot is moved off its line, so that dots of almost the same value are seen."""
    chosen = [0.0] * len(places)
    last = dict.fromkeys(_LANES, -math.inf)
    for number in sorted(range(len(places)), key=lambda each: places[each]):
        lane = next((each for each in _LANES if places[number] - last[each] >= _NEAR), None)
        chosen[number] = min(last, key=lambda each: last[each]) if lane is None else lane
        last[chosen[number]] = places[number]
    return chosen


@dataclass
class CurveChart:
    """Curves over a scale whose places the caller has chosen, on a logarithmic height.

    Attributes:
        words: Around the chart.
        looks: Of the systems, in the order of the legend.
        curves: By system: places from 0 to 1, and values.
        ticks: Places from 0 to 1, with what is written below them.
        label: A value in words.
        across: What the scale is about.
        dots: Whether each value has a marker.
    """

    words: Words
    looks: Mapping[str, Look]
    curves: Mapping[str, Sequence[Point]]
    ticks: Mapping[float, str]
    label: Callable[[float], str]
    across: str
    dots: bool = True

    def __str__(self) -> str:
        looks = {name: look for name, look in self.looks.items() if name in self.curves}
        top = 58 + _LEGEND_LINE * len(_legend_lines(list(looks))) + 14
        bottom = top + _PLOT_HEIGHT
        caption = _wrapped(self.words.caption)
        drawing = Drawing(_WIDTH, bottom + 66 + _LINE * len(caption), self.words.title)
        _head(drawing, self.words, looks)
        values = [value for curve in self.curves.values() for _, value in curve]
        height = axis(values, bottom, top)
        longest = max(map(len, looks))
        left, right = 90.0, _WIDTH - _EDGE - 12 - _LETTER * longest
        for tick in height.ticks():
            y = height.place(tick)
            drawing.line([(left, y), (right, y)], GRID)
            at = (left - 10, y + 4)
            drawing.text(at, self.label(tick), anchor="end", size=11, colour=FAINT)
        for place, name in self.ticks.items():
            x = left + place * (right - left)
            drawing.line([(x, top), (x, bottom)], GRID)
            drawing.text((x, bottom + 18), name, anchor="middle", size=11, colour=FAINT)
        middle = ((left + right) / 2, bottom + 36)
        drawing.text(middle, self.across, anchor="middle", colour=FAINT)
        ends = {}
        for system, look in reversed(looks.items()):
            points = [
                (left + place * (right - left), height.place(value))
                for place, value in self.curves[system]
            ]
            drawing.line(points, look.colour, 2.2)
            for point in points if self.dots else ():
                drawing.marker(point, look.shape, look.colour)
            ends[system] = points[-1]
        for system, y in _apart({name: end[1] for name, end in ends.items()}).items():
            drawing.text((ends[system][0] + 12, y + 4), system, colour=looks[system].colour)
        _foot(drawing, caption, bottom + 62)
        return str(drawing)


def _apart(heights: Mapping[str, float]) -> dict[str, float]:
    """Heights of labels, moved down where they would overlap.

    >>> _apart({"a": 10, "b": 12, "c": 50})
    {'a': 10, 'b': 24.0, 'c': 50}
    """
    placed: dict[str, float] = {}
    last = -math.inf
    for name, height in sorted(heights.items(), key=lambda item: item[1]):
        last = placed[name] = max(height, last + _LABEL_GAP)
    return placed


def _head(drawing: Drawing, words: Words, looks: Mapping[str, Look]) -> None:
    drawing.text((_EDGE, 28), words.title, size=17, bold=True)
    drawing.text((_EDGE, 47), words.subtitle, size=12, colour=FAINT)
    y = 70.0
    for line in _legend_lines(list(looks)):
        x = float(_EDGE + 6)
        for name in line:
            drawing.marker((x, y - 4), looks[name].shape, looks[name].colour)
            drawing.text((x + 11, y), name)
            x += _legend_width(name)
        y += _LEGEND_LINE


def _legend_width(name: str) -> float:
    return 11 + _LETTER * len(name) + 20


def _legend_lines(names: Sequence[str]) -> list[list[str]]:
    lines: list[list[str]] = [[]]
    taken = 0.0
    for name in names:
        if taken + _legend_width(name) > _WIDTH - 2 * _EDGE:
            lines.append([])
            taken = 0.0
        lines[-1].append(name)
        taken += _legend_width(name)
    return lines


def nines(quantile: float) -> float:
    """How far out a quantile is: 1 for 0.9, 2 for 0.99.

    >>> [round(nines(each), 3) for each in (0.0, 0.9, 0.99)]
    [0.0, 1.0, 2.0]
    """
    return math.log10(1 / (1 - quantile))


def _wrapped(caption: Sequence[str]) -> list[str]:
    return [line for words in caption for line in textwrap.wrap(words, _CAPTION_WIDTH)]


def _foot(drawing: Drawing, notes: Sequence[str], y: float) -> None:
    for number, line in enumerate(notes):
        drawing.text((_EDGE, y + number * _LINE), line, size=11, colour=FAINT)
