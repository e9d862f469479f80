"""A JobManager that others can stand in for: it waits until it leads, and takes up what is there.

When it is deposed, the process ends at once, whatever it does: nothing of it may go on beside the new
leader. Whoever supervises it (systemd, Kubernetes) starts it again, and it stands by. A signal to end
hands the jobs over to a standby; only who asks over REST for the end of the cluster ends its jobs.
"""

from __future__ import annotations

import logging
import os
import queue
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from riverrun.cluster.ha.high_availability import HighAvailability, high_availability
from riverrun.cluster.ha.service import LeaderElection
from riverrun.core import options
from riverrun.core.clock import SystemClock
from riverrun.core.errors import ConfigError, ExternalError, InternalError
from riverrun.jobmanager.job_manager import JobManager
from riverrun.jobmanager.kept_jobs import KeptJobs
from riverrun.rest.server import RestServer, ServerSettings
from riverrun.rest.standby import standby_app

log = logging.getLogger(__name__)

DEPOSED: Final = 75
"""Exit status of a deposed JobManager: try again."""
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

Leave = Callable[[int], None]
"""Ends the process with a status, without a further word."""


class StandbyEnded(ExternalError):  # noqa: N818
    """A JobManager was told to end before it ever led."""


class LeaderRole:
    """What the election says to this process."""

    def __init__(self, leave: Leave) -> None:
        self.leave = leave
        self.news: queue.SimpleQueue[int | str] = queue.SimpleQueue()
        """The epoch of each election; or the name of a signal."""
        self.ending = False
        """Whether it is this process that gives up."""

    def on_elected(self, epoch: int) -> None:
        self.news.put(epoch)

    def on_deposed(self, epoch: int) -> None:
        if not self.ending:
            log.critical("deposed, this process ends epoch=%d", epoch)
            self.leave(DEPOSED)


class LedJobManager:
    """A JobManager with its election; in the place of a ``JobManager``."""

    def __init__(
        self,
        manager: JobManager,
        election: LeaderElection,
        role: LeaderRole,
        kept: KeptJobs,
    ) -> None:
        self._manager = manager
        self._election = election
        self._role = role
        self._kept = kept
        self._given_up = False

    @staticmethod
    def create(
        config: Mapping[str, str],
        *,
        session: bool = True,
        make: Callable[..., JobManager] = JobManager.create,
        leave: Leave = os._exit,
    ) -> LedJobManager:
        """Wait until this process leads, then make a JobManager and take up the jobs that are there.

        Args:
            config: the JobManager's settings.
            session: must be true.
            make: makes the JobManager.
            leave: ends this process.

        Raises:
            ConfigError: the configuration asks for no high availability.
            StandbyEnded: a signal came before.
        """
        ha = high_availability(config)
        if ha is None or not session:
            raise ConfigError(
                "option 'high-availability.type': is 'none'; expected another type for a JobManager of "
                "a session that others stand in for"
            )
        # On a cluster an application holds executors, which the leader needs; on one machine it only waits.
        waiting = make(config, session=True) if _on_one_machine(config) else None
        role = LeaderRole(leave)
        election = ha.elect(role)
        election.start()
        try:
            with _answering(config, election.leader_address):
                epoch = _await_election(role)
            waiting = waiting or make(config, session=True)
            kept = _take_up(ha, epoch, waiting)
        except BaseException:
            role.ending = True
            if waiting is not None:
                waiting.close()
            election.close()
            raise
        return LedJobManager(waiting, election, role, kept)

    @property
    def manager(self) -> JobManager:
        """The JobManager itself."""
        return self._manager

    @property
    def url(self) -> str | None:
        """Where its REST interface is; ``None`` when it does not serve."""
        return self._manager.url

    def serve(self, shut_down: Callable[[], None] | None = None) -> str:
        """Begin to answer REST requests, and let clients know where; gives the address."""

        def give_up() -> None:
            self._given_up = True
            if shut_down is not None:
                shut_down()

        url = self._manager.serve(give_up)
        self._election.publish(url)
        return url

    def close(self) -> None:
        """Hand everything over; or, if the cluster was given up, end its jobs."""
        self._role.ending = True
        if self._given_up:
            self._manager.close()
            self._kept.forget_all()
            self._election.close()
            return
        self._kept.hand_over()
        self._manager.suspend()
        # From here on another one may lead: nothing of the jobs runs here any more.
        self._election.close()
        self._manager.close()


def _take_up(ha: HighAvailability, epoch: int, manager: JobManager) -> KeptJobs:
    """Run the jobs that the leader before has left, and keep those that come."""
    submissions = manager.submissions
    if submissions is None:
        raise InternalError("JobManager: expected one that takes jobs of other processes")
    found = ha.job_store.take_over(epoch)
    kept = KeptJobs(ha.job_store, submissions.artifacts, SystemClock().now)
    manager.dispatcher.load_history()
    manager.dispatcher.tell_ends(kept.ended)
    # Those that are taken up are kept already.
    count = kept.recover(found, submissions.submit)
    submissions.keep = kept.keep
    log.info("leading epoch=%d jobs=%d damaged=%d", epoch, count, len(found.damaged))
    return kept


def _on_one_machine(config: Mapping[str, str]) -> bool:
    return options.MASTER.get(config).startswith("local")


@contextmanager
def _answering(config: Mapping[str, str], leader: Callable[[], str | None]) -> Iterator[None]:
    """Tell callers meanwhile that this JobManager stands by; not where the leader has the same port."""
    server = RestServer(standby_app(leader), ServerSettings.from_config(config))
    try:
        server.start()
    except ExternalError as e:
        log.info("standing by without an interface reason=%s", e)
    try:
        yield
    finally:
        server.close()


def _await_election(role: LeaderRole) -> int:
    with _signals_to(role.news):
        log.info("standing by")
        news = role.news.get()
    if isinstance(news, str):
        raise StandbyEnded(f"JobManager: ended by {news} while it stood by; it never led")
    return news


@contextmanager
def _signals_to(news: queue.SimpleQueue[int | str]) -> Iterator[None]:
    """Put the names of signals into ``news`` meanwhile."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def note(number: int, frame: Any) -> None:
        del frame
        news.put(signal.Signals(number).name)

    before = {each: signal.signal(each, note) for each in _SIGNALS}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
