"""``river config``: the settings that count, and where each came from."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from riverrun.cli.arguments import ConfigFile, Definitions, matching_keys
from riverrun.core.config_sources.definitions import command_line_settings
from riverrun.core.config_sources.description import Description, described, keys_to_show
from riverrun.core.config_sources.effective import Effective, load_configuration
from riverrun.core.config_sources.file_place import usual_places
from riverrun.core.errors import ConfigError
from riverrun.core.option_registry import KeyKind, kind_of, unknown_key

Keys: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="KEY",
        help="Show all there is to say about this option.",
        autocompletion=matching_keys,
    ),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON, with every detail.")]
All: TypeAlias = Annotated[
    bool, typer.Option("--all", "-a", help="Show also the options that have only their default.")
]


def config(
    keys: Keys = None,
    *,
    as_json: Json = False,
    everything: All = False,
    config_file: ConfigFile = None,
    define: Definitions = None,
) -> None:
    """Show the settings that programs begin with, and where each came from; secrets are masked."""
    for key in keys or ():
        if kind_of(key) is KeyKind.UNKNOWN:
            raise ConfigError(unknown_key(key))
    given = command_line_settings(define or (), {})
    effective = load_configuration(os.environ, file=config_file, given=given)
    chosen = keys or keys_to_show(effective, everything=everything)
    descriptions = [described(effective, key) for key in chosen]
    if as_json:
        typer.echo(json.dumps(_as_json(effective, descriptions), indent=2, ensure_ascii=False))
    elif keys:
        typer.echo("\n\n".join("\n".join(_details(each)) for each in descriptions))
    else:
        _show_table(effective, descriptions, everything=everything)
    for note in effective.notes if not as_json else ():
        typer.echo(f"note: {note}", err=True)


def _as_json(effective: Effective, descriptions: Sequence[Description]) -> dict[str, object]:
    return {
        "file": None if effective.file is None else str(effective.file.absolute()),
        "settings": [asdict(each) for each in descriptions],
        "notes": list(effective.notes),
    }


def _details(shown: Description) -> Iterator[str]:
    yield shown.key
    yield f"  value     {_value(shown)}"
    yield f"  from      {shown.place}"
    for each in shown.overridden:
        yield f"  over      {each.value} from {each.place}"
    yield f"  meaning   {shown.meaning}"
    if shown.variable is not None:
        yield f"  expected  {shown.expected}"
        yield f"  default   {'not set' if shown.default is None else shown.default}"
        yield f"  variable  {shown.variable}"
    if shown.older_names:
        yield f"  older     {', '.join(shown.older_names)}"


def _value(shown: Description) -> str:
    return "not set" if shown.value is None else shown.value


def _show_table(
    effective: Effective, descriptions: Sequence[Description], *, everything: bool
) -> None:
    if not descriptions:
        typer.echo(f"nothing is set: {_file_looked_for(effective.file)}; --all shows the defaults")
        return
    # Only this branch draws a table.
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table("key", "value", "from", box=None, pad_edge=False)
    for each in descriptions:
        style = "dim" if each.place == "default" else ""
        cells = (each.key, _value(each), each.place)
        table.add_row(*(Text(cell, overflow="fold", style=style) for cell in cells))
    console = Console()
    # What goes to a file or another program is not cut to a screen's width.
    Console(width=None if console.is_terminal else 4096).print(table)
    if not everything:
        typer.echo(f"\n{_file_looked_for(effective.file)}; --all shows the defaults too")


def _file_looked_for(file: Path | None) -> str:
    if file is not None:
        return f"configuration file: {file}"
    places = ", ".join(str(place) for place in usual_places(os.environ))
    return f"no configuration file (looked for {places})"
