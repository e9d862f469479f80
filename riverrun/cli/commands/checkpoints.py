"""``river checkpoints``: what can be restored."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from riverrun.cli.arguments import Definitions
from riverrun.cli.program_settings import program_settings
from riverrun.cli.script import FAILED

Folder = Annotated[
    str,
    typer.Argument(
        metavar="FOLDER", help="A checkpoint, a job's folder, or execution.checkpointing.dir."
    ),
]


def checkpoints(folder: Folder, define: Definitions = None) -> None:
    """List the complete checkpoints below a folder, oldest first; exit code 1 if there is none."""
    # Only this command draws such a table, or reads many checkpoints.
    from rich.console import Console  # noqa: PLC0415
    from rich.filesize import decimal  # noqa: PLC0415
    from rich.markup import escape  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    from riverrun.checkpoint.references import files_of  # noqa: PLC0415
    from riverrun.cli.starting_point import complete_checkpoints, taken_at  # noqa: PLC0415

    place = folder if "://" in folder else os.path.abspath(folder)  # noqa: PTH100
    found = complete_checkpoints(place, program_settings(None, None, define or ()))
    if not found:
        typer.echo(f"no complete checkpoint below {place!r}", err=True)
        raise typer.Exit(FAILED)
    table = Table("id", "taken", "size", "job", "operators", box=None, pad_edge=False)
    table.add_column("below the folder", overflow="fold")
    for checkpoint in found:
        metadata = checkpoint.metadata
        files = {file.path: file.size for file in files_of(metadata)}
        operators = [each.name for vertex in metadata.vertices for each in vertex.operators]
        table.add_row(
            str(checkpoint.id),
            taken_at(checkpoint),
            decimal(checkpoint.size + sum(files.values())),
            escape(metadata.job_name),
            escape(", ".join(operators)),
            checkpoint.location.rpartition("/")[0].removeprefix(place).lstrip("/"),
        )
    Console().print(table)
