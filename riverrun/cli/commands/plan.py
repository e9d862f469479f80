"""``river plan``: show what a script would run."""

from __future__ import annotations

import sys
from contextlib import nullcontext, redirect_stdout
from typing import Annotated

import typer

from riverrun.cli.arguments import (
    ConfigFile,
    Definitions,
    Master,
    Parallelism,
    PyFlink,
    Script,
    ScriptArguments,
)
from riverrun.cli.program_settings import command_line, effective_settings, handed_to_programs
from riverrun.cli.pyflink_names import pyflink_names
from riverrun.cli.script import run_script

Json = Annotated[
    bool, typer.Option("--json", help="Print the plan as JSON, as Flink's plan viewer reads it.")
]


def plan(  # noqa: PLR0913  (one parameter for each option)
    script: Script,
    arguments: ScriptArguments = None,
    *,
    as_json: Json = False,
    pyflink: PyFlink = False,
    master: Master = None,
    parallelism: Parallelism = None,
    define: Definitions = None,
    config_file: ConfigFile = None,
) -> None:
    """Run a script, but print its jobs instead of running them; what it prints goes to stderr."""
    # These load the whole program side, which no other command needs before its script does.
    from riverrun.cli.plan_only import shown_instead_of_run  # noqa: PLC0415
    from riverrun.datastream.compilation import CompiledProgram  # noqa: PLC0415
    from riverrun.graph.layers import plan_layers  # noqa: PLC0415
    from riverrun.graph.plan_json import execution_plan_json, job_graph_text  # noqa: PLC0415

    out = sys.stdout

    def show(name: str, compiled: CompiledProgram) -> None:
        graph = compiled.job_graph
        text = (
            execution_plan_json(compiled.stream_graph, graph)
            if as_json
            else f"job {name!r}\n{job_graph_text(graph)}\n{plan_layers(graph).describe()}"
        )
        typer.echo(text, file=out)

    given = command_line(master, parallelism, define or ())
    effective_settings(given, config_file)  # refuses what is wrong before the script runs
    names = pyflink_names() if pyflink else nullcontext()
    with (
        names,
        handed_to_programs(given, config_file),
        shown_instead_of_run(show),
        redirect_stdout(sys.stderr),
    ):
        raise typer.Exit(run_script(script, arguments or ()))
