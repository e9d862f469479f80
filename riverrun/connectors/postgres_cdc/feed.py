"""The thread that reads from PostgreSQL: a slot first, then the tables, then the changes for ever."""

from __future__ import annotations

import queue
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from riverrun.connectors.jdbc.errors import DatabaseFailed, Trouble
from riverrun.connectors.jdbc.session import BACKOFF, Session, explained
from riverrun.connectors.postgres_cdc.chunks import TransactionSnapshot
from riverrun.connectors.postgres_cdc.lsn import lsn_of
from riverrun.connectors.postgres_cdc.position import CdcSplit, TableLeft
from riverrun.connectors.postgres_cdc.preparation import USER, CdcSettings, Table, checked_slot
from riverrun.connectors.postgres_cdc.replication import ReplicationConnection
from riverrun.connectors.postgres_cdc.table_reader import ChunkRead, TableReader

__all__ = ["Begun", "Fed", "Feed", "Log", "TablesRead"]

_AHEAD: Final = 4
_MESSAGES_AT_ONCE: Final = 1000


@dataclass(frozen=True, slots=True)
class Begun:
    """The slot is there: changes begin here, and these tables are read first."""

    lsn: int
    before: str | None
    left: tuple[TableLeft, ...]


@dataclass(frozen=True, slots=True)
class TablesRead:
    """All tables are read; what commits behind ``until`` is newer than their rows."""

    until: int


@dataclass(frozen=True, slots=True)
class Log:
    """A piece of the stream: messages, and positions up to which there is nothing else."""

    items: list[bytes | int]


Fed: TypeAlias = Begun | ChunkRead | TablesRead | Log


