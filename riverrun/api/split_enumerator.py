"""Who finds the splits of a source and deals them out: one enumerator for all readers of a source.

A source whose splits are not known from the start (new files, new partitions), or are better dealt out
one by one as readers get free, has an enumerator (``Source.discovers_splits``). It runs in the worker of
the source's first subtask, on the task's thread, between two runs of records:

    start                     once, then add_reader for each reader that is there
    handle_split_request      a reader wants something to read
    snapshot_state            at each checkpoint, before any reader takes part in it
    close                     once

A split belongs either to the enumerator's state or to a reader's, in every checkpoint: what was assigned
before ``snapshot_state`` is in the reader's part, what is assigned after it is not. After a failure
everything goes on from the checkpoint, so nobody has to give splits back. After a rescale the readers'
splits are dealt out anew among the readers that there are then.

What blocks (asking a server, listing a folder) goes through ``SplitEnumeratorContext.call_async``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from riverrun.core.clock import Clock

SplitT = TypeVar("SplitT")
R = TypeVar("R")


class SplitEnumeratorContext(Protocol):
    """What an enumerator may use; every method is called on the task's thread."""

    @property
    def parallelism(self) -> int:
        """How many readers the source has, from 0."""

    @property
    def clock(self) -> Clock:
        """The time; use no other."""

    @property
    def config(self) -> Mapping[str, str]:
        """The job's configuration: where object stores are, and who asks."""

    @property
    def registered_readers(self) -> Sequence[int]:
        """The subtasks whose readers are there, in order."""

    def assign_splits(self, splits: Sequence[Any], subtask: int) -> None:
        """Give splits to a registered reader, after those that it has."""

    def signal_no_more_splits(self, subtask: int) -> None:
        """Tell a registered reader that nothing follows: it ends when it has read what it has.

        The source ends when every reader was told so and has ended.
        """

    def send_event_to_reader(self, subtask: int, event: Any) -> None:
        """Send any picklable object to ``SourceReader.handle_source_event``."""

    def call_async(
        self,
        call: Callable[[], R],
        then: Callable[[R | None, Exception | None], None],
        *,
        initial_delay_ms: float = 0.0,
        period_ms: float | None = None,
    ) -> None:
        """Run ``call`` on another thread, and ``then`` with its result or its error on the task's.

        With ``period_ms`` again and again; a call begins only after the one before it is over. An
        exception that ``then`` raises fails the job.
        """


class SplitEnumerator(ABC, Generic[SplitT]):
    """Finds splits and assigns them; see the module's text for the order of calls."""

    def start(self) -> None:
        """Begin, before any reader is known."""

    @abstractmethod
    def add_reader(self, subtask: int) -> None:
        """The reader of ``subtask`` is there; it has the splits that were restored for it already."""

    @abstractmethod
    def handle_split_request(self, subtask: int) -> None:
        """The reader of ``subtask`` has nothing to read, or soon will."""

    @abstractmethod
    def snapshot_state(self, checkpoint: int) -> Any:
        """A picklable object that ``Source.restore_enumerator`` goes on from."""

    def handle_source_event(self, subtask: int, event: Any) -> None:
        """A reader sent something with ``SourceReaderContext.send_source_event``."""
        del subtask
        raise NotImplementedError(f"{type(self).__name__}: got the event {event!r}, expects none")

    def notify_checkpoint_complete(self, checkpoint: int) -> None:
        """``checkpoint`` can be relied on."""

    def close(self) -> None:
        """Release what ``start`` acquired; called once, also after a failure."""
