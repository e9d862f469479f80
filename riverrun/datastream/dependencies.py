"""What a program needs beside itself: modules, packages, files, another interpreter.

Whatever is named becomes part of the program's settings, and goes to the workers with each of its jobs:
in a session to workers of the job's own, which no other job's code is in.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NoReturn

from riverrun.api.unusable import refuse_unusable
from riverrun.core import python_options as options
from riverrun.core.config_options import ConfigOption
from riverrun.core.configuration import Configuration
from riverrun.core.errors import ProgramError


class Dependencies:
    """The environment's methods that name dependencies."""

    _config: Configuration

    def add_python_file(self, file_path: str) -> None:
        """Let functions import a module or package: a ``.py`` file, a folder of modules, or a zip.

        The program itself can import it from now on too.
        """
        path = _existing(
            "add_python_file", file_path, "a .py file, a folder of modules or a zip file"
        )
        place = str(path.parent if path.suffix == ".py" else path)
        if place not in sys.path:
            sys.path.append(place)
        self._append(options.PYTHON_FILES, str(path), ",")

    def set_python_requirements(
        self, requirements_file_path: str, requirements_cache_dir: str | None = None
    ) -> None:
        """Send the packages of a requirements file with each job, which must be pure Python.

        They are installed into a folder of their own when a job is submitted.

        Args:
            requirements_file_path: as pip reads it.
            requirements_cache_dir: a folder of packages, as ``pip download`` makes it; nothing is
                fetched from anywhere else then.
        """
        who = "set_python_requirements"
        named = str(_existing(who, requirements_file_path, "a requirements file"))
        if requirements_cache_dir is not None:
            named += f"#{_existing(who, requirements_cache_dir, 'a folder of packages')}"
        options.PYTHON_REQUIREMENTS.set(self._config, named)

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Unpack a zip or a tar file for the workers.

        Functions find it in their working directory, under ``target_dir`` or the name of the file.
        """
        path = _existing("add_python_archive", archive_path, "a zip or a tar file")
        named = str(path) if target_dir is None else f"{path}#{target_dir}"
        self._append(options.PYTHON_ARCHIVES, named, ",")

    def set_python_executable(self, python_exec: str) -> None:
        """Let another interpreter run the functions; it must have the program's version, and riverrun.

        Args:
            python_exec: a path on the workers' machines, or inside an archive, such as
                ``venv.zip/bin/python``.
        """
        options.PYTHON_EXECUTABLE.set(self._config, python_exec)

    def register_cached_file(self, file_path: str, name: str, executable: bool = False) -> None:  # noqa: FBT001, FBT002  (PyFlink's signature)
        """Let functions find a copy of a file as ``name`` in their working directory."""
        path = _existing("register_cached_file", file_path, "a file")
        if any(mark in f"{path}{name}" for mark in ",;"):
            raise ProgramError(
                f"register_cached_file: got {file_path!r} as {name!r}; expected names without commas "
                f"and semicolons"
            )
        entry = f"name:{name},path:{path}" + (",executable:true" if executable else "")
        self._append(options.CACHED_FILES, entry, ";")

    def _append(self, option: ConfigOption[str | None], value: str, separator: str) -> None:
        before = option.get(self._config)
        parts = [] if not before else before.split(separator)
        if value not in parts:
            option.set(self._config, separator.join([*parts, value]))

    def refuse_input(self, input_format: Any) -> NoReturn:
        """Refuse: input formats are Java objects."""
        refuse_unusable("create_input", input_format)
        raise ProgramError(
            f"create_input: got {input_format!r}; input formats are Java objects, which do not exist "
            f"here: use from_source() with a Source"
        )


def _existing(who: str, file_path: str, expected: str) -> Path:
    path = Path(file_path).absolute()
    if not path.exists():
        raise ProgramError(f"{who}: {file_path!r} does not exist; expected {expected}")
    return path
