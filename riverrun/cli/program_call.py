"""What ``river run`` runs: a script or a module, with its arguments and the files that it needs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import typer

from riverrun.cli.python_path import on_python_path
from riverrun.cli.script import run_module, run_script


@dataclass(frozen=True, slots=True)
class ProgramCall:
    """One of both, and its arguments."""

    script: Path | None
    module: str | None
    arguments: Sequence[str]

    @staticmethod
    def of(words: Sequence[str], python_file: str | None, module: str | None) -> ProgramCall:
        """From the command line: the script is the first word unless an option names the program.

        Raises:
            typer.BadParameter: no program, two of them, or a script that is not there.
        """
        if python_file is not None and module is not None:
            raise typer.BadParameter("-py and -pym: expected one of them")
        if module is not None:
            return ProgramCall(None, module, words)
        if python_file is not None:
            return ProgramCall(_existing(python_file), None, words)
        if not words:
            raise typer.BadParameter("expected a script, -py FILE or -pym MODULE")
        return ProgramCall(_existing(words[0]), None, words[1:])

    def run(self) -> int:
        """Run it in this process as ``__main__``; gives the exit code."""
        if self.module is not None:
            return run_module(self.module, self.arguments)
        return run_script(self.script or Path(), self.arguments)


@contextmanager
def found_files(files: Sequence[str]) -> Iterator[None]:
    """In this block, modules in ``files`` can be imported, here and in workers of this machine.

    Raises:
        typer.BadParameter: one is not there.
    """
    before = sys.path[:]
    with ExitStack() as stack:
        for file in reversed(files):
            path = Path(file).absolute()
            if not path.exists():
                raise typer.BadParameter(
                    f"-pyfs: {file!r} does not exist; expected .py files, folders of modules or zips, with "
                    f"commas between them"
                )
            place = path.parent if path.suffix == ".py" else path
            sys.path.insert(0, str(place))
            stack.enter_context(on_python_path(place))
        try:
            yield
        finally:
            sys.path[:] = before


def _existing(name: str) -> Path:
    path = Path(name)
    if not path.exists():
        raise typer.BadParameter(f"script {name!r} does not exist")
    return path
