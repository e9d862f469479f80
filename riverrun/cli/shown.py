"""How commands about jobs show things: tables for people, JSON for machines, a spinner while one waits."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from riverrun.rest.bodies.jobs import JobDetails

_WIDE: Final = 4096
_STYLES: Final = {
    "RUNNING": "green",
    "FINISHED": "blue",
    "FAILED": "red",
    "FAILING": "red",
    "CANCELED": "yellow",
    "CANCELLING": "yellow",
}
_UNITS: Final = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def show_json(value: Mapping[str, Any]) -> None:
    """Print an object for machines."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def tell_of_job(job: JobDetails, words: str, *, as_json: bool, **facts: str) -> None:
    """Say what was done with a job: ``words`` for people, or its id, its name and ``facts`` for machines."""
    if as_json:
        show_json({"job_id": job.jid, "name": job.name, **facts})
    else:
        typer.echo(words)


def show_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; cells that are a job's status have its colour."""
    table = Table(*columns, box=None, pad_edge=False)
    for row in rows:
        table.add_row(
            *(Text(cell, overflow="fold", style=_STYLES.get(cell, "")) for cell in row),
        )
    console = Console()
    # What goes to a file or another program is not cut to a screen's width.
    Console(width=None if console.is_terminal else _WIDE).print(table)


@contextmanager
def waiting(title: str) -> Iterator[None]:
    """Show that something goes on while the block runs, if anybody looks."""
    screen = Console(stderr=True)
    if screen.is_terminal:
        with screen.status(Text(title)):
            yield
    else:
        yield


def moment(millis: int) -> str:
    """A time for people; empty for one that has not come."""
    if millis <= 0:
        return ""
    return f"{datetime.fromtimestamp(millis / 1000, UTC).astimezone():%Y-%m-%d %H:%M:%S}"


def span(millis: int) -> str:
    """A duration for people, in its two largest units.

    >>> span(3_725_000), span(59_999), span(400), span(-1)
    ('1 h 2 min', '59 s', '0 s', '')
    """
    if millis < 0:
        return ""
    seconds = millis // 1000
    parts: list[tuple[int, str]] = []
    for unit, size in _UNITS:
        count, seconds = divmod(seconds, size)
        if count or parts:
            parts.append((count, unit))
    parts = parts or [(0, "s")]
    return " ".join(f"{count} {unit}" for count, unit in parts[:2] if count or len(parts) == 1)
