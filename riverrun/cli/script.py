"""Running a user's script in this process as Python itself would, and showing how it failed."""

from __future__ import annotations

import runpy
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final

import typer

from riverrun.cli.python_path import on_python_path
from riverrun.core.errors import ProgramError, RiverrunError

FAILED: Final = 1
INTERRUPTED: Final = 130
"""What a shell reports for a program that Ctrl-C ended."""


def run_script(script: Path, arguments: Sequence[str]) -> int:
    """Run ``script`` as ``__main__`` and return the exit code.

    An error of riverrun's is shown as its message; any other error with the script's traceback.

    Raises:
        SystemExit: as raised by the script.
    """
    with _as_started_by_python(script, arguments):
        try:
            runpy.run_path(str(script), run_name="__main__")
        except KeyboardInterrupt:
            typer.echo("interrupted", err=True)
            return INTERRUPTED
        except RiverrunError as error:
            _note_as_uncaught(error)
            show_error(error, script)
            return FAILED
        except Exception as error:  # noqa: BLE001  (whatever the script raised)
            _note_as_uncaught(error)
            if isinstance(error, ModuleNotFoundError) and error.name == "pyflink":
                error.add_note("hint: --pyflink lets imports of pyflink find riverrun")
            traceback.print_exception(error.with_traceback(_below_runpy(error.__traceback__)))
            return FAILED
    return 0


def show_error(error: RiverrunError, script: Path | None = None) -> None:
    """Print the message of ``error``, and for an error in the program the line that it is about."""
    typer.echo(f"{typer.style('error:', fg='red', bold=True)} {error}", err=True)
    if script is not None and isinstance(error, ProgramError):
        lines = [
            f"  at {frame.filename}:{frame.lineno} in {frame.name}"
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename == str(script)
        ]
        for line in lines[-1:]:
            typer.echo(line, err=True)


@contextmanager
def _as_started_by_python(script: Path, arguments: Sequence[str]) -> Iterator[None]:
    argv, path = sys.argv, sys.path[:]
    sys.argv = [str(script), *arguments]
    folder = script.resolve() if script.is_dir() else script.resolve().parent
    sys.path.insert(0, str(folder))
    try:
        with on_python_path(folder):  # workers must find the modules beside the script too
            yield
    finally:
        sys.argv, sys.path[:] = argv, path


def _below_runpy(trace: TracebackType | None) -> TracebackType | None:
    """The part of ``trace`` that begins in the script."""
    while trace is not None and trace.tb_frame.f_globals.get("__name__") in (__name__, "runpy"):
        trace = trace.tb_next
    return trace


def _note_as_uncaught(error: BaseException) -> None:
    # What the interpreter leaves behind for an uncaught exception; exit handlers look at it.
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
