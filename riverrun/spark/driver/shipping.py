"""How the code of a job gets to its workers, and to no others.

Spark keeps Python workers of a kind together: those with the same interpreter and the same environment
variables. A variable that names the job's code gives the job workers of its own, which no module of
another job was ever imported in.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from pyspark import SparkContext, SparkFiles

from riverrun.graph.program_code import CodeFile, ProgramCode
from riverrun.spark.driver.archives import as_tar
from riverrun.spark.worker.brought import Brought

CODE_VARIABLE: Final = "RIVERRUN_CODE"
_NAMED: Final = 24
_planning: Final = threading.Lock()
_sent: Final[dict[str, set[str]]] = {}


def search_path_of(code: ProgramCode | None) -> tuple[str, ...]:
    """The folders that workers look for modules in: those of the job, or those of this process."""
    folders = sys.path if code is None else code.search_path
    return tuple(os.path.abspath(path) for path in folders if path)  # noqa: PTH100


def send_files(context: SparkContext, code: ProgramCode | None) -> Brought:
    """Let executors fetch what the job needs; how its workers find it."""
    if code is None:
        return Brought()
    with _planning:
        sent = _sent.setdefault(context.applicationId or "", set())
        for file in (*code.files, *code.data):
            name = shipped_name(file)
            if name not in sent:
                context.addFile(str(_under_own_name(file)))
                sent.add(name)
        for archive in code.archives:
            name = unpacked_name(archive)
            if name not in sent:
                packed = Path(archive.location).parent / f"{name}.tar.gz"
                as_tar(Path(archive.location), packed)
                context.addArchive(f"{packed}#{name}")
                sent.add(name)
    linked = [(each.name, shipped_name(each)) for each in code.data]
    linked += [(each.name, unpacked_name(each)) for each in code.archives]
    return Brought(
        code=code.digest(),
        modules=tuple(shipped_name(file) for file in code.files),
        linked=tuple(linked),
        programs=code.programs,
    )


def shipped_name(file: CodeFile) -> str:
    """The name of a file among those of all jobs.

    >>> shipped_name(CodeFile("my code.zip", "ab" * 32, "/tmp/x"))
    'abababababababababababab.zip'
    """
    return f"{file.sha256[:_NAMED]}{Path(file.name).suffix}"


def unpacked_name(archive: CodeFile) -> str:
    """The name of the folder that an archive is unpacked to, among those of all jobs."""
    return f"{archive.sha256[:_NAMED]}-unpacked"


def python_of(code: ProgramCode, root: str) -> str | None:
    """The interpreter of the job's workers, if it says; archives are unpacked in the folder ``root``.

    >>> venv = CodeFile("venv.zip", "ab" * 32, "/tmp/x")
    >>> python_of(ProgramCode(archives=(venv,), python="venv.zip/bin/python"), ".")
    './abababababababababababab-unpacked/bin/python'
    """
    if code.python is None:
        return None
    first, _, rest = code.python.removeprefix("./").partition("/")
    for archive in code.archives:
        if archive.name == first:
            return f"{root}/{unpacked_name(archive)}/{rest}"
    return code.python


@contextmanager
def workers_of(context: SparkContext, code: ProgramCode | None) -> Iterator[None]:
    """Python functions that are planned inside run in workers of the job's own."""
    if code is None:
        yield
        return
    settings: Any = context
    with _planning:
        environment, python = dict(settings.environment), settings.pythonExec
        settings.environment[CODE_VARIABLE] = code.digest()
        settings.pythonExec = python_of(code, _root(context)) or python
        try:
            yield
        finally:
            settings.environment.clear()
            settings.environment.update(environment)
            settings.pythonExec = python


def _root(context: SparkContext) -> str:
    """Where executors keep the files that they fetched."""
    master = context.master
    if master.startswith("local") and not master.startswith("local-cluster"):
        return str(SparkFiles.getRootDirectory())
    return "."  # the working directory of each executor, which starts its workers in it


def _under_own_name(file: CodeFile) -> Path:
    """The file under the name that it is sent with: Spark sends files under the names that they have."""
    link = Path(file.location).parent / shipped_name(file)
    if not link.exists():
        try:
            link.hardlink_to(file.location)
        except OSError:  # another file system
            shutil.copyfile(file.location, link)
    return link
