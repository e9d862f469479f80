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

from pyspark import SparkContext

from riverrun.graph.program_code import CodeFile, ProgramCode

CODE_VARIABLE: Final = "RIVERRUN_CODE"
_planning: Final = threading.Lock()
_sent: Final[dict[str, set[str]]] = {}


def search_path_of(code: ProgramCode | None) -> tuple[str, ...]:
    """The folders that workers look for modules in: those of the job, or those of this process."""
    folders = sys.path if code is None else code.search_path
    return tuple(os.path.abspath(path) for path in folders if path)  # noqa: PTH100


def send_files(context: SparkContext, code: ProgramCode | None) -> tuple[str, ...]:
    """Let executors fetch the job's files; the names under which workers find them."""
    if code is None:
        return ()
    with _planning:
        sent = _sent.setdefault(context.applicationId or "", set())
        for file in code.files:
            if file.sha256 not in sent:
                context.addFile(str(_under_own_name(file)))
                sent.add(file.sha256)
    return tuple(shipped_name(file) for file in code.files)


def shipped_name(file: CodeFile) -> str:
    """The name of a file among those of all jobs.

    >>> shipped_name(CodeFile("my code.zip", "ab" * 32, "/tmp/x"))
    'abababababababababababab.zip'
    """
    return f"{file.sha256[:24]}{Path(file.name).suffix}"


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
        settings.pythonExec = code.python or python
        try:
            yield
        finally:
            settings.environment.clear()
            settings.environment.update(environment)
            settings.pythonExec = python


def _under_own_name(file: CodeFile) -> Path:
    """The file under the name that it is sent with: Spark sends files under the names that they have."""
    link = Path(file.location).parent / shipped_name(file)
    if not link.exists():
        try:
            link.hardlink_to(file.location)
        except OSError:  # another file system
            shutil.copyfile(file.location, link)
    return link
