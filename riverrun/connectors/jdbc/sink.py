"""JdbcSink: records into a database, at least once or exactly once."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from riverrun.api.sink import Committer, Sink, SinkWriter, SinkWriterContext
from riverrun.api.source_sink_functions import SinkContext, SinkFunction
from riverrun.connectors.jdbc import placeholders
from riverrun.connectors.jdbc.committer import EpochCommitter
from riverrun.connectors.jdbc.connection import JdbcConnectionOptions
from riverrun.connectors.jdbc.dialect import Dialect, Target
from riverrun.connectors.jdbc.dialects import dialect_of
from riverrun.connectors.jdbc.epochs import EpochLog, EpochWriter
from riverrun.connectors.jdbc.execution import JdbcExecutionOptions
from riverrun.connectors.jdbc.markers import MARKER_TABLE, MarkerTable
from riverrun.connectors.jdbc.rows import RowShape
from riverrun.connectors.jdbc.session import Session
from riverrun.connectors.jdbc.writer import BatchWriter
from riverrun.connectors.jdbc.writes import StatementWrite, TableWrite, Write
from riverrun.core.clock import SystemClock
from riverrun.core.errors import ProgramError
from riverrun.serde.composite_types import RowTypeInfo, TupleTypeInfo
from riverrun.serde.type_info import TypeInformation

__all__ = ["JdbcSink"]


@dataclass(frozen=True)
class _Exactly:
    """What exactly once needs."""

    marker_table: str
    name: str | None


@dataclass(frozen=True, eq=False)
class JdbcSink(Sink[Any], SinkFunction):
    """Writes records to a table; made by ``sink``, ``insert`` or ``upsert``.

    It writes at least once: rows leave in batches, and after a failure those since the last checkpoint
    leave again (with ``upsert`` that changes nothing). ``exactly_once()`` gives the sink that writes the
    rows of a checkpoint when it is complete, together with a mark, in one transaction.

    As in PyFlink it may be given to ``add_sink``; ``sink_to`` takes it too.
    """

    _dialect: Dialect
    _write: Write
    _options: JdbcExecutionOptions
    _exactly: _Exactly | None = None
    _shared: dict[int, tuple[EpochLog, Session]] = field(default_factory=dict, repr=False)
    """What committer and writer of a subtask share, from the one's creation to the other's."""

    @staticmethod
    def sink(
        sql: str,
        type_info: TypeInformation | None,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
    ) -> JdbcSink:
        """A sink that runs ``sql`` for each record, with its fields in order for the question marks."""
        user = "JdbcSink.sink"
        dialect = dialect_of(jdbc_connection_options, user)
        number = placeholders.count(sql)
        shape = RowShape(user, number, _names_of(type_info))
        fields = _number_of_fields(type_info)
        if fields is not None and fields != number:
            raise ProgramError(
                f"{user}: the statement has {number} question marks and the type {type_info!r} has "
                f"{fields} fields; expected one for each, in {sql!r}"
            )
        return JdbcSink(
            dialect, StatementWrite(shape, sql), jdbc_execution_options or JdbcExecutionOptions()
        )

    @staticmethod
    def insert(
        table: str,
        fields: Sequence[str],
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
    ) -> JdbcSink:
        """A sink that inserts each record into ``table``: the fastest way where rows are only added."""
        target = _target("JdbcSink.insert", table, fields, ())
        return _of_table("JdbcSink.insert", target, jdbc_connection_options, jdbc_execution_options)

    @staticmethod
    def upsert(
        table: str,
        fields: Sequence[str],
        key_fields: Sequence[str],
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
    ) -> JdbcSink:
        """A sink that keeps one row for each key: the newest record of it.

        A row of the kind DELETE or UPDATE_BEFORE deletes the row with its key. The table needs a primary
        key or a unique index on ``key_fields``.
        """
        user = "JdbcSink.upsert"
        if not key_fields:
            raise ProgramError(
                f"{user}: the table {table!r} has no key fields; expected one or more of {list(fields)}"
            )
        target = _target(user, table, fields, key_fields)
        return _of_table(user, target, jdbc_connection_options, jdbc_execution_options)

    def exactly_once(
        self, *, marker_table: str = MARKER_TABLE, name: str | None = None
    ) -> JdbcSink:
        """The same sink, with every record in the database exactly once, whatever fails.

        Rows wait for their checkpoint and are in the checkpoint meanwhile.

        Args:
            marker_table: where it is kept which checkpoints the database has; created if it is missing.
            name: what the sink is called there, and no other is; that of its operator and the job's id if
                it is left out.
        """
        return replace(self, _exactly=_Exactly(marker_table, name), _shared={})

    @staticmethod
    def exactly_once_sink(
        sql: str,
        type_info: TypeInformation | None,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
    ) -> JdbcSink:
        """As ``sink``, exactly once: Flink's name for it."""
        sink = JdbcSink.sink(sql, type_info, jdbc_connection_options, jdbc_execution_options)
        return sink.exactly_once()

    def create_writer(self, context: SinkWriterContext) -> SinkWriter[Any]:
        if self._exactly is None:
            return BatchWriter(self._session(), self._write, self._options)
        shared = self._shared.pop(context.subtask_index, None)
        log, session = shared or (EpochLog(uuid.uuid4().hex), self._session())
        markers = self._markers(self._exactly, context)
        return EpochWriter(session, self._write, markers, log, SystemClock())

    def create_committer(self, context: SinkWriterContext) -> Committer | None:
        if self._exactly is None:
            return None
        log, session = EpochLog(uuid.uuid4().hex), self._session()
        markers = self._markers(self._exactly, context)
        markers.ensure(session)
        self._shared[context.subtask_index] = (log, session)
        return EpochCommitter(session, self._write, markers, log)

    def invoke(self, value: Any, context: SinkContext) -> None:
        """Refuse: the sink has a writer, and is no function in spite of its PyFlink name."""
        del value, context
        raise ProgramError(
            "JdbcSink: is not called for each record; pass it to sink_to or add_sink"
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_shared": {}}

    def _session(self) -> Session:
        return Session(self._dialect, self._write.shape.user, self._options.max_retries)

    def _markers(self, exactly: _Exactly, context: SinkWriterContext) -> MarkerTable:
        # Another job's rows must not be forgotten: it may come back after a long time.
        job = context.runtime_context().get_job_id()
        name = exactly.name or f"{context.task_name} of {job}"
        return MarkerTable(exactly.marker_table, name, context.subtask_index)


def _of_table(
    user: str,
    target: Target,
    connection: JdbcConnectionOptions,
    execution: JdbcExecutionOptions | None,
) -> JdbcSink:
    shape = RowShape(user, len(target.fields), target.fields)
    write = TableWrite(shape, target)
    return JdbcSink(dialect_of(connection, user), write, execution or JdbcExecutionOptions())


def _target(user: str, table: str, fields: Sequence[str], key_fields: Sequence[str]) -> Target:
    if isinstance(fields, str) or isinstance(key_fields, str) or not fields:
        raise ProgramError(
            f"{user}: got the fields {fields!r} and the key {key_fields!r}; expected lists of names"
        )
    unknown = [each for each in key_fields if each not in fields]
    if unknown or len(set(fields)) != len(fields):
        raise ProgramError(
            f"{user}: the key fields {unknown or list(key_fields)} must be among the fields "
            f"{list(fields)}, each of them once"
        )
    return Target(table, tuple(fields), tuple(key_fields))


def _names_of(type_info: TypeInformation | None) -> tuple[str, ...] | None:
    if isinstance(type_info, RowTypeInfo) and type_info.field_names is not None:
        return tuple(type_info.field_names)
    return None


def _number_of_fields(type_info: TypeInformation | None) -> int | None:
    if isinstance(type_info, RowTypeInfo | TupleTypeInfo):
        return len(type_info.field_types)
    return None
