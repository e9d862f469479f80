"""Keys of Flink's configuration that are accepted and change nothing here.

A Flink configuration file or program can so be used as it is. What these keys set in Flink (memory
pools of a JVM, Netty, bundles between Java and Python ...) does not exist here or is Spark's to decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

OPEN_PREFIXES: Final = (
    "metrics.scope.",
    "metrics.system-resource",
    "state.backend.rocksdb.",
    "state.backend.forst.",
    "execution.checkpointing.file-merging.",
    "python.logging.",
    "taskmanager.memory.",
    "taskmanager.network.",
    "jobmanager.memory.",
    "jobmanager.adaptive-scheduler.",
    "s3.",
    "fs.",
    "table.",
    "sql-client.",
    "sql-gateway.",
    "kubernetes.",
    "yarn.",
    "akka.",
    "pekko.",
    "env.",
    "containerized.",
    "external-resource.",
    "security.",
    "pipeline.cep.",
    "high-availability.zookeeper.client.",
)
"""Below these, names are free or too many to list."""

_BY_PREFIX: Final = {
    "pipeline": """
        operator-chaining.chain-operators-with-different-max-parallelism
        auto-type-registration classpaths closure-cleaner-level force-avro force-kryo
        force-kryo-avro generic-types jars jobvertex-parallelism-overrides serialization-config
        vertex-description-mode vertex-name-include-index-prefix watermark-alignment.allow-unaligned-source-splits
        watermark-alignment.buffer-size default-kryo-serializers registered-kryo-types registered-pojo-types
    """,
    "execution": """
        batch-shuffle-mode job-listeners shutdown-on-application-finish shutdown-on-attached-exit
        sorted-inputs.enabled sorted-inputs.memory submit-failed-job-on-application-error target
        program-config.enabled program-config.wildcards allow-client-job-configurations
        state-recovery.without-channel-state.checkpoint-id
        checkpointing.interval-during-backlog checkpointing.create-subdir checkpointing.write-buffer-size
        checkpointing.local-backup.enabled checkpointing.local-backup.dirs
        checkpointing.unaligned.interruptible-timers.enabled
        checkpointing.unaligned.max-subtasks-per-channel-state-file checkpointing.during-recovery.enabled
        checkpointing.unaligned.during-recovery.enabled
        checkpointing.unaligned.recover-output-on-downstream.enabled checkpointing.cleaner.parallel-mode
        checkpointing.externalized-checkpoint-retention-policy batch.adaptive.auto-parallelism.enabled
        batch.adaptive.auto-parallelism.min-parallelism batch.adaptive.auto-parallelism.max-parallelism
        batch.speculative.enabled
    """,
    "state": """
        backend.async changelog.storage
        changelog.periodic-materialize.enabled changelog.periodic-materialize.interval
        changelog.max-failures-allowed
        checkpoints.create-subdir latency-track.keyed-state-enabled latency-track.sample-interval
        latency-track.history-size latency-track.state-name-as-variable size-track.keyed-state-enabled
        size-track.sample-interval storage.fs.write-buffer-size ttl.migration.enabled
    """,
    "metrics": """
        fetcher.timeout fetcher.update-interval internal.query-service.port
        internal.query-service.thread-priority job.status.enable latency.history-size
    """,
    "python": """
        client.executable execution-mode fn-execution.arrow.batch.size
        fn-execution.bundle.size fn-execution.bundle.time fn-execution.memory.managed
        fn-execution.streaming.enabled job-options map-state.iterate-response-batch-size
        map-state.read-cache-size map-state.write-cache-size metric.enabled operator-chaining.enabled
        profile.enabled pythonpath state.cache-size systemenv.enabled
    """,
    "rest": """
        await-leader-timeout cache.checkpoint-statistics.size
        cache.checkpoint-statistics.timeout client.max-content-length connection-timeout
        flamegraph.cleanup-interval idleness-timeout
        profiling.dir profiling.duration-max profiling.enabled profiling.history-size retry.delay
        retry.max-attempts server.numThreads url-prefix
        async.store-duration
    """,
    "taskmanager": """
        bind-host host registration.timeout numberOfTaskSlots resource-id rpc.bind-port rpc.port
        data.bind-port data.port data.ssl.enabled debug.memory.log debug.memory.log-interval
        exit-on-fatal-akka-error jvm-exit-on-oom load-balance.mode log.path runtime.fs-timeout
        slot.timeout tmp.dirs system-out.mode system-out.log.cache-upper-size
    """,
    "jobmanager": """
        bind-host adaptive-batch-scheduler.default-source-parallelism execution.attempts-history-size
        execution.failover-strategy failure-enrichers future-pool.size heap.size io-pool.size
        log.path partition.release-during-job-execution partition.hybrid.partition-data-consume-constraint
        resource-id retrieve-taskmanager-hostname rpc.address rpc.bind-port rpc.port
        scheduler-mode scheduler.mode
    """,
    "slot": "idle.timeout request.max-interval",
    "slotmanager": """
        number-of-slots.min number-of-slots.max redundant-taskmanager-num min-total-resource.cpu
        min-total-resource.memory max-total-resource.cpu max-total-resource.memory
        taskmanager-timeout fine-grained.waiting-mode
    """,
    "resourcemanager": """
        job.timeout rpc.port standalone.start-up-time start-worker.max-failure-rate
        start-worker.retry-interval taskmanager-timeout previous-worker.recovery.timeout
    """,
    "task": "cancellation.interval cancellation.timeout cancellation.timers.timeout",
    "blob": """
        client.connect.timeout client.socket.timeout fetch.backlog fetch.num-concurrent fetch.retries
        offload.minsize server.port service.cleanup.interval service.ssl.enabled storage.directory
    """,
    "io": "tmp.dirs",
    "classloader": """
        check-leaked-classloader fail-on-metaspace-oom-error parent-first-patterns.additional
        parent-first-patterns.default resolve-order
    """,
    "heartbeat": "interval timeout rpc-failure-threshold",
    "client": "heartbeat.interval retry-period timeout",
    "cluster": """
        intercept-user-system-exit processes.halt-on-fatal-error thread-dump.stacktrace-max-depth
        uncaught-exception-handling registration.error-delay registration.initial-timeout
        registration.max-timeout registration.refused-registration-delay services.shutdown-timeout
        io-pool.size evenly-spread-out-slots
    """,
    "jobstore": "cache-size type",
    "job-result-store": "delete-on-commit storage-path",
    "web": """
        address adaptive-scheduler.rescale-history.size checkpoints.history
        history log.path timeout tmpdir
    """,
    "historyserver": """
        archive.clean-expired-jobs archive.fs.dir archive.fs.refresh-interval archive.retained-jobs
        log.jobmanager.url-pattern log.taskmanager.url-pattern web.address web.port
        web.refresh-interval web.ssl.enabled web.tmpdir
    """,
    "high-availability": """
        jobmanager.port zookeeper.path.jobgraphs zookeeper.path.running-registry use-old-ha-services
    """,
}

ACCEPTED: Final = frozenset(
    f"{prefix}.{name}" for prefix, names in _BY_PREFIX.items() for name in names.split()
)
"""The keys, in full."""

_INSTEAD: Final[Mapping[str, str]] = {
    "taskmanager.memory.": "the memory of workers is spark.executor.memory",
    "taskmanager.network.": "tasks exchange records through Spark's shuffle",
    "taskmanager.numberOfTaskSlots": "slots follow from spark.executor.cores and spark.task.cpus",
    "jobmanager.memory.": "the memory of the JobManager is spark.driver.memory",
    "jobmanager.heap.size": "the memory of the JobManager is spark.driver.memory",
    "kubernetes.": "on Kubernetes, Spark's own settings count: spark.kubernetes.*",
    "yarn.": "on YARN, Spark's own settings count: spark.yarn.*",
    "akka.": "riverrun talks over plain sockets",
    "pekko.": "riverrun talks over plain sockets",
    "env.": "set spark.driver.extraJavaOptions and spark.executor.extraJavaOptions for Spark's JVMs",
    "python.fn-execution.": "functions run inside their task, without bundles",
    "python.execution-mode": "functions always run inside their task",
    "python.map-state.": "state is where the function is, nothing is cached in between",
    "python.state.cache-size": "state is where the function is, nothing is cached in between",
    "pipeline.jars": "connectors are Python packages here",
    "pipeline.classpaths": "connectors are Python packages here",
    "pipeline.force-": "values travel by their declared type, or pickled",
    "pipeline.registered-": "values travel by their declared type, or pickled",
    "pipeline.default-kryo-serializers": "values travel by their declared type, or pickled",
    "pipeline.generic-types": "a value without a type is pickled",
    "state.backend.forst.": "the state backends are hashmap and rocksdb",
    "state.backend.rocksdb.": "of RocksDB's settings only memory.fixed-per-slot, localdir and "
    "timer-service.factory are read",
    "classloader.": "there are no class loaders here",
    "blob.": "files of a job travel with the job",
    "io.tmp.dirs": "set spark.local.dir, or TMPDIR on the workers",
    "task.cancellation.": "see riverrun.cancel.grace",
    "heartbeat.": "see riverrun.heartbeat.interval and riverrun.heartbeat.timeout",
}
"""Why keys that begin so have no effect, or what to set instead."""


def instead_of(key: str) -> str:
    """Why ``key`` has no effect, or what to set instead; empty if there is nothing more to say.

    >>> instead_of("taskmanager.memory.process.size")
    'the memory of workers is spark.executor.memory'
    """
    return next((_INSTEAD[prefix] for prefix in _INSTEAD if key.startswith(prefix)), "")
