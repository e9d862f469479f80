"""``river version``: which riverrun this is."""

from __future__ import annotations

import typer

from riverrun import __version__


def version() -> None:
    """Print the version."""
    typer.echo(f"riverrun {__version__}")
