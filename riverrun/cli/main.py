"""The ``river`` command."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from riverrun.cli.commands.cancel import cancel, stop
from riverrun.cli.commands.checkpoints import checkpoints, savepoints
from riverrun.cli.commands.cluster import cluster
from riverrun.cli.commands.config import config
from riverrun.cli.commands.demo import demo
from riverrun.cli.commands.doctor import doctor
from riverrun.cli.commands.list_jobs import list_jobs
from riverrun.cli.commands.logs import logs
from riverrun.cli.commands.plan import plan
from riverrun.cli.commands.rescale import rescale
from riverrun.cli.commands.run import run
from riverrun.cli.commands.savepoint import checkpoint, savepoint
from riverrun.cli.commands.spark_conf import spark_conf
from riverrun.cli.commands.state import state
from riverrun.cli.commands.version import version
from riverrun.cli.exit_codes import INTERRUPTED, exit_code_of
from riverrun.cli.script import show_error
from riverrun.core.errors import RiverrunError

app = typer.Typer(
    name="river",
    help="Stateful stream processing in Python, executed by Apache Spark.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

# What stands after the script belongs to the script, also if it looks like an option.
_SCRIPT_LAST = {"allow_interspersed_args": False}

app.command(context_settings=_SCRIPT_LAST)(run)
app.command(context_settings=_SCRIPT_LAST)(plan)
app.command("info", context_settings=_SCRIPT_LAST, hidden=True)(plan)  # Flink's name for it
app.command("list")(list_jobs)
app.command()(cancel)
app.command()(stop)
app.command()(savepoint)
app.command()(checkpoint)
app.command()(rescale)
app.command()(logs)
app.add_typer(cluster)
app.command()(savepoints)
app.command()(checkpoints)
app.add_typer(state)
app.command()(config)
app.command()(demo)
app.command("spark-conf")(spark_conf)
app.command()(doctor)
app.command()(version)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; errors of riverrun's are shown as messages.

    Args:
        arguments: the command line, without the command itself; that of this process if not given.
    """
    try:
        app(arguments)
    except RiverrunError as error:
        show_error(error)
        sys.exit(exit_code_of(error))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
