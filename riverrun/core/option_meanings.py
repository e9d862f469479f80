"""What options mean, in a sentence: for ``river config`` and for the reference page.

An option whose meaning needs a word beside its definition carries its description itself; the others,
most of them Flink's, are described here, so that the definitions stay a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

from riverrun.core.config_options import AnyOption
from riverrun.core.time import Duration

MEANINGS: Final[Mapping[str, str]] = {
    "parallelism.default": "how many subtasks an operator has that does not say; "
    "not set: one per core of a local master, else 1",
    "pipeline.max-parallelism": "the number of key groups; not set: from each operator's "
    "parallelism, 128 at least",
    "pipeline.name": "the job's name when `execute()` is called without one",
    "pipeline.operator-chaining.enabled": "whether operators may share a task",
    "pipeline.auto-watermark-interval": "how often a source may emit a watermark; 0: never",
    "pipeline.object-reuse": "records are never copied inside a task, whatever is set",
    "pipeline.auto-generate-uids": "false: every operator must have a uid",
    "pipeline.global-job-parameters": "what `RuntimeContext.get_job_parameter` gives",
    "execution.runtime-mode": "BATCH: a keyed reduce gives only its final values; "
    "AUTOMATIC: BATCH when every source is bounded",
    "execution.buffer-timeout.interval": "how long an output buffer waits for more records",
    "execution.buffer-timeout.enabled": "false: a buffer leaves only when it is full or when a "
    "control element follows",
    "taskmanager.network.memory.buffer-debloat.enabled": "whether a task keeps no more in flight "
    "towards a consumer than that one works off within the target",
    "taskmanager.network.memory.buffer-debloat.target": "how long it may take to work off what is "
    "in flight towards a task; 100 ms at least",
    "taskmanager.network.memory.buffer-debloat.period": "how often a task measures how much it works off",
    "taskmanager.network.memory.buffer-debloat.samples": "over how many periods that is averaged, about",
    "metrics.latency.interval": "how often a source sends a latency marker; 0: never",
    "metrics.latency.granularity": "latency is always measured per operator",
    "riverrun.heartbeat.interval": "how often a task and its JobMaster show that they are alive",
    "riverrun.heartbeat.timeout": "silence for longer than this fails the attempt",
    "riverrun.metrics.interval": "how often a task reports its metrics",
    "riverrun.s3.connect-timeout": "how long to wait for a connection to an object store",
    "execution.checkpointing.interval": "how often a checkpoint is taken; not set or 0: never",
    "execution.checkpointing.dir": "a folder or address that every worker reaches; not set: "
    "a temporary folder on a local master, memory in-process, refused on a cluster",
    "execution.checkpointing.storage": "jobmanager: as if no folder were set",
    "execution.checkpointing.mode": "what a failure may do to results",
    "execution.checkpointing.timeout": "a checkpoint that is not complete by then is given up",
    "execution.checkpointing.min-pause": "from the end of a checkpoint to the next",
    "execution.checkpointing.max-concurrent-checkpoints": "how many may be under way at once; "
    "1 when they are unaligned",
    "execution.checkpointing.tolerable-failed-checkpoints": "how many may fail in a row before "
    "the job restarts",
    "execution.checkpointing.num-retained": "how many complete checkpoints are kept",
    "execution.checkpointing.externalized-checkpoint-retention": "what becomes of them when the "
    "job is cancelled or fails",
    "execution.checkpointing.unaligned.enabled": "barriers do not wait for records; what is in "
    "flight becomes part of the checkpoint",
    "execution.checkpointing.aligned-checkpoint-timeout": "for unaligned ones: how long to stay "
    "aligned first",
    "execution.checkpointing.incremental": "write only what changed",
    "execution.checkpointing.checkpoints-after-tasks-finish": "go on when some tasks have "
    "finished, and take a last one at the end",
    "execution.checkpointing.unaligned.forced": "kept, changes nothing",
    "execution.checkpointing.snapshot-compression": "kept, changes nothing",
    "execution.checkpointing.savepoint-dir": "where savepoints go that are asked for without a folder",
    "state.changelog.enabled": "kept, changes nothing: incremental checkpoints serve its purpose",
    "state.backend.type": "where keyed state lives: in dicts, or in RocksDB",
    "s3.secret-key": "goes with the access key",
    "s3.region": "not set: the usual AWS environment, or where the bucket is",
    "restart-strategy.fixed-delay.attempts": "how many restarts",
    "restart-strategy.fixed-delay.delay": "before each restart",
    "restart-strategy.failure-rate.max-failures-per-interval": "how many failures are borne",
    "restart-strategy.failure-rate.failure-rate-interval": "in how long a time",
    "restart-strategy.failure-rate.delay": "before each restart",
    "restart-strategy.exponential-delay.initial-backoff": "before the first restart",
    "restart-strategy.exponential-delay.max-backoff": "the longest delay",
    "restart-strategy.exponential-delay.backoff-multiplier": "from one delay to the next",
    "restart-strategy.exponential-delay.jitter-factor": "by how much of it a delay differs at random",
    "restart-strategy.exponential-delay.reset-backoff-threshold": "a run without failure for this "
    "long makes the next delay the first one again",
    "restart-strategy.exponential-delay.attempts-before-reset-backoff": "restarts before that; "
    "not set: any number",
}


def meaning_of(option: AnyOption) -> str:
    """What ``option`` is for."""
    return MEANINGS.get(option.key) or option.description or "as in Flink"


def default_text(option: AnyOption) -> str:
    """The default of ``option``, for people."""
    match option.default:
        case None:
            return "not set"
        case Enum() as member:
            return member.name
        case Duration() as duration:
            return _duration(duration.to_millis())
        case Mapping() as pairs if not pairs:
            return "empty"
        case int() as size if "memory" in option.type.form:
            return f"{size >> 10} kb"
        case default:
            return option.type.render(default)


def _duration(millis: int) -> str:
    for unit, size in (("min", 60_000), ("s", 1000)):
        if millis and millis % size == 0:
            return f"{millis // size} {unit}"
    return f"{millis} ms"
