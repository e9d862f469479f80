"""Disturbs a running job: kills its processes, and knows when it has recovered."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Mapping
from contextlib import suppress

from riverrun.checkpoint.statistics import CheckpointingStatistics
from riverrun.core.errors import CheckpointFailed
from riverrun.core.lifecycle import JobStatus
from riverrun.datastream.job_client import JobClient
from riverrun.testing.waiting import wait_until

_CHECKPOINT_S = 20.0


class Chaos:
    """Kills workers of one job at moments that only its seed knows."""

    def __init__(self, client: JobClient, seed: int = 0) -> None:
        self._client = client
        self._random = random.Random(seed)
        self._pause = threading.Event()
        self.killed: list[str] = []
        """Task and subtask of each process that was killed."""

    @property
    def kills(self) -> int:
        """How many processes were killed."""
        return len(self.killed)

    def kill_after_checkpoint(self, within_s: float = 0.4) -> None:
        """Kill a worker at a random moment after the next checkpoint that completes."""
        await_checkpoint(self._client)
        self.kill_within(within_s)

    def kill_within(self, within_s: float) -> None:
        """Kill a worker at a random moment from now on, whatever the job does then."""
        self._pause.wait(self._random.uniform(0.0, within_s))
        wait_until(self._kill_any, what="a worker to kill")

    def kill(self, task: str, subtask: int = 0) -> int:
        """Kill the worker of one subtask; its process id."""
        pid = process_of(self._client, task, subtask)
        os.kill(pid, signal.SIGKILL)
        self.killed.append(f"{task}.{subtask}")
        return pid

    def kill_and_recover(self, task: str, subtask: int = 0) -> None:
        """Kill the worker of one subtask, and wait until the job runs again."""
        before = len(self._client.get_failures())
        self.kill(task, subtask)
        await_recovery(self._client, before)

    def _kill_any(self) -> bool:
        """Kill one of the workers that there are; whether there was one."""
        victims = list(live_processes(self._client).items())
        self._random.shuffle(victims)
        for (task, subtask), pid in victims:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                self.killed.append(f"{task}.{subtask}")
                return True
        return False


def live_processes(client: JobClient) -> Mapping[tuple[str, int], int]:
    """The process of each subtask that has registered, relays included."""
    known: Mapping[tuple[str, int], int | None] = client._job.processes()  # type: ignore[attr-defined]
    return {place: pid for place, pid in known.items() if pid is not None and _lives(pid)}


def process_of(client: JobClient, task: str, subtask: int = 0) -> int:
    """The process of the subtask whose task has ``task`` in its name."""

    def found() -> int | None:
        return next(
            (
                pid
                for (name, index), pid in live_processes(client).items()
                if task in name and index == subtask
            ),
            None,
        )

    pid = wait_until(found, what=f"a process of {task!r} {subtask}")
    assert pid is not None
    return pid


def await_running(client: JobClient, timeout_s: float = 30.0) -> None:
    """Wait until the job runs; fails at once when it has ended."""

    def runs() -> bool:
        status = client.get_job_status().result()
        if status.is_globally_terminal_state():
            client.get_job_execution_result().result(0)
            raise AssertionError("the job has finished")
        return status is JobStatus.RUNNING

    wait_until(runs, what="the job in RUNNING", timeout_s=timeout_s)


def await_recovery(client: JobClient, failures: int) -> None:
    """Wait until there are more than ``failures`` failures and the job runs again."""
    wait_until(lambda: len(client.get_failures()) > failures, what="the failure is noticed")
    await_running(client)


def await_checkpoint(client: JobClient, more: int = 1) -> None:
    """Wait until ``more`` checkpoints have completed from now on."""
    await_running(client)
    goal = statistics(client).counts.completed + more
    wait_until(
        lambda: statistics(client).counts.completed >= goal or _has_ended(client),
        what=f"{goal} completed checkpoints; {statistics(client).counts}",
    )


def take_checkpoint(client: JobClient) -> str:
    """Take a checkpoint as soon as all of the job runs; where it is."""

    def taken() -> str | None:
        await_running(client)
        # Not every task may run yet.
        with suppress(CheckpointFailed):
            return client.trigger_checkpoint(_CHECKPOINT_S)
        return None

    location = wait_until(taken, what="a checkpoint")
    assert location is not None
    return location


def statistics(client: JobClient) -> CheckpointingStatistics:
    """The job's checkpoints so far."""
    found = client.get_checkpoints()
    assert isinstance(found, CheckpointingStatistics)
    return found


def _has_ended(client: JobClient) -> bool:
    return client.get_job_status().result().is_globally_terminal_state()


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
