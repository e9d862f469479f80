"""The JobManager as a process: it serves until somebody ends it, and leaves nothing behind.

    river cluster start        runs it in the terminal's own process
    river cluster start -d     starts this module as a process of its own and leaves it behind

The starter writes the settings to the standard input, so that no other process sees them, and reads one
line from a pipe: where the JobManager serves, or why it does not.
"""

from __future__ import annotations

import logging
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Protocol

import msgspec

from riverrun.cluster.ha.high_availability import high_availability
from riverrun.core import options
from riverrun.core.errors import RiverrunError
from riverrun.jobmanager.job_manager import JobManager
from riverrun.jobmanager.leading import LedJobManager
from riverrun.jobmanager.local_clusters import LocalCluster, noted

log = logging.getLogger(__name__)

Ends = queue.SimpleQueue[str]
"""Reasons to end; signal handlers may put into it at any time."""
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_LINE: Final = "%(asctime)s %(levelname)-5s %(name)s %(message)s"


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """What a process begins with."""

    config: dict[str, str]
    log: str | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of the start: one of both."""

    cluster: LocalCluster | None = None
    error: str | None = None


class Served(Protocol):
    """What is run: a JobManager, or one that others stand in for."""

    def serve(self, shut_down: Callable[[], None] | None = None) -> str:
        """Begin to answer; gives the address."""

    def close(self) -> None:
        """End it."""


def run_job_manager(
    config: Mapping[str, str],
    ready: Callable[[LocalCluster], None],
    *,
    log_file: str | None = None,
    create: Callable[..., Served] | None = None,
) -> str:
    """Run a JobManager for jobs of other processes; returns why it ended, after it has.

    It ends with SIGTERM, SIGINT, SIGHUP, or when a client asks for it; its jobs are cancelled then. Must be
    called on the main thread.

    Args:
        config: the JobManager's settings.
        ready: called when it serves.
        log_file: where this process writes to, for those who look for it.
        create: makes the JobManager; without it, one that others stand in for if the settings say so.

    Raises:
        RiverrunError: it cannot be started.
    """
    ends: Ends = queue.SimpleQueue()
    with _signals_to(ends) as take_signals:
        manager = (create or _creator(config))(config, session=True)
        # Spark has put its own handler in the place of ours.
        take_signals()
        try:
            url = manager.serve(lambda: ends.put("asked over REST"))
            cluster = LocalCluster.of_this_process(
                url,
                master=options.MASTER.get(config),
                started=int(time.time() * 1000),
                log=log_file,
            )
            with noted(cluster, os.environ):
                ready(cluster)
                reason = ends.get()
                log.info("JobManager ends reason=%s", reason)
        finally:
            manager.close()
    log.info("JobManager ended")
    return reason


def log_to_stderr() -> None:
    """Let this process say what it does."""
    logging.basicConfig(level=logging.INFO, format=_LINE)


def main(arguments: list[str]) -> int:
    """Run as the process that ``river cluster start -d`` leaves behind.

    Args:
        arguments: the descriptor of the pipe for the answer.
    """
    log_to_stderr()
    descriptor = int(arguments[0])
    os.set_inheritable(descriptor, False)  # noqa: FBT003
    start = msgspec.json.decode(sys.stdin.buffer.read(), type=Start)
    told = threading.Event()

    def tell(answer: Answer) -> None:
        if not told.is_set():
            told.set()
            with os.fdopen(descriptor, "wb") as pipe:
                pipe.write(msgspec.json.encode(answer))

    try:
        run_job_manager(
            start.config, lambda cluster: tell(Answer(cluster=cluster)), log_file=start.log
        )
    except RiverrunError as e:
        log.error("JobManager cannot run: %s", e)  # noqa: TRY400  (the message says it all)
        tell(Answer(error=str(e)))
        return 1
    return 0


def _creator(config: Mapping[str, str]) -> Callable[..., Served]:
    return JobManager.create if high_availability(config) is None else LedJobManager.create


@contextmanager
def _signals_to(ends: Ends) -> Iterator[Callable[[], None]]:
    """Put signals into ``ends`` while the block runs; gives what makes it so again."""

    def note(number: int, frame: Any) -> None:
        del frame
        ends.put(signal.Signals(number).name)

    def take() -> None:
        for each in _SIGNALS:
            signal.signal(each, note)

    before = {each: signal.getsignal(each) for each in _SIGNALS}
    take()
    try:
        yield take
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
