"""The replication protocol: a slot is made, the stream is read, what is safe is confirmed.

psycopg has no words for it, but the library below it (libpq) carries it: a stream is a COPY in both directions.
"""

from __future__ import annotations

import selectors
import struct
import time
from typing import Any, Final

from riverrun.connectors.base.extras import require
from riverrun.connectors.postgres_cdc.lsn import lsn_of, shown_lsn
from riverrun.connectors.postgres_cdc.preparation import USER, CdcSettings
from riverrun.connectors.postgres_cdc.table_reader import AS_TEXT

__all__ = ["ReplicationConnection"]

_EPOCH_S: Final = 946_684_800
_STATUS_EVERY_S: Final = 5.0
"""The server gives up on who says nothing for wal_sender_timeout, a minute by default."""


class ReplicationConnection:
    """One connection that speaks the replication protocol; used from one thread."""

    def __init__(self, settings: CdcSettings) -> None:
        self._psycopg = require("psycopg", extra="postgresql", user=USER)
        self._settings = settings
        parameters = settings.dialect.parameters()
        texts = " ".join(f"-c {name}={value}" for name, value in AS_TEXT.items())
        parameters["options"] = f"{parameters.get('options', '')} {texts}".strip()
        parameters["application_name"] = f"riverrun {settings.slot}"
        self._connection = self._psycopg.connect(
            **parameters, autocommit=True, replication="database"
        )
        self._pgconn = self._connection.pgconn
        self._received = 0
        self._said_at = 0.0

    def create_slot(self) -> tuple[int, str]:
        """Make the slot; where it begins, and the name of a snapshot of all that is before.

        The snapshot is there until the next command on this connection. Waits for transactions that run.
        """
        name = self._settings.dialect.quote(self._settings.slot)
        result = self._run(f"CREATE_REPLICATION_SLOT {name} LOGICAL pgoutput EXPORT_SNAPSHOT")
        return lsn_of(result.get_value(0, 1).decode()), result.get_value(0, 2).decode()

    def start(self, lsn: int) -> None:
        """Begin the stream with the first transaction that commits at ``lsn`` or behind it."""
        dialect = self._settings.dialect
        publication = dialect.quote(self._settings.publication).replace("'", "''")
        self._run(
            f"START_REPLICATION SLOT {dialect.quote(self._settings.slot)} LOGICAL {shown_lsn(lsn)} "
            f"(proto_version '1', publication_names '{publication}')"
        )
        self._received = lsn

    def receive(self) -> bytes | int | None:
        """The next message that is there: one of the plugin's, or how far the server is without one.

        ``None``: nothing has come yet.
        """
        size, data = self._pgconn.get_copy_data(1)
        if size == 0:
            return None
        if size < 0:
            raise self._error(self._pgconn.get_result())
        message = bytes(data)
        if message[:1] == b"w":
            self._received = max(self._received, struct.unpack_from(">Q", message, 1)[0])
            return message[25:]
        lsn, _, reply = struct.unpack_from(">QQB", message, 1)
        if reply:
            self._said_at = 0.0
        self._received = max(self._received, lsn)
        return int(lsn)

    def wait(self, seconds: float, also: Any) -> None:
        """Wait until something comes here or on the socket ``also``."""
        # Unlike select this takes any number of open files.
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._pgconn.socket, selectors.EVENT_READ)
            waiting.register(also, selectors.EVENT_READ)
            waiting.select(seconds)
        self._pgconn.consume_input()

    def confirm(self, lsn: int, *, now: bool) -> None:
        """Say that everything before ``lsn`` is not needed again; at once, or if it is time to speak."""
        if not now and time.monotonic() - self._said_at < _STATUS_EVERY_S:
            return
        self._said_at = time.monotonic()
        micros = int((time.time() - _EPOCH_S) * 1_000_000)
        received = max(self._received, lsn)
        self._pgconn.put_copy_data(struct.pack(">cQQQqB", b"r", received, lsn, lsn, micros, 0))
        self._pgconn.flush()

    def cancel(self) -> None:
        """Interrupt the command that runs; may be called from any thread."""
        self._connection.cancel()

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def _run(self, command: str) -> Any:
        result = self._pgconn.exec_(command.encode())
        status = self._psycopg.pq.ExecStatus
        if result.status not in {status.TUPLES_OK, status.COPY_BOTH, status.COMMAND_OK}:
            raise self._error(result)
        return result

    def _error(self, result: Any) -> Exception:
        psycopg = self._psycopg
        if result is None:
            return self._lost("the server ended the stream")
        code = result.error_field(psycopg.pq.DiagnosticField.SQLSTATE)
        message = result.error_message.decode(errors="replace").strip()
        if code is None:
            return self._lost(message or "the server ended the stream")
        made: Exception = psycopg.errors.lookup(code.decode())(message)
        return made

    def _lost(self, message: str) -> Exception:
        made: Exception = self._psycopg.OperationalError(message)
        return made
