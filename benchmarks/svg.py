"""Just enough SVG for a chart: shapes and text with fixed places, and the text of the file."""

from collections.abc import Sequence
from html import escape
from typing import Final

FONT: Final = "font-family='system-ui, sans-serif'"
INK: Final = "#222222"
FAINT: Final = "#8a8a8a"


class Drawing:
    """Shapes in the order in which they are drawn, on white; lengths are pixels."""

    def __init__(self, width: float, height: float, title: str) -> None:
        self._size = width, height
        self._title = title
        self._shapes: list[str] = []

    def box(self, at: tuple[float, float], size: tuple[float, float], colour: str) -> None:
        """A filled rectangle."""
        (x, y), (width, height) = at, size
        self._shapes.append(
            f"<rect x='{x:.1f}' y='{y:.1f}' width='{max(width, 0):.1f}' height='{height:.1f}' fill='{colour}'/>"
        )

    def line(self, points: Sequence[tuple[float, float]], colour: str, width: float = 1) -> None:
        """A line through these points."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._shapes.append(
            f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='{width:g}'/>"
        )

    def text(
        self,
        at: tuple[float, float],
        words: str,
        *,
        anchor: str = "start",
        size: float = 12,
        colour: str = INK,
    ) -> None:
        """Text whose line stands on ``at``; ``anchor`` says which end of it (start, middle, end)."""
        x, y = at
        self._shapes.append(
            f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' font-size='{size:g}' "
            f"fill='{colour}' {FONT}>{escape(words)}</text>"
        )

    def __str__(self) -> str:
        width, height = self._size
        head = (
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:g} {height:g}' "
            f"width='{width:g}' height='{height:g}' role='img'>"
        )
        sheet = f"<rect width='{width:g}' height='{height:g}' fill='#ffffff'/>"
        return "\n".join(
            [head, f"<title>{escape(self._title)}</title>", sheet, *self._shapes, "</svg>", ""]
        )
