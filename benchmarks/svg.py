"""Just enough SVG for a chart: shapes and text with fixed places, light or dark as the reader's page is."""

from collections.abc import Sequence
from html import escape
from typing import Final

INK: Final = "ink"
FAINT: Final = "faint"
GRID: Final = "grid"
SHEET: Final = "sheet"
"""Colours that follow the page; every other colour is written as ``#rrggbb``."""

_LIGHT: Final = {INK: "#1f2328", FAINT: "#6e7781", GRID: "#d8dee4", SHEET: "#ffffff"}
_DARK: Final = {INK: "#e6edf3", FAINT: "#9198a1", GRID: "#30363d", SHEET: "#0d1117"}

Point = tuple[float, float]


class Drawing:
    """Shapes in the order in which they are drawn; lengths are pixels."""

    def __init__(self, width: float, height: float, title: str) -> None:
        self._size = width, height
        self._title = title
        self._shapes: list[str] = []

    def box(self, at: Point, size: Point, colour: str) -> None:
        """A filled rectangle."""
        (x, y), (width, height) = at, size
        self._shapes.append(
            f"<rect x='{x:.1f}' y='{y:.1f}' width='{max(width, 0):.1f}' height='{height:.1f}' "
            f"{_filled(colour)}/>"
        )

    def line(
        self, points: Sequence[Point], colour: str, width: float = 1, *, dashed: bool = False
    ) -> None:
        """A line through these points."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dashes = " stroke-dasharray='5 4'" if dashed else ""
        self._shapes.append(
            f"<polyline points='{path}' {_drawn(colour)} stroke-width='{width:g}'"
            f" stroke-linejoin='round'{dashes}/>"
        )

    def marker(self, at: Point, shape: str, colour: str, radius: float = 5) -> None:
        """A circle, square, diamond or bar around a point, with a rim in the colour of the sheet."""
        x, y = at
        rim = f"class='rim' fill='{colour}' stroke-width='1'"
        if shape == "circle":
            self._shapes.append(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{radius:g}' {rim}/>")
            return
        across, up = {"square": (0.85, 0.85), "bar": (0.4, 1.4), "diamond": (1.3, 1.3)}[shape]
        width, height = across * radius, up * radius
        corners: list[Point]
        if shape == "diamond":
            corners = [(x, y - height), (x + width, y), (x, y + height), (x - width, y)]
        else:
            corners = [
                (x - width, y - height),
                (x + width, y - height),
                (x + width, y + height),
                (x - width, y + height),
            ]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in corners)
        self._shapes.append(f"<polygon points='{path}' {rim}/>")

    def text(
        self,
        at: Point,
        words: str,
        *,
        anchor: str = "start",
        size: float = 12,
        colour: str = INK,
        bold: bool = False,
    ) -> None:
        """Text whose line stands on ``at``; ``anchor`` says which end of it (start, middle, end)."""
        x, y = at
        weight = " font-weight='600'" if bold else ""
        self._shapes.append(
            f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' font-size='{size:g}'{weight} "
            f"{_filled(colour)}>{escape(words)}</text>"
        )

    def __str__(self) -> str:
        width, height = self._size
        head = (
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:g} {height:g}' "
            f"width='{width:g}' height='{height:g}' role='img' "
            'font-family=\'system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif\'>'
        )
        style = f"<style>{_rules(_LIGHT)} @media (prefers-color-scheme: dark) {{ {_rules(_DARK)} }}</style>"
        sheet = f"<rect width='{width:g}' height='{height:g}' class='{SHEET}'/>"
        title = f"<title>{escape(self._title)}</title>"
        return "\n".join([head, title, style, sheet, *self._shapes, "</svg>", ""])


def _filled(colour: str) -> str:
    return f"fill='{colour}'" if colour.startswith("#") else f"class='{colour}'"


def _drawn(colour: str) -> str:
    if colour.startswith("#"):
        return f"fill='none' stroke='{colour}'"
    return f"fill='none' class='{colour}-line'"


def _rules(colours: dict[str, str]) -> str:
    rules = [
        f".{name} {{ fill: {colour} }} .{name}-line {{ fill: none; stroke: {colour} }}"
        for name, colour in colours.items()
    ]
    return " ".join([*rules, f".rim {{ stroke: {colours[SHEET]} }}"])
