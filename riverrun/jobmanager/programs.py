"""Programs that were uploaded: kept as files, and run in processes of their own.

The JobManager does not import them. Their ``main`` runs in a child process that compiles the job and
sends it back, as any other client does.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from riverrun.core.errors import ExternalError, ProgramError
from riverrun.core.ids import JobId
from riverrun.rest.context import ProgramOrder, StoredProgram
from riverrun.rest.problems import UnknownProgram

_ID: Final = re.compile(r"[0-9a-f]{16}_[\w][\w.+-]{0,150}\.(?:py|zip)")
_NAME: Final = re.compile(r"[\w][\w.+ -]{0,150}\.(?:py|zip)")
_SECONDS: Final = 120.0
"""How long a program may take to define its job."""
_SHOWN: Final = 4000
"""Characters of a program's output that are shown when it failed."""


class ProgramRefused(ProgramError):  # noqa: N818
    """The program, or its name, is not what can be run."""


class UploadedPrograms:
    """The programs in a folder.

    Args:
        folder: made if it is not there.
        token: with which programs prove to the JobManager who they are.
        seconds: how long a program may take to define its job.
    """

    def __init__(self, folder: Path, token: str | None = None, seconds: float = _SECONDS) -> None:
        self._folder = folder
        self._token = token
        self.address = ""
        """Where the JobManager is; set once it serves."""
        self._seconds = seconds
        folder.mkdir(parents=True, exist_ok=True)

    def all(self) -> list[StoredProgram]:
        """The latest first."""
        found = [
            StoredProgram(path.name, path.name.partition("_")[2], int(path.stat().st_mtime * 1000))
            for path in self._folder.iterdir()
            if _ID.fullmatch(path.name)
        ]
        return sorted(found, key=lambda each: each.uploaded, reverse=True)

    def add(self, name: str, file: Path) -> str:
        """Keep a program; gives its id.

        Raises:
            ProgramRefused: the name is no file name of a Python program.
        """
        base = name.replace("\\", "/").rpartition("/")[2]
        if not _NAME.fullmatch(base):
            raise ProgramRefused(
                f"upload {name!r}: expected a .py file, or a .zip with a __main__.py"
            )
        program = f"{secrets.token_hex(8)}_{base.replace(' ', '_')}"
        try:
            shutil.copyfile(file, self._folder / program)
        except OSError as e:
            raise ExternalError(
                f"upload {base!r}: cannot be kept in {str(self._folder)!r} ({e.strerror}); free some "
                f"space, or set 'web.upload.dir' to another folder"
            ) from e
        return program

    def delete(self, program: str) -> None:
        """Forget a program; UnknownProgram."""
        self._path(program).unlink()

    def run(self, program: str, wish: ProgramOrder) -> JobId:
        """Let the program send its job to the JobManager; the job's id.

        Raises:
            UnknownProgram: there is none.
            ProgramRefused: the program failed, with what it said.
        """
        job = JobId(wish.job) if wish.job else JobId.random()
        flags = [
            *("-m", self.address, "-d"),
            *_settings({**wish.config, "riverrun.job-id": str(job)}),
            *(("-p", str(wish.parallelism)) if wish.parallelism else ()),
            *(("-s", wish.savepoint) if wish.savepoint else ()),
            *(("--allowNonRestoredState",) if wish.allow_non_restored else ()),
            *(("--claimMode", wish.claim_mode) if wish.claim_mode else ()),
        ]
        self._execute("run", program, wish, flags)
        return job

    def plan(self, program: str, wish: ProgramOrder) -> list[dict[str, Any]]:
        """The vertices of the program's first job, as ``river plan --json`` prints them."""
        flags = ["--json", *_settings(wish.config)]
        if wish.parallelism:
            flags += ["-p", str(wish.parallelism)]
        text = self._execute("plan", program, wish, flags)
        try:
            vertices: list[dict[str, Any]] = msgspec.json.decode(text)["vertices"]
        except (msgspec.MsgspecError, KeyError) as e:
            raise ProgramRefused(f"program {program!r}: defines no job") from e
        return vertices

    def _execute(self, command: str, program: str, wish: ProgramOrder, flags: Sequence[str]) -> str:
        path = self._path(program)
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("RIVERRUN_CONF")
        }
        if self._token is not None:
            # Not on the command line, where anybody on the machine could read it.
            environment["RIVERRUN_PROPERTIES"] = f"riverrun.rest.token: {self._token}"
        if wish.module is not None:
            environment["PYTHONPATH"] = str(path)
            flags = [*flags, "-pym", wish.module]
        named = [] if wish.module is not None else [str(path)]
        arguments = [sys.executable, "-m", "riverrun", command, *flags, *named, *wish.arguments]
        try:
            ended = subprocess.run(  # noqa: S603  (the program is what the caller wants to be run)
                arguments,
                env=environment,
                cwd=self._folder,
                capture_output=True,
                text=True,
                timeout=self._seconds,
                check=False,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired as e:
            raise ProgramRefused(
                f"program {program!r}: had not sent its job after {self._seconds:.0f} s; is there "
                f"something before env.execute() that waits?"
            ) from e
        if ended.returncode != 0:
            said = (ended.stderr or ended.stdout)[-_SHOWN:].strip()
            raise ProgramRefused(f"program {program!r}: ended with {ended.returncode}:\n{said}")
        return ended.stdout

    def _path(self, program: str) -> Path:
        path = self._folder / program
        if not _ID.fullmatch(program) or not path.is_file():
            raise UnknownProgram(f"program {program!r}: was not uploaded, or was deleted")
        return path


def _settings(config: Mapping[str, str]) -> list[str]:
    return [f"-D{key}={value}" for key, value in config.items()]
