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
from riverrun.cli.starting_point import taken_at


def show_table(found: Sequence[CompletedCheckpoint], place: str) -> None:
    """Print one line for each of ``found``, all of which are below ``place``."""
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
            folder_of(checkpoint.location).removeprefix(place).lstrip("/"),
        )
    Console().print(table)
