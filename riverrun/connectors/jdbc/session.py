"""A connection that comes back: work is done in transactions, and tried again after what passes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeVar

from riverrun.connectors.base.backoff import Backoff
from riverrun.connectors.jdbc.dialect import Dialect
from riverrun.connectors.jdbc.errors import DatabaseFailed, DatabaseRefused, Trouble
from riverrun.core.errors import RiverrunError

__all__ = ["BACKOFF", "Session", "explained", "interrupt"]

R = TypeVar("R")
log = logging.getLogger(__name__)

BACKOFF: Final = Backoff(first_s=0.5, most_s=30.0)
"""How long a database is left alone after a failure that passes."""


class Session:
    """One connection to a database, made when it is needed and made again when it is lost.

    Not for several threads at once.

    Args:
        dialect: the database.
        user: who works with it, for messages.
        max_retries: how often to try again.
        sleep: waits so many seconds between two tries; says True when there shall be no other.
        reads: whether transactions only read.
    """

    def __init__(
        self,
        dialect: Dialect,
        user: str,
        max_retries: int,
        sleep: Callable[[float], object] = time.sleep,
        *,
        reads: bool = False,
    ) -> None:
        self.dialect = dialect
        self._user = user
        self._max_retries = max_retries
        self._sleep = sleep
        self._reads = reads
        self._connection: Any = None

    def run(self, work: Callable[[Any], R]) -> R:
        """Do ``work(connection)`` in one transaction, again and again until it is done.

        When the connection is lost while the transaction commits nobody knows whether it has: the work is
        done again then, so doing it twice must do no harm.

        Raises:
            DatabaseRefused: it will never work.
            DatabaseFailed: it did not work as often as it was tried.
        """
        tries = 0
        while True:
            try:
                with self.transaction() as connection:
                    return work(connection)
            except Exception as error:
                trouble = self.dialect.trouble(error)
                if trouble is Trouble.FOREIGN:
                    raise
                if trouble is not Trouble.PASSING or tries == self._max_retries:
                    raise explained(self.dialect, self._user, error, tries + 1) from error
                delay = BACKOFF.delay(tries)
                log.warning(
                    "database failed user=%s error=%s retry_in_s=%.1f", self._user, error, delay
                )
                self.drop()
                if self._sleep(delay):
                    raise explained(self.dialect, self._user, error, tries + 1) from error
                tries += 1

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """A connection inside a transaction, which is committed at the end and rolled back on an error."""
        connection = self._connected()
        try:
            connection.execute("BEGIN" if self._reads else self.dialect.begin)
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            # A connection that was lost has nothing left to roll back.
            with suppress(Exception):
                connection.execute("ROLLBACK")
            raise

    def drop(self) -> None:
        """Give the connection up; the next work makes another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):  # it may be lost already
                connection.close()

    def interrupt(self) -> None:
        """Break off what the connection does at the moment; from any thread."""
        connection = self._connection
        if connection is not None:
            interrupt(self.dialect, connection)

    def close(self) -> None:
        """End the connection."""
        self.drop()

    def _connected(self) -> Any:
        if self._connection is None:
            self._connection = self.dialect.connect(reads=self._reads)
        return self._connection


def interrupt(dialect: Dialect, connection: Any) -> None:
    """Break off what a connection does at the moment; from any thread."""
    with suppress(Exception):  # it may be lost already, or have nothing to do
        dialect.interrupt(connection)


def explained(dialect: Dialect, user: str, error: Exception, tries: int = 1) -> RiverrunError:
    """An error of the driver as one of ours, that says where it came from and what to do."""
    where = f"{user}: {dialect.name} at {dialect.options.shown_url()!r}"
    what = " ".join(str(error).split())
    if dialect.trouble(error) is Trouble.REFUSED:
        return DatabaseRefused(
            f"{where} refuses: {what}; correct the program, the table or the credentials"
        )
    return DatabaseFailed(
        f"{where} failed {tries} times, at last with {type(error).__name__}: {what}; see whether the "
        f"server is well"
    )
