"""The options that a program and its tasks read, with their types and defaults.

Flink's keys keep Flink's meaning; keys of our own begin with ``riverrun.``. Keys that are accepted so
that a Flink configuration can be used as it is, but that change nothing here, are in
``accepted_options``. ``option_registry`` knows all options by key.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final

from riverrun.core.config_options import (
    BOOLEAN,
    DURATION,
    FLOAT,
    INT,
    MAP,
    MEMORY,
    STRING,
    ConfigOption,
    OptionType,
    at_least,
    choice,
    enum_type,
    lasting,
    optional,
)
from riverrun.core.ids import JobId
from riverrun.core.time import Duration

_ms = Duration.of_millis
_s = Duration.of_seconds
_min = Duration.of_minutes


class RuntimeExecutionMode(Enum):
    """Whether results are updated as records come (STREAMING) or given once at the end (BATCH)."""

    STREAMING = 0
    BATCH = 1
    AUTOMATIC = 2
    """BATCH when every source is bounded, else STREAMING."""


class CheckpointingMode(Enum):
    """What a failure may do to results: nothing, or count records again."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1


class ExternalizedCheckpointRetention(Enum):
    """What becomes of a job's checkpoints when it is cancelled."""

    DELETE_ON_CANCELLATION = 0
    RETAIN_ON_CANCELLATION = 1
    NO_EXTERNALIZED_CHECKPOINTS = 2


class RecoveryClaimMode(Enum):
    """Whose the checkpoint or savepoint is that a job starts from."""

    CLAIM = 0
    """The job's: it builds on its files and deletes them when it needs them no more."""
    NO_CLAIM = 1
    """Not the job's: it is read once, and the first checkpoint after that holds everything."""
    LEGACY = 2
    """Not the job's, which never deletes it, but builds on its files."""


class SavepointFormatType(Enum):
    """Flink's two formats; savepoints have the same open one here, which every backend reads."""

    CANONICAL = 0
    NATIVE = 1


class AggregatePhaseStrategy(Enum):
    """Whether aggregates on columns are first made where the records are, then at their key."""

    AUTO = 0
    """In two phases where that gives the same results; records pass as they are where it saves nothing."""
    ONE_PHASE = 1
    TWO_PHASE = 2
    """As AUTO, but records are always added up before they travel."""


def _job_id(text: str) -> str:
    return str(JobId(text.strip()))


# the program
PARALLELISM: Final = ConfigOption("parallelism.default", optional(INT), None)
MAX_PARALLELISM: Final = ConfigOption("pipeline.max-parallelism", optional(INT), None)
PIPELINE_NAME: Final = ConfigOption("pipeline.name", optional(STRING), None)
OPERATOR_CHAINING: Final = ConfigOption(
    "pipeline.operator-chaining.enabled",
    BOOLEAN,
    default=True,
    fallback_keys=("pipeline.operator-chaining",),
)
AUTO_WATERMARK_INTERVAL: Final = ConfigOption(
    "pipeline.auto-watermark-interval", DURATION, _ms(200)
)
OBJECT_REUSE: Final = ConfigOption("pipeline.object-reuse", BOOLEAN, default=False)
AUTO_GENERATE_UIDS: Final = ConfigOption("pipeline.auto-generate-uids", BOOLEAN, default=True)
GLOBAL_JOB_PARAMETERS: Final[ConfigOption[Mapping[str, str]]] = ConfigOption(
    "pipeline.global-job-parameters", MAP, MappingProxyType({})
)
RUNTIME_MODE: Final = ConfigOption(
    "execution.runtime-mode", enum_type(RuntimeExecutionMode), RuntimeExecutionMode.STREAMING
)
AGGREGATE_PHASES: Final = ConfigOption(
    "table.optimizer.agg-phase-strategy",
    enum_type(AggregatePhaseStrategy),
    AggregatePhaseStrategy.AUTO,
)
BUFFER_TIMEOUT: Final = ConfigOption(
    "execution.buffer-timeout.interval",
    DURATION,
    _ms(10),
    fallback_keys=("execution.buffer-timeout",),
)
BUFFER_TIMEOUT_ENABLED: Final = ConfigOption(
    "execution.buffer-timeout.enabled", BOOLEAN, default=True
)
DEBLOAT: Final = ConfigOption(
    "taskmanager.network.memory.buffer-debloat.enabled", BOOLEAN, default=False
)
DEBLOAT_TARGET: Final = ConfigOption(
    "taskmanager.network.memory.buffer-debloat.target", lasting(_ms(100)), _s(1)
)
DEBLOAT_PERIOD: Final = ConfigOption(
    "taskmanager.network.memory.buffer-debloat.period", lasting(_ms(10)), _ms(200)
)
DEBLOAT_SAMPLES: Final = ConfigOption(
    "taskmanager.network.memory.buffer-debloat.samples", at_least(1), 20
)
LATENCY_INTERVAL: Final = ConfigOption(
    "metrics.latency.interval", DURATION, _ms(0), "0 turns latency markers off"
)
LATENCY_GRANULARITY: Final = ConfigOption(
    "metrics.latency.granularity", choice("single", "operator", "subtask"), "operator"
)

