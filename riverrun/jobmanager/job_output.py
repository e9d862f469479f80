"""What a job prints when no client is there to show it: a file of its own beside the logs."""

from __future__ import annotations

import io
import logging
import pickle
import threading
from collections.abc import Collection
from pathlib import Path
from typing import Any, NoReturn

from riverrun.core.errors import ExternalError
from riverrun.core.ids import JobId

log = logging.getLogger(__name__)


class NotPlain(ExternalError):  # noqa: N818
    """Values that would run code when they are opened."""


class JobOutput:
    """The printed lines of one job that no client took. Safe for any thread.

    Args:
        job: the job.
        folder: made with the first line.
        printing: ids of the operators whose values are lines; the values of others are dropped.
    """

    def __init__(self, job: JobId, folder: Path, printing: Collection[str]) -> None:
        self._job = job
        self.path = output_file(folder, job)
        """Where the lines are."""
        self._printing = frozenset(printing)
        self._lock = threading.Lock()
        self._warned: set[str] = set()

    def write(self, operator: str, subtask: int, payload: bytes) -> None:
        """Keep a run of values that the client did not take."""
        if operator not in self._printing:
            self._warn(operator, "values for the client are dropped, it is gone")
            return
        try:
            lines = plain_value(payload)
            text = "".join(f"{line}\n" for line in lines)
            with self._lock:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with self.path.open("a", encoding="utf-8", errors="backslashreplace") as file:
                    file.write(text)
        except (OSError, NotPlain) as e:
            # The job must not fail because nobody reads what it prints.
            self._warn(operator, f"printed lines of subtask {subtask} are lost ({e})")

    def _warn(self, operator: str, words: str) -> None:
        with self._lock:
            if operator in self._warned:
                return
            self._warned.add(operator)
        log.warning("%s job=%s operator=%s", words, self._job, operator)


def output_file(folder: Path, job: JobId) -> Path:
    """Where the lines of ``job`` are.

    >>> output_file(Path("/logs"), JobId("ab" * 16)).name
    'job-abababababababababababababababab.out'
    """
    return folder / f"job-{job}.out"


def plain_value(payload: bytes) -> Any:
    """The pickled value, if it consists of numbers, texts, lists and the like.

    >>> plain_value(pickle.dumps(["a", 1]))
    ['a', 1]

    Raises:
        NotPlain: it has anything else in it; nothing of that was imported or called.
    """
    try:
        return _PlainUnpickler(io.BytesIO(payload)).load()
    except NotPlain:
        raise
    except Exception as e:
        raise NotPlain(f"values: expected plain ones, got what cannot be opened ({e!r})") from e


class _PlainUnpickler(pickle.Unpickler):
    """Opens what needs no class."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise NotPlain(f"values: expected plain ones, got a {module}.{name}")

    def persistent_load(self, pid: Any) -> NoReturn:
        raise NotPlain(f"values: expected plain ones, got a reference to {pid!r}")
