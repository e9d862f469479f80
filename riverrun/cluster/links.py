"""The seam between the control server and whoever looks after a job's tasks."""

from __future__ import annotations

from typing import Protocol

from riverrun.protocol.control import Down, Register, Up
from riverrun.protocol.wire import Address


class TaskLink(Protocol):
    """An authenticated connection to one task. Methods may be called from any thread; none blocks."""

    @property
    def last_heard(self) -> float:
        """When bytes last came from the task (the clock's monotonic milliseconds)."""

    def send(self, message: Down) -> None:
        """Send after all that was sent before; does nothing when the connection is closed."""

    def close(self) -> None:
        """Close once everything sent has left."""

    def abort(self) -> None:
        """Close at once."""


class JobGateway(Protocol):
    """Takes what the tasks of one job say. Called from the server's thread: must not block.

    For each link: ``opened`` once, then ``received`` any number of times, then ``closed`` once.
    """

    def opened(self, link: TaskLink, register: Register) -> None:
        """A task that knows the job's secret asks to be registered; answer through the link."""

    def received(self, link: TaskLink, message: Up) -> None:
        """The task said something."""

    def closed(self, link: TaskLink, reason: str) -> None:
        """The connection is closed, by either end; nothing more comes from it."""


class TaskServer(Protocol):
    """Where tasks connect. Methods may be called from any thread but the server's own."""

    @property
    def address(self) -> Address:
        """Where tasks reach this server."""

    def add_job(self, job: str, secret: bytes, gateway: JobGateway) -> None:
        """Let the tasks that know ``secret`` connect as tasks of ``job``."""

    def remove_job(self, job: str) -> None:
        """Let no task of ``job`` connect any more, drop those that are, and wait until they are gone."""