# checkpoints
CHECKPOINT_INTERVAL: Final = ConfigOption(
    "execution.checkpointing.interval", optional(DURATION), None
)
CHECKPOINTING_MODE: Final = ConfigOption(
    "execution.checkpointing.mode", enum_type(CheckpointingMode), CheckpointingMode.EXACTLY_ONCE
)
CHECKPOINT_TIMEOUT: Final = ConfigOption("execution.checkpointing.timeout", DURATION, _min(10))
CHECKPOINT_MIN_PAUSE: Final = ConfigOption("execution.checkpointing.min-pause", DURATION, _ms(0))
MAX_CONCURRENT_CHECKPOINTS: Final = ConfigOption(
    "execution.checkpointing.max-concurrent-checkpoints", INT, 1
)
TOLERABLE_FAILED_CHECKPOINTS: Final = ConfigOption(
    "execution.checkpointing.tolerable-failed-checkpoints", INT, 0
)
RETAINED_CHECKPOINTS: Final = ConfigOption(
    "execution.checkpointing.num-retained",
    INT,
    1,
    fallback_keys=("state.checkpoints.num-retained",),
)
EXTERNALIZED_RETENTION: Final = ConfigOption(
    "execution.checkpointing.externalized-checkpoint-retention",
    enum_type(ExternalizedCheckpointRetention),
    ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS,
)
CHECKPOINT_STORAGE: Final = ConfigOption(
    "execution.checkpointing.storage",
    optional(choice("jobmanager", "filesystem")),
    None,
    fallback_keys=("state.checkpoint-storage",),
)
CHECKPOINT_DIR: Final = ConfigOption(
    "execution.checkpointing.dir", optional(STRING), None, fallback_keys=("state.checkpoints.dir",)
)
SAVEPOINT_DIR: Final = ConfigOption(
    "execution.checkpointing.savepoint-dir",
    optional(STRING),
    None,
    "where savepoints go that are asked for without a folder",
    fallback_keys=("state.savepoints.dir",),
)
UNALIGNED: Final = ConfigOption(
    "execution.checkpointing.unaligned.enabled",
    BOOLEAN,
    default=False,
    fallback_keys=("execution.checkpointing.unaligned",),
)
UNALIGNED_FORCED: Final = ConfigOption(
    "execution.checkpointing.unaligned.forced", BOOLEAN, default=False
)
ALIGNED_TIMEOUT: Final = ConfigOption(
    "execution.checkpointing.aligned-checkpoint-timeout", DURATION, _ms(0)
)
INCREMENTAL: Final = ConfigOption(
    "execution.checkpointing.incremental",
    BOOLEAN,
    default=False,
    fallback_keys=("state.backend.incremental",),
)
CHECKPOINTS_AFTER_FINISH: Final = ConfigOption(
    "execution.checkpointing.checkpoints-after-tasks-finish", BOOLEAN, default=True
)
SNAPSHOT_COMPRESSION: Final = ConfigOption(
    "execution.checkpointing.snapshot-compression", BOOLEAN, default=False
)
STATE_BACKEND: Final = ConfigOption(
    "state.backend.type", choice("hashmap", "rocksdb"), "hashmap", fallback_keys=("state.backend",)
)
CHANGELOG: Final = ConfigOption("state.changelog.enabled", optional(BOOLEAN), None)
ROCKSDB_MEMORY: Final = ConfigOption(
    "state.backend.rocksdb.memory.fixed-per-slot",
    MEMORY,
    256 << 20,
    "what all rocksdb state of one subtask may hold in memory: block cache, write buffers, our cache",
)
ROCKSDB_FOLDER: Final = ConfigOption(
    "state.backend.rocksdb.localdir",
    optional(STRING),
    None,
    "local folder of the databases; the machine's temporary folder if not set",
)
ROCKSDB_TIMERS: Final = ConfigOption(
    "state.backend.rocksdb.timer-service.factory",
    choice("rocksdb", "heap"),
    "rocksdb",
    "where timers of the rocksdb backend are: ROCKSDB, on disk when they are many; HEAP, all in memory",
)
INLINE_THRESHOLD: Final = ConfigOption(
    "execution.checkpointing.data-inline-threshold",
    MEMORY,
    20 << 10,
    "state smaller than this is kept in the checkpoint's metadata instead of a file",
    fallback_keys=("state.storage.fs.memory-threshold",),
)
LOCAL_RECOVERY: Final = ConfigOption(
    "execution.state-recovery.from-local",
    BOOLEAN,
    default=False,
    description="restore from copies on the worker's machine where they are still there",
    fallback_keys=("state.backend.local-recovery",),
)

