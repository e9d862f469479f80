"""How ``river state`` shows what it found: tables for people, JSON for machines."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, Final

from rich.console import Console
from rich.filesize import decimal
from rich.markup import escape
from rich.table import Table

from riverrun.state_processor.comparison import Change, Verb
from riverrun.state_processor.difference import StateDifference
from riverrun.state_processor.facts import OperatorFacts, SavepointFacts, StateFacts
from riverrun.state_processor.plain_values import as_json, iso, text
from riverrun.state_processor.savepoint import Savepoint

UNKNOWN: Final = "?"
PICKLED: Final = "(pickled)"
_WIDE: Final = 100_000
"""For who reads the output with a program: no line is broken."""
_SCREEN: Final = 1000
"""Rows whose columns are as wide as each other."""
_TIMES: Final = frozenset({"time"})
"""Columns of milliseconds."""


def console() -> Console:
    """Where tables go."""
    return Console(width=None if sys.stdout.isatty() else _WIDE, highlight=False)


def show_json(value: Any) -> None:
    """Print a value for machines."""
    print(json.dumps(as_json(value), ensure_ascii=False, indent=2))  # noqa: T201  (the answer)


def facts_as_json(savepoint: Savepoint, operators: Sequence[OperatorFacts]) -> dict[str, Any]:
    """All that ``ls`` knows."""
    return {
        "path": savepoint.location,
        **as_json(savepoint.metadata),
        "operators": [
            {
                **as_json(operator),
                "states": [
                    {**as_json(state), "types": {k: repr(t) for k, t in state.types.items()}}
                    for state in operator.states
                ],
            }
            for operator in operators
        ],
    }


def show_states(savepoint: Savepoint, operators: Sequence[OperatorFacts]) -> None:
    """Print what ``ls`` shows."""
    out = console()
    _show_header(out, savepoint.location, savepoint.metadata)
    columns = ("operator", "uid", "state", "kind", "key type", "value type")
    table = Table(*columns, box=None, pad_edge=False)
    for name in ("rows", "bytes", "parallelism"):
        table.add_column(name, justify="right")
    for operator in operators:
        parallelism = f"{operator.parallelism} of {operator.max_parallelism}"
        for state in operator.states:
            table.add_row(
                escape(operator.name),
                escape(operator.uid or ""),
                escape(state.name),
                state.kind.value,
                escape(_key_type(state)),
                escape(_value_type(state)),
                UNKNOWN if state.rows is None else f"{state.rows:,}",
                UNKNOWN if state.bytes is None else decimal(state.bytes),
                parallelism,
            )
    out.print()
    if table.row_count:
        out.print(table)
    else:
        out.print("no operator has state")
    without = [operator.label for operator in operators if not operator.states]
    if without:
        out.print(escape(f"\nwithout state: {', '.join(without)}"))


def show_rows(rows: Iterable[Mapping[str, Any]], names: Sequence[str]) -> int:
    """Print rows as a table, some at a time; how many they were."""
    out, waiting, shown = console(), iter(rows), 0
    while some := list(islice(waiting, _SCREEN)):
        table = Table(*map(escape, names), box=None, pad_edge=False, show_header=shown == 0)
        for row in some:
            table.add_row(*(escape(_cell(name, row[name])) for name in names))
        out.print(table)
        shown += len(some)
    return shown


def show_json_list(values: Iterable[Any]) -> None:
    """Print a list for machines, a line for each of its values."""
    between = "[\n  "
    for value in values:
        print(f"{between}{json.dumps(as_json(value), ensure_ascii=False)}", end="")  # noqa: T201
        between = ",\n  "
    print("[]" if between.startswith("[") else "\n]")  # noqa: T201


def show_differences(found: Sequence[StateDifference]) -> None:
    """Print how much is different in each state."""
    table = Table("operator", "state", "kind", box=None, pad_edge=False)
    for name in ("added", "removed", "changed", "same"):
        table.add_column(name, justify="right")
    table.add_column("")
    for each in found:
        note = "" if each.before and each.after else f"only in the {_only(each)}"
        numbers = (each.added, each.removed, each.changed, each.same)
        shown = [f"{number:,}" if number else "-" for number in numbers]
        table.add_row(escape(each.operator), escape(each.state), each.kind, *shown, note)
    console().print(table)


def change_line(change: Change) -> str:
    """One difference, as ``diff`` would say it."""
    place = ", ".join(
        f"{name} {_cell(name, part)}"
        for name, part in change.address.items()
        if name != "namespace" or part is not None
    )
    sign, content = {
        Verb.ADDED: ("+", text(change.after)),
        Verb.REMOVED: ("-", text(change.before)),
        Verb.CHANGED: ("~", f"{text(change.before)} -> {text(change.after)}"),
    }[change.verb]
    if "time" in change.address:
        return f"{sign} {place}"
    return f"{sign} {place}: {content}" if place else f"{sign} {content}"


def change_as_json(change: Change) -> dict[str, Any]:
    """One difference for machines."""
    return {
        "change": change.verb.value,
        **as_json(dict(change.address)),
        "before": as_json(change.before),
        "after": as_json(change.after),
    }


def _show_header(out: Console, location: str, facts: SavepointFacts) -> None:
    what = "savepoint" if facts.savepoint else "checkpoint"
    lines = [
        (what, f"{location} (number {facts.checkpoint} of the job)"),
        ("job", f"{facts.job_name} ({facts.job_id})"),
        ("taken", f"{facts.taken.astimezone():%Y-%m-%d %H:%M:%S %Z}"),
        ("written by", f"riverrun {facts.riverrun_version or UNKNOWN}, {_format(facts)}"),
        ("size", decimal(facts.bytes)),
        ("program", "; ".join(facts.vertices)),
    ]
    if facts.in_flight_bytes:
        lines.append(("in flight", f"{decimal(facts.in_flight_bytes)} of records between tasks"))
    for name, value in lines:
        out.print(f"[bold]{name:<11}[/bold]{escape(value)}", soft_wrap=True)


def _format(facts: SavepointFacts) -> str:
    return f"version {facts.format_version} of the format"


def _key_type(state: StateFacts) -> str:
    if not state.kind.is_keyed:
        return ""
    found = state.types.get("key")
    return PICKLED if found is None else _short(repr(found))


def _value_type(state: StateFacts) -> str:
    if state.kind.value == "timers":
        return ""
    value = state.types.get("value")
    shown = PICKLED if value is None else _short(repr(value))
    if state.kind.value in ("map", "broadcast"):
        key = state.types.get("map_key")
        return f"{PICKLED if key is None else _short(repr(key))} -> {shown}"
    return shown


def _short(type_text: str) -> str:
    """``Types.LONG()`` as people say it.

    >>> _short("Types.TUPLE([Types.LONG(), Types.STRING()])")
    'TUPLE([LONG, STRING])'
    """
    return type_text.replace("Types.", "").replace("()", "")


def _cell(name: str, value: Any) -> str:
    if name in _TIMES and type(value) is int:
        return iso(value)
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return text(value)


def _only(difference: StateDifference) -> str:
    return "first" if difference.before else "second"


def only_columns(
    rows: Iterable[Mapping[str, Any]], names: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """The rows with these columns alone."""
    return ({name: row[name] for name in names} for row in rows)
