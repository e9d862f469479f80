"""Drives a source with an enumerator by hand: readers in one thread, calls run when a test says so."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from riverrun.api.bad_records import DeadLetter
from riverrun.api.source import Polled, Source, SourceReader, SourceReaderContext, SourceStatus
from riverrun.core.clock import Clock, SystemClock

_nap = threading.Event()


@dataclass
class _Call:
    call: Callable[[], Any]
    then: Callable[[Any, Exception | None], None]
    period_ms: float | None


@dataclass(frozen=True)
class Checkpoint:
    """What a job would go on from."""

    enumerator: Any
    splits: list[Any]
    told: bool


class SteppedSource:
    """An enumerator and its readers; a checkpoint of it can be restored at any parallelism."""

    def __init__(
        self,
        source: Source[Any],
        parallelism: int = 1,
        restore: Checkpoint | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.parallelism = parallelism
        self.clock = clock or SystemClock()
        self.registered_readers: list[int] = []
        self.config: Mapping[str, str] = {}
        self.calls: list[_Call] = []
        self.assigned: dict[int, list[Any]] = {i: [] for i in range(parallelism)}
        self.told: set[int] = set()
        self.values: list[Any] = []
        self.polls: list[Polled] = []
        self.dead_letters: list[DeadLetter] = []
        self.ended: set[int] = set()
        splits: list[Any] = []
        if restore is None:
            self.enumerator = source.create_enumerator(self)
        else:
            restore = pickle.loads(pickle.dumps(restore))
            self.enumerator = source.restore_enumerator(self, restore.enumerator)
            splits = restore.splits
        self.enumerator.start()
        self.readers: list[SourceReader[Any]] = []
        for index in range(parallelism):
            context = SourceReaderContext(index, parallelism, self.clock)
            reader = source.create_reader(splits[index::parallelism], context)
            self.readers.append(reader)
            if restore is not None and restore.told:
                reader.notify_no_more_splits()
                self.told.add(index)
            reader.open()
        for index in range(parallelism):
            self.registered_readers.append(index)
            self.enumerator.add_reader(index)

    # The enumerator's context.

    def assign_splits(self, splits: Sequence[Any], subtask: int) -> None:
        self.assigned[subtask] += splits
        self.readers[subtask].add_splits(pickle.loads(pickle.dumps(list(splits))))

    def signal_no_more_splits(self, subtask: int) -> None:
        if subtask not in self.told:
            self.told.add(subtask)
            self.readers[subtask].notify_no_more_splits()

    def send_event_to_reader(self, subtask: int, event: Any) -> None:
        self.readers[subtask].handle_source_event(event)

    def call_async(
        self,
        call: Callable[[], Any],
        then: Callable[[Any, Exception | None], None],
        *,
        initial_delay_ms: float = 0.0,
        period_ms: float | None = None,
    ) -> None:
        del initial_delay_ms
        self.calls.append(_Call(call, then, period_ms))

    # What tests do.

    def run_calls(self) -> None:
        """Let each call that is waiting run once; those with a period wait for the next time then."""
        calls, self.calls = self.calls, []
        for each in calls:
            if each.period_ms is not None:
                self.calls.append(each)
            try:
                result, error = each.call(), None
            except Exception as raised:  # noqa: BLE001  (handed to the enumerator)
                result, error = None, raised
            each.then(result, error)

    def poll(self, limit: int = 2048) -> int:
        """Ask every reader once; how many records came."""
        count = 0
        for index, reader in enumerate(self.readers):
            if index in self.ended:
                continue
            polled = reader.poll(limit)
            assert len(polled.values) <= limit
            if polled.timestamps is not None:
                assert len(polled.timestamps) == len(polled.values)
            self.polls.append(polled)
            self.values += polled.values
            self.dead_letters += polled.dead_letters
            count += len(polled.values)
            if polled.status is SourceStatus.END_OF_INPUT:
                assert index in self.told
                self.ended.add(index)
        return count

    @property
    def has_ended(self) -> bool:
        return len(self.ended) == self.parallelism

    def poll_until(self, done: Callable[[], bool], limit: int = 2048) -> None:
        """Poll until ``done``, or fail after so long that it will never be."""
        deadline = self.clock.monotonic() + 60_000
        while not done():
            assert self.clock.monotonic() < deadline, f"not done after {len(self.values)} records"
            if not self.poll(limit):
                _nap.wait(0.001)  # as a task would, that is told to ask again soon

    def run_to_end(self, limit: int = 2048) -> list[Any]:
        """All that a source with an end gives from now on."""
        self.run_calls()
        self.poll_until(lambda: self.has_ended, limit)
        return self.values

    def checkpoint(self, number: int = 1) -> Checkpoint:
        """A checkpoint as the runtime takes it."""
        state = self.enumerator.snapshot_state(number)
        splits = [split for reader in self.readers for split in reader.snapshot_splits()]
        return Checkpoint(state, splits, len(self.told) == self.parallelism)

    def complete(self, number: int = 1) -> None:
        for reader in self.readers:
            reader.notify_checkpoint_complete(number)

    def close(self) -> None:
        for reader in self.readers:
            reader.close()
        self.enumerator.close()
