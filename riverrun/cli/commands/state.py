"""``river state``: what savepoints and checkpoints hold."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

from riverrun.cli.arguments import ConfigFile, Definitions
from riverrun.cli.program_settings import command_settings
from riverrun.cli.script import show_error
from riverrun.core.errors import ConfigError, RiverrunError

if TYPE_CHECKING:
    from riverrun.state_processor.comparison import Change
    from riverrun.state_processor.savepoint import Savepoint
    from riverrun.state_processor.table import StateTable

DIFFERENT: Final = 1
UNUSABLE: Final = 2
"""Exit codes, as those of ``diff``."""
_LIMIT: Final = 20

state = typer.Typer(
    name="state",
    help="Look into savepoints and checkpoints: list, show, export and compare their states.",
    no_args_is_help=True,
)

Place: TypeAlias = Annotated[
    str, typer.Argument(metavar="PATH", help="A savepoint or checkpoint: its folder or _metadata.")
]
OtherPlace: TypeAlias = Annotated[
    str, typer.Argument(metavar="PATH2", help="The later one to compare it with.")
]
OperatorName: TypeAlias = Annotated[
    str, typer.Argument(metavar="OPERATOR", help="Uid, name or id of an operator.")
]
MaybeOperator: TypeAlias = Annotated[
    str | None, typer.Argument(metavar="OPERATOR", help="Uid, name or id of an operator.")
]
StateName: TypeAlias = Annotated[str, typer.Argument(metavar="STATE", help="Name of a state.")]
MaybeState: TypeAlias = Annotated[
    str | None, typer.Argument(metavar="STATE", help="Name of a state.")
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Count: TypeAlias = Annotated[
    bool, typer.Option("--count", help="Read states to count their rows where no file says it.")
]
Key: TypeAlias = Annotated[
    str | None, typer.Option("--key", "-k", metavar="KEY", help="Only the rows of this key.")
]
Limit: TypeAlias = Annotated[
    int, typer.Option("--limit", "-n", min=0, help="At most so many rows; 0: all of them.")
]
Columns: TypeAlias = Annotated[
    str | None, typer.Option("--columns", "-c", metavar="A,B", help="Only these columns.")
]
OutFile: TypeAlias = Annotated[
    Path,
    typer.Argument(metavar="OUT", help="A file that ends in .parquet, .arrow, .csv or .jsonl."),
]
Force: TypeAlias = Annotated[bool, typer.Option("--force", "-f", help="Replace the file.")]


@state.command("ls")
def list_states(
    path: Place,
    *,
    count: Count = False,
    define: Definitions = None,
    config_file: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """List the states of a savepoint or checkpoint."""
    from riverrun.cli.state_tables import facts_as_json, show_json, show_states  # noqa: PLC0415

    with _errors_shown():
        savepoint = _read(path, define, config_file)
        operators = savepoint.operators
        if count:
            operators = tuple(
                replace(
                    operator,
                    states=tuple(
                        replace(each, rows=savepoint.state(operator.operator_id, each.name).count())
                        if each.rows is None
                        else each
                        for each in operator.states
                    ),
                )
                for operator in operators
            )
        if as_json:
            show_json(facts_as_json(savepoint, operators))
        else:
            show_states(savepoint, operators)


@state.command("show")
def show(  # noqa: PLR0913  (a command's options)
    path: Place,
    operator: OperatorName,
    name: StateName,
    *,
    key: Key = None,
    limit: Limit = _LIMIT,
    columns: Columns = None,
    define: Definitions = None,
    config_file: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Show the entries of a state."""
    from riverrun.cli.state_keys import rows_of_key  # noqa: PLC0415
    from riverrun.cli.state_tables import only_columns, show_json_list, show_rows  # noqa: PLC0415

    with _errors_shown():
        table = _read(path, define, config_file).state(operator, name)
        if key is not None:
            table = rows_of_key(table, key)
        names = _wanted(table, columns)
        rows = only_columns(table.rows(), names)
        if as_json:
            show_json_list(islice(rows, limit or None))
            return
        shown = show_rows(islice(rows, limit or None), names)
        if shown == 0:
            typer.echo("no entries", err=True)
        elif next(rows, None) is not None:
            typer.echo(f"\nthe first {shown} rows; --limit 0 shows all", err=True)


@state.command("export")
def export_state(  # noqa: PLR0913  (a command's options)
    path: Place,
    operator: OperatorName,
    name: StateName,
    out: OutFile,
    *,
    force: Force = False,
    define: Definitions = None,
    config_file: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Write a state to a file: .parquet, .arrow, .csv or .jsonl."""
    from riverrun.cli.state_progress import progress_of  # noqa: PLC0415
    from riverrun.cli.state_tables import show_json  # noqa: PLC0415
    from riverrun.state_processor.exporting import export  # noqa: PLC0415

    with _errors_shown():
        table = _read(path, define, config_file).state(operator, name)
        with progress_of(f"writing {out.name}") as progress:
            rows = export(table, out, replace=force, progress=progress)
        if as_json:
            show_json({"file": str(out), "rows": rows})
        else:
            typer.echo(f"{rows:,} rows written to {out}")


@state.command("diff")
def diff(  # noqa: PLR0913  (a command's options)
    path: Place,
    other: OtherPlace,
    operator: MaybeOperator = None,
    name: MaybeState = None,
    *,
    limit: Limit = _LIMIT,
    define: Definitions = None,
    config_file: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Compare two savepoints or checkpoints; exit code 1 if they differ, 2 if there was an error.

    With a state, its entries are compared: + is only in PATH2, - only in PATH, ~ is changed.
    """
    from riverrun.cli.state_tables import (  # noqa: PLC0415
        change_as_json,
        change_line,
        show_differences,
        show_json,
    )
    from riverrun.state_processor.difference import differences  # noqa: PLC0415

    kept: list[Change] = []
    told = 0

    def tell(change: Change) -> None:
        nonlocal told
        told += 1
        if name is None or 0 < limit < told:
            return
        if as_json:
            kept.append(change)
        else:
            typer.echo(change_line(change))

    with _errors_shown():
        first, second = (_read(each, define, config_file) for each in (path, other))
        found = list(differences(first, second, operator, name, tell))
        different = any(each.is_different for each in found)
        if as_json:
            entries = {"changes": list(map(change_as_json, kept))} if name is not None else {}
            show_json({"different": different, "states": found, **entries})
        else:
            if name is not None and 0 < limit < told:
                typer.echo(f"... and {told - limit:,} more; --limit 0 shows all")
            show_differences(found)
    if different:
        raise typer.Exit(DIFFERENT)


def _read(path: str, define: list[str] | None, config_file: Path | None) -> Savepoint:
    from riverrun.state_processor.savepoint import Savepoint  # noqa: PLC0415

    return Savepoint.read(path, command_settings(define, config_file))


def _wanted(table: StateTable, columns: str | None) -> list[str]:
    known = table.column_names
    if columns is None:
        return [name for name in known if name != "key_group"]
    names = [name.strip() for name in columns.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise ConfigError(
                f"--columns {columns!r}: state {table.name!r} has no column {name!r}; it has "
                f"{', '.join(known)}"
            )
    return names


@contextmanager
def _errors_shown() -> Iterator[None]:
    """Let classes of the program in the working folder be found; errors are one line, exit code 2."""
    folder = os.getcwd()  # noqa: PTH109
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        yield
    except RiverrunError as error:
        show_error(error)
        raise typer.Exit(UNUSABLE) from None
