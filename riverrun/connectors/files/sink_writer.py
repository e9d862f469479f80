"""The writer of the file sink: records go to buckets, buckets to parts, parts to checkpoints."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from riverrun.api.sink import SinkWriter
from riverrun.connectors.files.bucket_assigners import BucketAssigner, checked_bucket, grouped
from riverrun.connectors.files.compaction_merges import Compaction
from riverrun.connectors.files.compaction_strategy import FileCompactor, FileCompactStrategy
from riverrun.connectors.files.output_config import OutputFileConfig, PartNames
from riverrun.connectors.files.output_formats import PartFormat
from riverrun.connectors.files.output_parts import Lineage, OutputFiles
from riverrun.connectors.files.paths import FileStore
from riverrun.connectors.files.rolling_policies import RollingPolicy
from riverrun.connectors.files.sink_buckets import Bucket
from riverrun.connectors.files.sink_state import (
    BucketsSeen,
    Discarded,
    EndedWriter,
    HeldPart,
    OpenPart,
    Pending,
    PendingFile,
)
from riverrun.core.clock import Clock
from riverrun.storage.storage import StorageError

__all__ = ["FileWriter", "SinkPlan"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SinkPlan:
    """All that was said about a sink; picklable."""

    base: str
    part_format: PartFormat
    assigner: BucketAssigner
    policy: RollingPolicy
    names: OutputFileConfig
    suffix: str
    """What the format adds to the names of parts."""
    check_interval_ms: int
    compaction: tuple[FileCompactStrategy, FileCompactor] | None
    success_file: str | None
    """The name of the marker of complete output; None: there is none."""
    success_in_buckets: bool
    storage_options: Mapping[str, str] = field(repr=False)
    """How to reach the store, beside what the job's configuration says."""


class FileWriter(SinkWriter[Any]):
    """Writes the parts of one subtask."""

    def __init__(
        self,
        plan: SinkPlan,
        outputs: OutputFiles,
        lineage: Lineage,
        restored: Sequence[Any],
        store: FileStore,
        clock: Clock,
    ) -> None:
        self._plan = plan
        self._outputs = outputs
        self._lineage = lineage
        self._restored = restored
        self._store = store
        self._clock = clock
        self._names = PartNames.of(plan.names, plan.suffix, lineage)
        self._keeps_open = plan.part_format.keeps_open and outputs.keeps_open
        self._buckets: dict[str, Bucket] = {}
        self._seen: set[str] = set()
        """The buckets with records, where there are markers in them at the end."""
        self._compaction = (
            None
            if plan.compaction is None
            else Compaction(*plan.compaction, outputs, store, self._names)
        )
        self._holds = plan.compaction is not None
        self._leftovers = Discarded()
        self._next_check = 0
        self._ended = False
        self._end_told = False

    def open(self) -> None:
        self._plan.part_format.prepare()
        self._outputs.check()
        self._leftovers = self._outputs.leftovers()
        now = self._clock.now()
        self._next_check = now + self._plan.check_interval_ms
        for item in self._restored:
            self._restore(item, now)

    def write(self, value: Any, timestamp: int | None) -> None:
        self.write_run([value], None if timestamp is None else [timestamp])

    def write_run(self, values: list[Any], timestamps: list[int] | None) -> None:
        now = self._clock.now()
        buckets = self._plan.assigner.bucket_ids(values, timestamps, now)
        if isinstance(buckets, str):
            self._bucket(buckets).write(values, now)
        else:
            for bucket, part in grouped(values, buckets):
                self._bucket(bucket).write(part, now)
        if now >= self._next_check:
            self._next_check = now + self._plan.check_interval_ms
            for each in self._buckets.values():
                each.check(now)

    def flush(self, *, end_of_input: bool) -> None:
        if end_of_input:
            self._ended = True

    def prepare_commit(self) -> list[Any]:
        now = self._clock.now()
        keeps_open = self._keeps_open and not self._ended
        prepared: list[Any] = []
        for bucket_id, bucket in list(self._buckets.items()):
            for pending in bucket.prepare(now, keeps_open=keeps_open):
                if self._holds and self._compaction is not None:
                    self._compaction.add(bucket_id, pending)
                else:
                    prepared.append(pending)
            if bucket.is_idle:
                del self._buckets[bucket_id]
        if self._compaction is not None:
            prepared += self._compaction.prepare(ended=self._ended)
        if self._leftovers:
            prepared.append(self._leftovers)
            self._leftovers = Discarded()
        if self._ended and not self._end_told:
            self._end_told = True
            seen = tuple(sorted(self._seen))
            prepared.append(EndedWriter(self._lineage.subtask, self._lineage.parallelism, seen))
        return prepared

    def snapshot_state(self) -> list[Any]:
        state: list[Any] = [
            saved for bucket in self._buckets.values() if (saved := bucket.saved()) is not None
        ]
        if self._compaction is not None:
            state += self._compaction.state()
        if self._seen:
            state.append(BucketsSeen(tuple(sorted(self._seen))))
        return state

    def close(self) -> None:
        unknown: list[Pending] = []
        if self._compaction is not None:
            unknown += self._compaction.close()
        for bucket in self._buckets.values():
            unknown += bucket.release()
        self._buckets.clear()
        with suppress(StorageError):  # the next attempt finds what stays among the leftovers
            self._outputs.discard(_discarded(unknown))
        self._outputs.close()

    def _restore(self, item: Any, now: int) -> None:
        match item:
            case OpenPart():
                file = self._outputs.resume(item, self._names.next())
                if file is not None:
                    self._bucket(item.bucket).resume(file, item.created_ms, now)
            case HeldPart():
                self._hold_again(item)
            case BucketsSeen():
                if self._plan.success_in_buckets:
                    self._seen.update(item.buckets)
            case _:
                raise TypeError(
                    f"file sink: the checkpoint has {item!r}, of which it knows nothing"
                )

    def _hold_again(self, held: HeldPart) -> None:
        if self._compaction is None:
            # Compaction was switched off since: each goes out as it is, with the next checkpoint.
            strategy = FileCompactStrategy(num_checkpoints=1)
            compactor = FileCompactor.identical_file_compactor()
            self._compaction = Compaction(
                strategy, compactor, self._outputs, self._store, self._names
            )
        self._compaction.restore(held)

    def _bucket(self, bucket_id: str) -> Bucket:
        found = self._buckets.get(bucket_id)
        if found is None:
            plan = self._plan
            found = self._buckets[bucket_id] = Bucket(
                checked_bucket(bucket_id),
                plan.part_format,
                plan.policy,
                partial(self._open_file, bucket_id),
            )
            if plan.success_in_buckets:
                self._seen.add(bucket_id)
        return found

    def _open_file(self, bucket_id: str) -> Any:
        return self._outputs.open(bucket_id, self._names.next(), held=self._holds)


def _discarded(pending: Sequence[Pending]) -> Discarded:
    files = tuple(each.staged for each in pending if isinstance(each, PendingFile))
    uploads = tuple(
        (each.target, each.upload_id) for each in pending if not isinstance(each, PendingFile)
    )
    return Discarded(files, uploads)
