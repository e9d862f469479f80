"""What a source is: splits that can be shared out, and readers that know their position.

A split is any picklable object that says what to read and from where. A reader's ``snapshot_splits`` gives
back splits with the position reached, and a reader made from those goes on exactly there (at any
parallelism). Where splits come from is the source's choice:

    create_splits        all of them are known when the job starts: subtask ``i`` of ``n`` gets its share
    create_enumerator    they are found and dealt out while the job runs (``discovers_splits``)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, ClassVar, Generic, TypeVar

from riverrun.api.bad_records import DeadLetter
from riverrun.api.runtime_context import DetachedRuntimeContext, RuntimeContext
from riverrun.api.split_enumerator import SplitEnumerator, SplitEnumeratorContext
from riverrun.core.clock import Clock
from riverrun.serde.type_info import TypeInformation

T = TypeVar("T")


class Boundedness(Enum):
    """Whether a source ends by itself."""

    BOUNDED = auto()
    CONTINUOUS_UNBOUNDED = auto()


class SourceStatus(Enum):
    """What a reader can do next."""

    MORE_AVAILABLE = auto()
    NOTHING_AVAILABLE = auto()
    END_OF_INPUT = auto()


@dataclass(slots=True)
class Polled:
    """One answer of a reader: a run of values and what to expect next.

    ``wait_ms`` says when to ask again after NOTHING_AVAILABLE (also together with values: the reader
    gave what was due). ``timestamps`` are the records' event times where the source knows them.

    A reader of several splits says in ``split`` which one the values are of: each has a watermark of its
    own then. Without it all values count as of one split. Splits in ``finished_splits`` end with this
    answer and hold event time back no longer.
    """

    values: list[Any] = field(default_factory=list)
    timestamps: list[int] | None = None
    status: SourceStatus = SourceStatus.MORE_AVAILABLE
    wait_ms: float = 0.0
    split: str | None = None
    finished_splits: Sequence[str] = ()
    dead_letters: Sequence[DeadLetter] = ()
    """Messages that could not be read; they leave by the side output ``DEAD_LETTERS``."""


def _to_nobody(message: Any = None) -> None:
    del message
    raise RuntimeError("source reader: this source has no enumerator to speak to")


def _sleep_on() -> None:
    """Outside of a task nobody waits for a reader."""


@dataclass(frozen=True, slots=True)
class SourceReaderContext:
    """Where a reader runs."""

    subtask_index: int
    parallelism: int
    clock: Clock
    runtime: RuntimeContext | None = None
    """The task's own context; ``None`` outside of a task."""
    send_split_request: Callable[[], None] = _to_nobody
    """Asks the source's enumerator for something to read; its answer comes to ``add_splits``."""
    send_source_event: Callable[[Any], None] = _to_nobody
    """Sends any picklable object to ``SplitEnumerator.handle_source_event``."""
    wake: Callable[[], None] = _sleep_on
    """Asks for a ``poll`` soon, whatever ``Polled.wait_ms`` said; may be called from any thread."""
    config: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The job's configuration: where object stores are, and who asks."""

    def runtime_context(self) -> RuntimeContext:
        """What to open user functions of the source with."""
        if self.runtime is not None:
            return self.runtime
        return DetachedRuntimeContext("source", self.subtask_index, self.parallelism)


class SourceReader(ABC, Generic[T]):
    """Reads its splits; called from the task thread only, never concurrently."""

    def open(self) -> None:
        """Acquire connections; called once, in the worker, before the first poll."""

    @abstractmethod
    def poll(self, limit: int) -> Polled:
        """At most ``limit`` records that are there now; must not block for long."""

    def prepare_snapshot(self, checkpoint: int) -> None:
        """``snapshot_splits`` is called for ``checkpoint`` next, without a poll in between."""

    @abstractmethod
    def snapshot_splits(self) -> list[Any]:
        """The splits of this reader with their positions after the last poll."""

    def add_splits(self, splits: Sequence[Any]) -> None:
        """Read these too; only for sources with an enumerator. Called between two polls."""
        raise NotImplementedError(f"{type(self).__name__}: got {len(splits)} more splits")

    def notify_no_more_splits(self) -> None:
        """The enumerator has nothing more for this reader: END_OF_INPUT follows the splits it has.

        Before this call the reader of a source with an enumerator must not give END_OF_INPUT.
        """

    def handle_source_event(self, event: Any) -> None:
        """The enumerator sent something with ``send_event_to_reader``."""
        raise NotImplementedError(f"{type(self).__name__}: got the event {event!r}, expects none")

    def notify_checkpoint_complete(self, checkpoint: int) -> None:
        """What ``snapshot_splits`` gave for ``checkpoint`` can be relied on."""

    def split_ids(self) -> Sequence[str]:
        """The names of the splits to be read, as ``Polled.split`` gives them; asked after ``open``.

        A split that is not named here holds event time back from its first record on only.
        """
        return ()

    def pause_or_resume_splits(
        self, splits_to_pause: Sequence[str], splits_to_resume: Sequence[str]
    ) -> None:
        """Give no records of some splits for now, and again of others.

        Called for watermark alignment. A reader that does not implement it is not polled at all while
        its splits together are too far ahead.
        """
        del splits_to_pause, splits_to_resume
        raise NotImplementedError(f"{type(self).__name__}: cannot pause single splits")

    def close(self) -> None:
        """Release what ``open`` acquired; called once, also after a failure."""


class Source(ABC, Generic[T]):
    """Describes where records come from; picklable, holds no connection."""

    gives_columns: ClassVar[bool] = False
    """Whether readers give a ColumnRun where others give a list; runs may be longer then."""
    discovers_splits: ClassVar[bool] = False
    """Whether the source has an enumerator, and none of its splits from ``create_splits``."""

    def create_splits(self, parallelism: int) -> list[Any]:
        """The initial splits; split ``k`` goes to subtask ``k % parallelism``."""
        del parallelism
        raise NotImplementedError(
            f"{type(self).__name__}: says neither its splits nor who finds them"
        )

    def create_enumerator(self, context: SplitEnumeratorContext) -> SplitEnumerator[Any]:
        """Who finds the splits, at the job's first start; needed with ``discovers_splits``."""
        del context
        raise NotImplementedError(f"{type(self).__name__}: has no enumerator")

    def restore_enumerator(
        self, context: SplitEnumeratorContext, state: Any
    ) -> SplitEnumerator[Any]:
        """The enumerator that goes on from what ``snapshot_state`` of an earlier one gave."""
        del context
        raise NotImplementedError(
            f"{type(self).__name__}: cannot restore an enumerator from {state!r}"
        )

    @abstractmethod
    def create_reader(self, splits: list[Any], context: SourceReaderContext) -> SourceReader[T]:
        """A reader of ``splits``, fresh or with positions from a snapshot."""

    def get_boundedness(self) -> Boundedness:
        """Whether the source ends by itself."""
        return Boundedness.BOUNDED

    def get_produced_type(self) -> TypeInformation | None:
        """The declared type of the records, if there is one."""
        return None

    def get_forced_parallelism(self) -> int | None:
        """The only parallelism at which this source can run, if it is limited."""
        return None
