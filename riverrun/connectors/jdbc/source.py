"""JdbcSource: tables and queries as streams, read in parallel and resumed where they were left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from riverrun.api.source import Boundedness, Source, SourceReader, SourceReaderContext
from riverrun.api.split_enumerator import SplitEnumerator, SplitEnumeratorContext
from riverrun.connectors.base.split_queue import SplitQueue
from riverrun.connectors.base.split_reader import OpenSplit, SplitsReader
from riverrun.connectors.jdbc.dialect import Dialect
from riverrun.connectors.jdbc.part_reader import OpenPart, Reading
from riverrun.connectors.jdbc.parts import Part
from riverrun.connectors.jdbc.plans import Plan, check_parts
from riverrun.connectors.jdbc.session import Session
from riverrun.connectors.jdbc.source_builder import JdbcSourceBuilder, SourceSettings
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types

__all__ = ["JdbcSource"]


@dataclass(frozen=True, slots=True)
class PartsState:
    """What an enumerator knows: the parts that nobody has yet, if they are planned."""

    planned: bool
    waiting: tuple[Part, ...]


class JdbcSource(Source[Any]):
    """A table or a query, in parts that readers take as they get free; made by ``builder()``."""

    discovers_splits = True

    def __init__(self, settings: SourceSettings) -> None:
        self._settings = settings
        self._type = settings.type_information
        if self._type is None and settings.infer_type:
            self._type = self.describe()

    @staticmethod
    def builder() -> JdbcSourceBuilder[JdbcSource]:
        """Begin to describe a source."""
        return JdbcSourceBuilder(JdbcSource)

    def describe(self) -> TypeInformation:
        """The type of the records as the database describes it; connects to it."""
        settings = self._settings
        dialect = settings.dialect
        session = Session(dialect, settings.plan.user, settings.max_retries, reads=True)
        try:
            found = session.run(lambda connection: settings.plan.types(dialect, connection))
        finally:
            session.close()
        types = [dialect.type_of_column(each) for each in found.values()]
        return Types.ROW_NAMED(list(found), types)

    def create_enumerator(self, context: SplitEnumeratorContext) -> SplitEnumerator[Any]:
        return _PartsQueue(context, self._settings, PartsState(planned=False, waiting=()))

    def restore_enumerator(
        self, context: SplitEnumeratorContext, state: Any
    ) -> SplitEnumerator[Any]:
        return _PartsQueue(context, self._settings, state)

    def create_reader(self, splits: list[Any], context: SourceReaderContext) -> SourceReader[Any]:
        return _PartsReader(splits, context, self._settings)

    def get_boundedness(self) -> Boundedness:
        if self._settings.poll_ms is None:
            return Boundedness.BOUNDED
        return Boundedness.CONTINUOUS_UNBOUNDED

    def get_produced_type(self) -> TypeInformation | None:
        return self._type


class _PartsQueue(SplitQueue[Part]):
    """Plans the parts once, in another thread, and deals them out."""

    def __init__(
        self, context: SplitEnumeratorContext, settings: SourceSettings, state: PartsState
    ) -> None:
        super().__init__(context, state.waiting, bounded=state.planned)
        self._settings = settings
        self._planned = state.planned

    def start(self) -> None:
        if not self._planned:
            settings, readers = self._settings, self._context.parallelism
            self._context.call_async(
                lambda: planned(settings.plan, settings.dialect, settings.max_retries, readers),
                self._begin,
            )

    def snapshot_state(self, checkpoint: int) -> PartsState:
        del checkpoint
        return PartsState(self._planned, tuple(self.waiting))

    def _begin(self, parts: list[Part] | None, error: Exception | None) -> None:
        if error is not None:
            raise error
        self._planned = True
        self.add(parts or ())
        self.close_queue()


class _PartsReader(SplitsReader[Any]):
    def __init__(
        self, splits: Sequence[Part], context: SourceReaderContext, settings: SourceSettings
    ) -> None:
        super().__init__(splits, context)
        self._reading = Reading(
            settings.plan.user,
            settings.dialect,
            fetch_size=settings.fetch_size,
            extract=settings.extract,
            poll_ms=settings.poll_ms,
            max_retries=settings.max_retries,
        )

    def open_split(self, split: Part) -> OpenSplit[Any]:
        return OpenPart(split, self._reading, self._context.wake)

    def name_of(self, split: Part) -> str:
        return split.name


def planned(plan: Plan, dialect: Dialect, max_retries: int, readers: int) -> list[Part]:
    """The parts of a plan, with their query checked; connects."""
    session = Session(dialect, plan.user, max_retries, reads=True)

    def work(connection: Any) -> list[Part]:
        parts = plan.parts(dialect, connection, readers)
        check_parts(dialect, connection, parts)
        return parts

    try:
        return session.run(work)
    finally:
        session.close()
