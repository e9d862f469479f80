"""The ``river`` command."""

from __future__ import annotations

import sys

import typer

from riverrun.cli.commands.checkpoints import checkpoints, savepoints
from riverrun.cli.commands.config import config
from riverrun.cli.commands.demo import demo
from riverrun.cli.commands.doctor import doctor
from riverrun.cli.commands.plan import plan
from riverrun.cli.commands.run import run
from riverrun.cli.commands.savepoint import savepoint
from riverrun.cli.commands.spark_conf import spark_conf
from riverrun.cli.commands.state import state
from riverrun.cli.commands.version import version
from riverrun.cli.script import FAILED, INTERRUPTED, show_error
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
app.command()(checkpoints)
app.command()(savepoints)
app.command()(savepoint)
app.add_typer(state)
app.command()(config)
app.command()(demo)
app.command("spark-conf")(spark_conf)
app.command()(doctor)
app.command()(version)


def main() -> None:
    """Run the command that the command line names; errors of riverrun's are shown as messages."""
    try:
        app()
    except RiverrunError as error:
        show_error(error)
        sys.exit(FAILED)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
