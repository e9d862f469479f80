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
from riverrun.core import python_options


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


@dataclass(frozen=True, slots=True)
class Needs:
    """What the program needs beside itself, as Flink's options have it; paths are made absolute."""

    files: str | None = None
    archives: str | None = None
    executable: str | None = None
    requirements: str | None = None

    def settings(self) -> dict[str, tuple[str, str | None]]:
        """By key of an option: its name on the command line, and the value.

        Raises:
            typer.BadParameter: a file is not there.
        """
        return {
            python_options.PYTHON_FILES.key: ("-pyfs", _absolute("-pyfs", self.files)),
            python_options.PYTHON_ARCHIVES.key: ("-pyarch", _absolute("-pyarch", self.archives)),
            python_options.PYTHON_EXECUTABLE.key: ("-pyexec", self.executable),
            python_options.PYTHON_REQUIREMENTS.key: (
                "-pyreq",
                _absolute("-pyreq", self.requirements),
            ),
        }


@contextmanager
def importable(files: str | None) -> Iterator[None]:
    """In this block, the program itself can import what is in ``files``, too."""
    before = sys.path[:]
    with ExitStack() as stack:
        for file in reversed(files.split(",") if files else ()):
            path = Path(file).absolute()
            place = path.parent if path.suffix == ".py" else path
            sys.path.insert(0, str(place))
            stack.enter_context(on_python_path(place))
        try:
            yield
        finally:
            sys.path[:] = before


def _absolute(option: str, paths: str | None) -> str | None:
    """The paths, each with what stands behind its ``#``."""
    if paths is None:
        return None
    found = []
    for each in paths.split(","):
        parts = each.split("#", 1)
        path = Path(parts[0]).absolute()
        if not path.exists():
            raise typer.BadParameter(f"{option}: {parts[0]!r} does not exist")
        found.append("#".join([str(path), *parts[1:]]))
    return ",".join(found)


def _existing(name: str) -> Path:
    path = Path(name)
    if not path.exists():
        raise typer.BadParameter(f"script {name!r} does not exist")
    return path
