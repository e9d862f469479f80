"""The table in which ``river checkpoints`` and ``river savepoints`` show what they found."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.filesize import decimal
from rich.markup import escape
from rich.table import Table

from riverrun.checkpoint.completed import CompletedCheckpoint
from riverrun.checkpoint.layout import folder_of
from riverrun.checkpoint.references import files_of
from riverrun.cli.shown import show_json
from riverrun.cli.starting_point import taken_at


def show_table(found: Sequence[CompletedCheckpoint], place: str) -> None:
    """Print one line for each of ``found``, all of which are below ``place``."""
    table = Table("id", "taken", "size", "job", "operators", box=None, pad_edge=False)
    table.add_column("below the folder", overflow="fold")
    for checkpoint in found:
        metadata = checkpoint.metadata
        operators = [each.name for vertex in metadata.vertices for each in vertex.operators]
        table.add_row(
            str(checkpoint.id),
            taken_at(checkpoint),
            decimal(_size(checkpoint)),
            escape(metadata.job_name),
            escape(", ".join(operators)),
            folder_of(checkpoint.location).removeprefix(place).lstrip("/"),
        )
    Console().print(table)


def show_as_json(found: Sequence[CompletedCheckpoint], kind: str) -> None:
    """Print the same for machines, as a list under ``kind``."""
    rows = [
        {
            "id": each.id,
            "timestamp": each.metadata.timestamp_ms,
            "size": _size(each),
            "job_id": each.metadata.job,
            "name": each.metadata.job_name,
            "path": folder_of(each.location),
        }
        for each in found
    ]
    show_json({kind: rows})


def _size(checkpoint: CompletedCheckpoint) -> int:
    files = {file.path: file.size for file in files_of(checkpoint.metadata)}
    return checkpoint.size + sum(files.values())