class Feed:
    """Reads ahead of the task; ``take``, ``confirm`` and ``close`` are called from the task's thread.

    Args:
        settings: what to read.
        tables: the tables, as the publication gives them.
        split: where to go on.
        wake: called when there is something to ``take``.
    """

    def __init__(
        self,
        settings: CdcSettings,
        tables: dict[str, Table],
        split: CdcSplit,
        wake: Callable[[], None],
    ) -> None:
        self._settings = settings
        self._tables = tables
        self._split = split
        self._wake = wake
        self._ready: queue.Queue[Fed | Exception] = queue.Queue(_AHEAD)
        self._closed = threading.Event()
        self._confirmed = split.lsn or 0
        self._creating: ReplicationConnection | None = None
        """Waits for transactions of others, for as long as these take."""
        self._session = Session(
            settings.dialect, USER, settings.max_retries, self._closed.wait, reads=True
        )
        self._bell, self._ring = socket.socketpair()
        self._thread = threading.Thread(target=self._serve, name="riverrun-cdc", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def take(self) -> Fed | None:
        """The next piece, if one is there; raises what went wrong."""
        try:
            piece = self._ready.get_nowait()
        except queue.Empty:
            return None
        if isinstance(piece, Exception):
            raise piece
        return piece

    def confirm(self, lsn: int) -> None:
        """Nobody will go on from before ``lsn``: the server may forget what is."""
        self._confirmed = max(self._confirmed, lsn)
        self._ring.send(b"!")

    def close(self) -> None:
        """End the thread and its connections."""
        self._closed.set()
        self._ring.send(b"!")
        creating = self._creating
        if creating is not None:
            creating.cancel()
        self._session.interrupt()
        with suppress(queue.Empty):
            while True:
                self._ready.get_nowait()
        if self._thread.ident is not None:
            self._thread.join()
        self._bell.close()
        self._ring.close()

    # in the thread

    def _serve(self) -> None:
        try:
            with closing(self._session) as session:
                lsn = self._begin(session)
                self._read_tables(session)
            self._follow(lsn)
        except Exception as e:  # noqa: BLE001  (raised in the task's thread)
            self._hand_over(e)

    def _begin(self, session: Session) -> int:
        split, settings = self._split, self._settings
        if split.lsn is not None:
            return split.lsn
        wanted = settings.tables if settings.snapshot else ()
        slot = checked_slot(settings, session, None)
        if slot is not None:
            # Left over from a start that came to nothing: an older beginning is as good as a new one.
            lsn, before = slot.confirmed, None
        else:
            lsn, before = self._create_slot(session)
        self._split = CdcSplit(lsn, 0, before, tuple(TableLeft(each) for each in wanted))
        self._hand_over(Begun(lsn, before, self._split.left or ()))
        return lsn

    def _create_slot(self, session: Session) -> tuple[int, str]:
        settings = self._settings
        try:
            with closing(ReplicationConnection(settings)) as connection:
                self._creating = connection
                lsn, name = connection.create_slot()
                self._creating = None
                return lsn, session.run(lambda sql: _seen_by(sql, name))
        except Exception as e:
            if settings.dialect.trouble(e) is Trouble.FOREIGN:
                raise
            raise explained(settings.dialect, USER, e) from e

    def _read_tables(self, session: Session) -> None:
        if self._split.chunks_until is not None:
            return
        reader = TableReader(self._settings, self._tables, session)
        before = self._split.before
        for first in self._split.left or ():
            left: TableLeft | None = first
            while left is not None and not self._closed.is_set():
                read = reader.read(left)
                if before is not None and not _covers(read.chunk.snapshot, before):
                    # A transaction from before the slot is committed, but not for everybody yet.
                    self._closed.wait(0.05)
                    continue
                before, left = None, read.left
                self._hand_over(read)
        until = session.run(
            lambda sql: lsn_of(
                sql.execute("SELECT pg_current_wal_insert_lsn()::text").fetchone()[0]
            )
        )
        self._hand_over(TablesRead(until))

    def _follow(self, lsn: int) -> None:
        """Hand over the stream, over any number of connections."""
        settings = self._settings
        stream = _Stream(lsn)
        tries = 0
        while not self._closed.is_set():
            before = stream.lsn
            try:
                self._follow_one(stream)
            except Exception as e:
                trouble = settings.dialect.trouble(e)
                if trouble is Trouble.FOREIGN:
                    raise
                tries = 0 if stream.lsn > before else tries + 1
                if trouble is not Trouble.PASSING or tries > settings.max_retries:
                    raise self._given_up(e, tries) from e
                self._closed.wait(BACKOFF.delay(tries))

    def _follow_one(self, stream: _Stream) -> None:
        with closing(ReplicationConnection(self._settings)) as connection:
            connection.start(stream.lsn)
            stream.inside = False
            confirmed = -1
            items: list[bytes | int] = []
            while not self._closed.is_set():
                item = connection.receive()
                if item is not None:
                    items.append(item)
                if items and (item is None or len(items) >= _MESSAGES_AT_ONCE):
                    self._hand_over(Log(items), meanwhile=connection)
                    # What was not handed over comes again with the next connection.
                    stream.advance(items)
                    items = []
                now, confirmed = self._confirmed > confirmed, self._confirmed
                connection.confirm(confirmed, now=now)
                if item is None:
                    connection.wait(1.0, self._bell)
                    self._hush()

    def _hand_over(
        self, what: Fed | Exception, meanwhile: ReplicationConnection | None = None
    ) -> None:
        while not self._closed.is_set():
            try:
                self._ready.put(what, timeout=0.2)
            except queue.Full:
                if meanwhile is not None:  # the server must hear from us while the task is busy
                    meanwhile.confirm(self._confirmed, now=False)
                continue
            self._wake()
            return

    def _hush(self) -> None:
        self._bell.setblocking(False)  # noqa: FBT003  (the standard library's)
        with suppress(BlockingIOError):
            self._bell.recv(4096)

    def _given_up(self, error: Exception, tries: int) -> Exception:
        told = explained(self._settings.dialect, USER, error, tries)
        if isinstance(told, DatabaseFailed) and "is active for" in str(error):
            return DatabaseFailed(
                f"{self._settings.where()}: {error}: another job reads from the replication slot "
                f"{self._settings.slot!r}; stop it, or give each job a slot of its own with slot_name(...)"
            )
        return told


class _Stream:
    """How far the stream was handed over: up to the last transaction that is complete."""

    def __init__(self, lsn: int) -> None:
        self.lsn = lsn
        self.inside = False

    def advance(self, items: list[bytes | int]) -> None:
        for item in items:
            if isinstance(item, int):
                if not self.inside:
                    self.lsn = max(self.lsn, item)
            elif item[:1] == b"B":
                self.inside = True
            elif item[:1] == b"C":
                self.inside = False
                self.lsn = struct.unpack_from(">Q", item, 10)[0]


def _seen_by(connection: Any, snapshot: str) -> str:
    """The transactions that a snapshot with this name sees."""
    connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    connection.execute(f"SET TRANSACTION SNAPSHOT '{snapshot}'")
    seen: str = connection.execute("SELECT pg_current_snapshot()::text").fetchone()[0]
    return seen


def _covers(snapshot: str, before: str) -> bool:
    """Whether everything that was committed for ``before`` is so for ``snapshot``."""
    earlier = TransactionSnapshot.of(before)
    return not any(earlier.sees(xid) for xid in TransactionSnapshot.of(snapshot).running)