RESTORE_PATH: Final = ConfigOption(
    "execution.state-recovery.path",
    optional(STRING),
    None,
    "the checkpoint or savepoint to start from: its folder, or its _metadata file",
    fallback_keys=("execution.savepoint.path",),
)
ALLOW_NON_RESTORED: Final = ConfigOption(
    "execution.state-recovery.ignore-unclaimed-state",
    BOOLEAN,
    default=False,
    description="start although state in the checkpoint belongs to no operator of the program",
    fallback_keys=("execution.savepoint.ignore-unclaimed-state",),
)

CLAIM_MODE: Final = ConfigOption(
    "execution.state-recovery.claim-mode",
    enum_type(RecoveryClaimMode),
    RecoveryClaimMode.NO_CLAIM,
    "NO_CLAIM: the checkpoint started from is left alone; CLAIM: it is the job's and goes with its own "
    "ones; LEGACY: it is built on and never deleted",
    fallback_keys=("execution.savepoint-restore-mode", "execution.savepoint.restore-mode"),
)

# the store of checkpoints
S3_ENDPOINT: Final = ConfigOption(
    "s3.endpoint", optional(STRING), None, "address of an S3-compatible store; AWS if not set"
)
S3_ACCESS_KEY: Final = ConfigOption(
    "s3.access-key",
    optional(STRING),
    None,
    "without it: the usual AWS environment",
    fallback_keys=("s3.access.key",),
)
S3_SECRET_KEY: Final = ConfigOption(
    "s3.secret-key", optional(STRING), None, fallback_keys=("s3.secret.key",)
)
S3_PATH_STYLE: Final = ConfigOption(
    "s3.path.style.access",
    optional(BOOLEAN),
    None,
    "whether the bucket is in the path (the default with s3.endpoint) or in the host name",
    fallback_keys=("s3.path-style-access",),
)
S3_REGION: Final = ConfigOption(
    "s3.region", optional(STRING), None, fallback_keys=("s3.endpoint.region",)
)
S3_CONNECT_TIMEOUT: Final = ConfigOption("riverrun.s3.connect-timeout", DURATION, _s(5))
S3_REQUEST_TIMEOUT: Final = ConfigOption(
    "riverrun.s3.request-timeout",
    DURATION,
    _s(30),
    "a request that is silent for so long has failed",
)
S3_ATTEMPTS: Final = ConfigOption(
    "riverrun.s3.attempts", INT, 3, "how often a request is tried before its checkpoint fails"
)

