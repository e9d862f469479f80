"""What happens to the demo's job: its checkpoints, the kill in the middle, and how it comes back."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from typing import Final

from rich.console import Console
from rich.filesize import decimal
from rich.markup import escape
from rich.table import Table

from riverrun.cli.demo_board import Scoreboard
from riverrun.core.lifecycle import JobStatus
from riverrun.datastream.job_client import JobClient

_KILL_AT: Final = 0.45
"""Of all records."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """How the job came back."""

    pid: int
    """The process that was killed."""
    checkpoint: int
    seconds: float | None
    """From the kill to the first result of the next attempt; None if none has come yet."""


class Story:
    """Looks at the job now and then, kills one of its processes once, and tells what changed.

    The times that it tells count from the first result.
    """

    def __init__(
        self, client: JobClient, board: Scoreboard, console: Console, *, kills: bool
    ) -> None:
        self._client = client
        self._board = board
        self._console = console
        self._kills = kills
        self._victim: tuple[int, int] | None = None
        """Attempt and process id of the killed one."""
        self._killed_ns = 0
        self._checkpoints = "no checkpoint yet"
        self._failures = 0
        self._status: JobStatus | None = None
        self._restored: int | None = None
        self._flows = False

    def look(self) -> None:
        """See what is new, and tell it; kill when the time has come."""
        self._tell_failures()
        self._tell_status()
        self._tell_checkpoints()
        self._tell_flow()
        if self._is_time():
            self._kill()

    @property
    def checkpoints(self) -> str:
        """How the checkpoints go, in a line."""
        return self._checkpoints

    def recovery(self) -> Recovery | None:
        """How the job came back from the kill; None if there was none, or it did not."""
        if self._victim is None or self._restored is None:
            return None
        return Recovery(self._victim[1], self._restored, self._seconds_to_flow())

    def _is_time(self) -> bool:
        return (
            self._kills
            and self._victim is None
            and self._board.seen >= _KILL_AT * self._board.expected
        )

    def _kill(self) -> None:
        attempt, _, pid = max(self._board.places)
        if pid == os.getpid():
            return
        self._victim = attempt, pid
        self._killed_ns = time.time_ns()
        os.kill(pid, signal.SIGKILL)
        self._tell(f"[bold red]kill -9 {pid}[/]: a worker that keeps open windows, in mid-stream")

    def _tell_failures(self) -> None:
        failures = self._client.get_failures()
        for record in failures[self._failures :]:
            reason = escape(record.failure.message.splitlines()[0])
            self._tell(f"[red]attempt {record.attempt + 1} failed[/]: {reason}")
        self._failures = len(failures)

    def _tell_status(self) -> None:
        status = self._client.get_job_status().result()
        if status is JobStatus.RESTARTING and self._status is not status:
            self._tell("[yellow]restarting[/]: all subtasks, from the latest complete checkpoint")
        self._status = status

    def _tell_checkpoints(self) -> None:
        statistics = self._client.get_checkpoints()
        if statistics is None:
            return
        restored = statistics.latest.restored
        if restored is not None and restored.id != self._restored:
            self._restored = restored.id
            self._tell(
                f"[yellow]restored[/]: open windows and source positions of checkpoint {restored.id}"
            )
        done = statistics.latest.completed
        if done is not None:
            size = decimal(done.totals.checkpointed_size)
            self._checkpoints = (
                f"{statistics.counts.completed} checkpoints, the last "
                f"{size} in {done.totals.end_to_end_duration} ms"
            )

    def _tell_flow(self) -> None:
        seconds = self._seconds_to_flow()
        if seconds is not None and not self._flows:
            self._flows = True
            self._tell(f"[green]results flow again[/], {seconds:.1f} s after the kill")

    def _seconds_to_flow(self) -> float | None:
        if self._victim is None:
            return None
        killed = self._victim[0]
        first = [ns for (attempt, *_), ns in self._board.places.copy().items() if attempt > killed]
        return (min(first) - self._killed_ns) / 1e9 if first else None

    def _tell(self, what: str) -> None:
        now = time.monotonic()
        line = Table.grid(padding=(0, 2))
        line.add_row(f"[dim]{now - (self._board.first_at or now):5.1f} s[/]", what)
        self._console.print(line)
