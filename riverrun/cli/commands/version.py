"""``river version``: which riverrun this is."""

from __future__ import annotations

import json

import typer

from riverrun import __version__
from riverrun.cli.session_arguments import AsJson


def version(*, as_json: AsJson = False) -> None:
    """Print the version."""
    typer.echo(json.dumps({"version": __version__}) if as_json else f"riverrun {__version__}")
