"""Savepoints and checkpoints, read in a process beside the JobManager.

Their values are unpickled, which runs the program's code: what that breaks is the other process. It is
started with the first question, answers one after the other, and ends by itself when nobody asks.
"""

from __future__ import annotations

import contextlib
import select
import subprocess
import sys
import threading
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final, TypeVar

import msgspec

from riverrun.jobmanager.snapshot_wire import Answered, Question
from riverrun.rest.bodies.states import (
    EntryList,
    KeyGroups,
    KeyList,
    KeyValues,
    SnapshotList,
    SnapshotStates,
)
from riverrun.rest.problems import HttpProblem

T = TypeVar("T")

_PATIENCE_S: Final = 45.0
_START_S: Final = 60.0
"""How much longer the first answer of a process may take: on a busy machine, to start one takes its time."""


class SnapshotProcess:
    """Satisfies ``Snapshots``; may be used from any thread.

    Args:
        config: the JobManager's settings, which have the options of stores.
        patience_s: how long a question may wait for its turn, and then for its answer.
    """

    def __init__(self, config: Mapping[str, str], patience_s: float = _PATIENCE_S) -> None:
        self._config = config
        self._patience_s = patience_s
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    def below(self, path: str) -> SnapshotList:
        """What is below a folder."""
        return self._ask(SnapshotList, "below", path)

    def states(self, path: str) -> SnapshotStates:
        """The operators of a snapshot with their states."""
        return self._ask(SnapshotStates, "states", path)

    def key_groups(self, path: str, operator: str, state: str) -> KeyGroups:
        """How a keyed state is spread."""
        return self._ask(KeyGroups, "key_groups", path, operator, state)

    def keys(
        self, path: str, operator: str, state: str, key_group: int | None, limit: int
    ) -> KeyList:
        """The first keys, of one key group or of all."""
        return self._ask(KeyList, "keys", path, operator, state, key_group, limit)

    def lookup(
        self, path: str, operator: str, state: str, key: str, key_group: int | None = None
    ) -> KeyValues:
        """What there is for a key, which is in a key group if one is given."""
        return self._ask(KeyValues, "lookup", path, operator, state, key, key_group)

    def entries(self, path: str, operator: str, state: str, limit: int) -> EntryList:
        """The first entries of operator state."""
        return self._ask(EntryList, "entries", path, operator, state, limit)

    def close(self) -> None:
        """End the process; who waits for its answer gets none."""
        self._closed = True
        process = self._process
        if process is not None:
            process.kill()
        with self._lock:
            self._end()

    def _ask(self, kind: type[T], method: str, *arguments: str | int | None) -> T:
        question = msgspec.json.encode(Question(method, list(arguments))) + b"\n"
        if not self._lock.acquire(timeout=self._patience_s):
            raise HttpProblem(
                HTTPStatus.CONFLICT,
                f"snapshots: others have been asked about for {self._patience_s:.0f} s, and one is read "
                f"after the other; ask again later",
            )
        try:
            # A process that ends because nobody asked may do so just now: then a new one answers.
            line = self._answer_to(question) or self._answer_to(question)
        finally:
            self._lock.release()
        if not line:
            raise HttpProblem(
                HTTPStatus.CONFLICT,
                f"path {arguments[0]!r}: the process that reads snapshots ended before it answered, twice; "
                f"a class of the program may end it, or memory; the JobManager's log may say more",
            )
        answer = msgspec.json.decode(line, type=Answered)
        if answer.status != HTTPStatus.OK:
            raise HttpProblem(answer.status, answer.error)
        return msgspec.json.decode(answer.body, type=kind)

    def _answer_to(self, question: bytes) -> bytes:
        """The line that answers; empty when the process ended."""
        if self._closed:
            raise HttpProblem(HTTPStatus.CONFLICT, "snapshots: the JobManager is ending")
        patience_s = self._patience_s + (0 if self._is_running else _START_S)
        try:
            process = self._running()
            assert process.stdin is not None  # noqa: S101  (both are pipes)
            assert process.stdout is not None  # noqa: S101
            process.stdin.write(question)
            process.stdin.flush()
        except OSError:
            self._end()
            return b""
        ready, _, _ = select.select([process.stdout], [], [], patience_s)
        if not ready:
            self._end()
            raise HttpProblem(
                HTTPStatus.CONFLICT,
                f"snapshots: no answer after {patience_s:.0f} s; is the state very large, or its "
                f"store slow? 'river state' reads it without such a limit",
            )
        line: bytes = process.stdout.readline()
        if not line:
            self._end()
        return line

    @property
    def _is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or not self._is_running:
            self._end()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "riverrun.jobmanager.snapshot_worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C is for the JobManager, which ends it then
            )
            assert self._process.stdin is not None  # noqa: S101
            # Not on the command line: it may have secrets of stores.
            self._process.stdin.write(msgspec.json.encode(dict(self._config)) + b"\n")
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            _closed(pipe)
        process.wait()


def _closed(pipe: Any) -> None:
    with contextlib.suppress(OSError):  # what is left in it cannot be written any more
        pipe.close()
