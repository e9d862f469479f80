"""Running a user's script in this process as Python itself would, and showing how it failed."""

from __future__ import annotations

import runpy
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

import typer

from riverrun.cli.exit_codes import FAILED, INTERRUPTED, NO_JOB_MANAGER, exit_code_of
from riverrun.cli.python_path import on_python_path
from riverrun.core.errors import ProgramError, RiverrunError


def run_script(script: Path, arguments: Sequence[str]) -> int:
    """Run ``script`` as ``__main__`` and return the exit code.

    An error of riverrun's is shown as its message; any other error with the script's traceback.

    Raises:
        SystemExit: as raised by the script.
    """
    folder = script.resolve() if script.is_dir() else script.resolve().parent
    # Absolute, as Python has it: a worker in another folder shows its lines in tracebacks too.
    place = script.absolute()
    with _as_started_by_python(str(script), folder, arguments):
        return _exit_code(lambda: runpy.run_path(str(place), run_name="__main__"), place)


def run_module(module: str, arguments: Sequence[str]) -> int:
    """Run ``module`` as ``python -m`` does and return the exit code; errors as for ``run_script``."""
    with _as_started_by_python(module, Path.cwd(), arguments):
        return _exit_code(
            lambda: runpy.run_module(module, run_name="__main__", alter_sys=True), None
        )


def _exit_code(run: Callable[[], object], script: Path | None) -> int:
    try:
        run()
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        return INTERRUPTED
    except RiverrunError as error:
        _note_as_uncaught(error)
        show_error(error, script)
        # What is wrong in a script's settings is the script's failure, not a wrong use of the command.
        return NO_JOB_MANAGER if exit_code_of(error) == NO_JOB_MANAGER else FAILED
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
def _as_started_by_python(name: str, folder: Path, arguments: Sequence[str]) -> Iterator[None]:
    argv, path = sys.argv, sys.path[:]
    sys.argv = [name, *arguments]
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