# restart
RESTART_STRATEGY: Final = ConfigOption(
    "restart-strategy.type",
    optional(choice("none", "off", "disable", "fixed-delay", "failure-rate", "exponential-delay")),
    None,
    "without it: none when checkpoints are off, else exponential-delay",
    fallback_keys=("restart-strategy",),
)
FIXED_DELAY_ATTEMPTS: Final = ConfigOption("restart-strategy.fixed-delay.attempts", INT, 1)
FIXED_DELAY: Final = ConfigOption("restart-strategy.fixed-delay.delay", DURATION, _s(1))
FAILURE_RATE_MAX: Final = ConfigOption(
    "restart-strategy.failure-rate.max-failures-per-interval", INT, 1
)
FAILURE_RATE_INTERVAL: Final = ConfigOption(
    "restart-strategy.failure-rate.failure-rate-interval", DURATION, _min(1)
)
FAILURE_RATE_DELAY: Final = ConfigOption("restart-strategy.failure-rate.delay", DURATION, _s(1))
BACKOFF_INITIAL: Final = ConfigOption(
    "restart-strategy.exponential-delay.initial-backoff", DURATION, _s(1)
)
BACKOFF_MAX: Final = ConfigOption(
    "restart-strategy.exponential-delay.max-backoff", DURATION, _min(1)
)
BACKOFF_MULTIPLIER: Final = ConfigOption(
    "restart-strategy.exponential-delay.backoff-multiplier", FLOAT, 1.5
)
BACKOFF_RESET: Final = ConfigOption(
    "restart-strategy.exponential-delay.reset-backoff-threshold", DURATION, _min(60)
)
BACKOFF_JITTER: Final = ConfigOption("restart-strategy.exponential-delay.jitter-factor", FLOAT, 0.1)
BACKOFF_ATTEMPTS: Final = ConfigOption(
    "restart-strategy.exponential-delay.attempts-before-reset-backoff", optional(INT), None
)

# slots, and who decides the parallelism
SLOT_REQUEST_TIMEOUT: Final = ConfigOption(
    "slot.request.timeout",
    DURATION,
    _min(5),
    "how long a job waits for executors to come, or for other jobs to end, when there are too few slots",
)
SCHEDULER: Final = ConfigOption(
    "jobmanager.scheduler",
    choice("default", "adaptive", "adaptivebatch"),
    "default",
    "default: as many subtasks as the program says; adaptive: as many as there is room for, up to that; "
    "adaptivebatch is default here",
)
SCHEDULER_MODE: Final = ConfigOption(
    "scheduler-mode",
    optional(choice("reactive")),
    None,
    "reactive: as many subtasks as there is room for, up to the max parallelism",
)
ADAPTIVE_WAIT: Final = ConfigOption(
    "jobmanager.adaptive-scheduler.submission.resource-wait-timeout",
    optional(DURATION),
    None,
    "how long an adaptive job waits for the fewest slots that it can run with; without it: 5 min, in "
    "reactive mode for ever",
    fallback_keys=("jobmanager.adaptive-scheduler.resource-wait-timeout",),
)
ADAPTIVE_SETTLING: Final = ConfigOption(
    "jobmanager.adaptive-scheduler.submission.resource-stabilization-timeout",
    optional(DURATION),
    None,
    "how long an adaptive job that could start waits for more slots; without it: 10 s, in reactive mode 0",
    fallback_keys=("jobmanager.adaptive-scheduler.resource-stabilization-timeout",),
)
ADAPTIVE_COOLDOWN: Final = ConfigOption(
    "jobmanager.adaptive-scheduler.executing.cooldown-after-rescaling",
    DURATION,
    _s(30),
    "how long an adaptive job runs before its parallelism is changed again",
    fallback_keys=("jobmanager.adaptive-scheduler.scaling-interval.min",),
)
ADAPTIVE_PATIENCE: Final = ConfigOption(
    "jobmanager.adaptive-scheduler.executing.resource-stabilization-timeout",
    DURATION,
    _min(1),
    "how long a running adaptive job waits for yet more slots before it uses those that came",
    fallback_keys=("jobmanager.adaptive-scheduler.scaling-interval.max",),
)
ADAPTIVE_MIN_INCREASE: Final = ConfigOption(
    "jobmanager.adaptive-scheduler.min-parallelism-increase",
    INT,
    1,
    "by how much the parallelisms of all vertices together must grow to be worth a restart",
)

