"""``river savepoint``: what is done with one savepoint."""

from __future__ import annotations

import os
from typing import Annotated, TypeAlias

import typer

from riverrun.cli.arguments import ConfigFile, Definitions
from riverrun.cli.program_settings import command_settings

Disposed: TypeAlias = Annotated[
    str,
    typer.Option(
        "--dispose",
        "-d",
        metavar="PATH",
        help="Delete this savepoint: all its own files, and no others.",
    ),
]


def savepoint(
    dispose: Disposed, define: Definitions = None, config_file: ConfigFile = None
) -> None:
    """Delete a savepoint that nobody will start from any more."""
    # Few commands touch a store.
    from riverrun.checkpoint.savepoint_store import dispose_savepoint  # noqa: PLC0415
    from riverrun.storage.open import open_storage  # noqa: PLC0415

    place = dispose if "://" in dispose else os.path.abspath(dispose)  # noqa: PTH100
    storage = open_storage(place, command_settings(define, config_file))
    disposed = dispose_savepoint(storage, place)
    metadata = disposed.metadata
    typer.echo(f"deleted savepoint {metadata.checkpoint} of job {metadata.job_name!r} in {place}")
