"""``river doctor``: whether this machine has what a job needs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence

import typer

from riverrun.cli.exit_codes import FAILED
from riverrun.cli.health import Finding, Health, findings
from riverrun.cli.session_arguments import AsJson

_MARKS = {Health.GOOD: "ok", Health.ODD: "note", Health.MISSING: "missing"}
_COLOURS = {Health.GOOD: "green", Health.ODD: "yellow", Health.MISSING: "red"}


def doctor(*, as_json: AsJson = False) -> None:
    """Show whether Python, Spark and Java are as jobs need them; exit code 1 if something is missing."""
    found = list(findings(os.environ))
    if as_json:
        typer.echo(json.dumps({"findings": [_as_json(each) for each in found]}, indent=2))
    else:
        _show(found)
    if any(finding.health is Health.MISSING for finding in found):
        raise typer.Exit(FAILED)


def _show(found: Sequence[Finding]) -> None:
    # Only this command draws a table.
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table("", "found", "", box=None, pad_edge=False)
    for finding in found:
        mark = Text(_MARKS[finding.health], style=_COLOURS[finding.health])
        table.add_row(finding.subject, Text("\n".join(_lines(finding))), mark)
    Console().print(table)


def _as_json(finding: Finding) -> dict[str, str]:
    return {
        "subject": finding.subject,
        "found": finding.found,
        "health": _MARKS[finding.health],
        "advice": finding.advice,
    }


def _lines(finding: Finding) -> Iterator[str]:
    yield finding.found
    if finding.advice:
        yield finding.advice
