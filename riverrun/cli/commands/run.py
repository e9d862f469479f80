"""``river run``: run a script."""

from __future__ import annotations

from contextlib import nullcontext

import typer

from riverrun.cli.arguments import (
    Definitions,
    Master,
    Parallelism,
    PyFlink,
    Script,
    ScriptArguments,
)
from riverrun.cli.program_settings import handed_to_programs, program_settings
from riverrun.cli.pyflink_names import pyflink_names
from riverrun.cli.script import run_script


def run(
    script: Script,
    arguments: ScriptArguments = None,
    *,
    pyflink: PyFlink = False,
    master: Master = None,
    parallelism: Parallelism = None,
    define: Definitions = None,
) -> None:
    """Run a script; its environment begins with the options given here."""
    settings = program_settings(master, parallelism, define or ())
    names = pyflink_names() if pyflink else nullcontext()
    with names, handed_to_programs(settings):
        raise typer.Exit(run_script(script, arguments or ()))