# riverrun's own
MASTER: Final = ConfigOption(
    "riverrun.master",
    STRING,
    "local[*]",
    "where jobs run: local[N], local[*], spark://host:port, yarn, k8s://..., or in-process",
)
FRAME_BYTES: Final = ConfigOption(
    "riverrun.frame.bytes", MEMORY, 128 << 10, "a buffer that holds this much leaves at once"
)
LOCAL_FRAME_BYTES: Final = ConfigOption(
    "riverrun.frame.local-bytes",
    MEMORY,
    32 << 10,
    "frames from this size on go through memory that tasks on one machine share, not through Spark",
)
LOCAL_FRAME_MEMORY: Final = ConfigOption(
    "riverrun.frame.local-memory",
    MEMORY,
    32 << 20,
    "how much of that memory a task may hold; 0: all frames go through Spark",
)
LOCAL_FRAME_FOLDER: Final = ConfigOption(
    "riverrun.frame.local-folder",
    optional(STRING),
    None,
    "where that memory is: a folder that the tasks of a machine share; "
    "/dev/shm if there is room, else the folder for temporary files, unless set",
)
HEARTBEAT_INTERVAL: Final = ConfigOption("riverrun.heartbeat.interval", DURATION, _s(1))
HEARTBEAT_TIMEOUT: Final = ConfigOption("riverrun.heartbeat.timeout", DURATION, _s(50))
METRICS_INTERVAL: Final = ConfigOption("riverrun.metrics.interval", DURATION, _s(1))
CANCEL_GRACE: Final = ConfigOption(
    "riverrun.cancel.grace", DURATION, _s(1), "how long a task may take to end when cancelled"
)
COLLECT_WINDOW_BYTES: Final = ConfigOption(
    "riverrun.collect.window-bytes", MEMORY, 4 << 20, "results a task may send ahead of the client"
)
MAILBOX_FRAMES: Final = ConfigOption(
    "riverrun.mailbox.frames", INT, 4, "frames that wait in front of a task"
)
ALIGNMENT_MEMORY: Final = ConfigOption(
    "riverrun.alignment.memory",
    MEMORY,
    16 << 20,
    "what a task holds in memory while it waits for barriers; more goes to a file",
)
JOB_ID: Final = ConfigOption(
    "riverrun.job-id",
    optional(OptionType("32 lower-case hexadecimal characters", _job_id)),
    None,
    "the job's id, so that a later run can go on in its place; a new one each time if not set",
)
RESUME: Final = ConfigOption(
    "riverrun.resume",
    BOOLEAN,
    default=False,
    description="go on from the latest checkpoint of the job with this id, if there is one",
)
CONTROL_HOST: Final = ConfigOption(
    "riverrun.control.host",
    optional(STRING),
    None,
    "the address at which workers reach the JobMaster; found by itself if not set",
)
LOCAL_SLOTS: Final = ConfigOption(
    "riverrun.local.slots", INT, 1024, "the most task slots a local master opens"
)
IN_PROCESS_SEED: Final = ConfigOption(
    "riverrun.in-process.seed", INT, 0, "seeds the order in which the in-process master runs tasks"
)
