"""``river doctor``: whether this machine has what a job needs."""

from __future__ import annotations

import os
from collections.abc import Iterator

import typer

from riverrun.cli.exit_codes import FAILED
from riverrun.cli.health import Finding, Health, findings

_MARKS = {Health.GOOD: "ok", Health.ODD: "note", Health.MISSING: "missing"}
_COLOURS = {Health.GOOD: "green", Health.ODD: "yellow", Health.MISSING: "red"}


def doctor() -> None:
    """Show whether Python, Spark and Java are as jobs need them; exit code 1 if something is missing."""
    # Only this command draws a table.
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table("", "found", "", box=None, pad_edge=False)
    missing = False
    for finding in findings(os.environ):
        mark = Text(_MARKS[finding.health], style=_COLOURS[finding.health])
        table.add_row(finding.subject, Text("\n".join(_lines(finding))), mark)
        missing = missing or finding.health is Health.MISSING
    Console().print(table)
    if missing:
        raise typer.Exit(FAILED)


def _lines(finding: Finding) -> Iterator[str]:
    yield finding.found
    if finding.advice:
        yield finding.advice
