"""What a program needs beside itself: modules, files, another interpreter."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, NoReturn

from riverrun.api.unusable import refuse_unusable
from riverrun.core.errors import ProgramError


class Dependencies:
    """The environment's methods that name dependencies.

    Workers look for modules where this process does, so what can be imported here can be imported there,
    as long as they see the same folders.
    """

    def add_python_file(self, file_path: str) -> None:
        """Let functions import a module or package: a ``.py`` file, a folder of modules, or a zip."""
        path = Path(file_path).absolute()
        if not path.exists():
            raise ProgramError(
                f"add_python_file: {file_path!r} does not exist; expected a .py file, a folder of "
                f"modules or a zip file that this machine and the workers can read"
            )
        place = str(path.parent if path.suffix == ".py" else path)
        if place not in sys.path:
            sys.path.append(place)

    def set_python_requirements(
        self, requirements_file_path: str, requirements_cache_dir: str | None = None
    ) -> NoReturn:
        """Refuse: workers run in the environment that is installed for them."""
        del requirements_cache_dir
        raise ProgramError(
            f"set_python_requirements: packages of {requirements_file_path!r} are not installed by a "
            f"job; install them where the program and its workers run, or add a zip of pure Python "
            f"packages with add_python_file()"
        )

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> NoReturn:
        """Refuse: archives are not unpacked on workers."""
        del target_dir
        raise ProgramError(
            f"add_python_archive: {archive_path!r} would have to be unpacked on every worker, which "
            f"is not done here; give Spark the archive (spark.archives), or add a zip of modules with "
            f"add_python_file()"
        )

    def set_python_executable(self, python_exec: str) -> None:
        """Accept the interpreter that runs the program, which is the workers' too; refuse others."""
        if os.path.realpath(python_exec) != os.path.realpath(sys.executable):
            raise ProgramError(
                f"set_python_executable: is {python_exec!r}, but the program runs on "
                f"{sys.executable!r} and its workers must run on the same; start the program with the "
                f"interpreter that you want"
            )

    def register_cached_file(self, file_path: str, name: str, executable: bool = False) -> NoReturn:  # noqa: FBT001, FBT002  (PyFlink's signature)
        """Refuse: files are not copied to workers."""
        del executable
        raise ProgramError(
            f"register_cached_file: {file_path!r} would have to be copied to every worker as "
            f"{name!r}, which is not done here; give Spark the file (spark.files) and open it with "
            f"pyspark.SparkFiles.get({Path(file_path).name!r})"
        )

    def create_input(self, input_format: Any, type_info: Any = None) -> NoReturn:
        """Refuse: input formats are Java objects."""
        del type_info
        refuse_unusable("create_input", input_format)
        raise ProgramError(
            f"create_input: got {input_format!r}; input formats are Java objects, which do not exist "
            f"here: use from_source() with a Source"
        )
