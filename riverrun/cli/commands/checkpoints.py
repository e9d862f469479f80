"""``river checkpoints`` and ``river savepoints``: what can be restored."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, TypeAlias

import typer

from riverrun.cli.arguments import ConfigFile, Definitions
from riverrun.cli.exit_codes import FAILED
from riverrun.cli.program_settings import command_settings
from riverrun.cli.session_arguments import AsJson

CheckpointFolder: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="FOLDER", help="A checkpoint, a job's folder, or execution.checkpointing.dir."
    ),
]
SavepointFolder: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="FOLDER",
        help="A savepoint, or a folder such as execution.checkpointing.savepoint-dir.",
    ),
]


def checkpoints(
    folder: CheckpointFolder,
    *,
    as_json: AsJson = False,
    define: Definitions = None,
    config_file: ConfigFile = None,
) -> None:
    """List the complete checkpoints below a folder, oldest first; exit code 1 if there is none."""
    config = command_settings(define, config_file)
    _show(folder, config, savepoints=False, as_json=as_json)


def savepoints(
    folder: SavepointFolder,
    *,
    as_json: AsJson = False,
    define: Definitions = None,
    config_file: ConfigFile = None,
) -> None:
    """List the savepoints below a folder, oldest first; exit code 1 if there is none."""
    config = command_settings(define, config_file)
    _show(folder, config, savepoints=True, as_json=as_json)


def _show(folder: str, config: Mapping[str, str], *, savepoints: bool, as_json: bool) -> None:
    # Only these commands draw such a table, or read many checkpoints.
    from riverrun.cli.checkpoint_table import show_as_json, show_table  # noqa: PLC0415
    from riverrun.cli.starting_point import complete_checkpoints  # noqa: PLC0415

    place = folder if "://" in folder else os.path.abspath(folder)  # noqa: PTH100
    everything = complete_checkpoints(place, config)
    found = [each for each in everything if each.metadata.savepoint == savepoints]
    if as_json:
        show_as_json(found, "savepoints" if savepoints else "checkpoints")
        if not found:
            raise typer.Exit(FAILED)
        return
    if not found:
        wanted, others = (
            ("savepoint", "checkpoints") if savepoints else ("checkpoint", "savepoints")
        )
        hint = f"; there are {others}: river {others} {folder}" if everything else ""
        typer.echo(f"no complete {wanted} below {place!r}{hint}", err=True)
        raise typer.Exit(FAILED)
    show_table(found, place)
