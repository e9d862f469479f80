"""Keys of Flink's configuration that are accepted and change nothing here.

A Flink configuration file or program can so be used as it is. What these keys set in Flink (memory
pools of a JVM, Netty, bundles between Java and Python ...) does not exist here or is Spark's to decide.
"""

from __future__ import annotations

from typing import Final

OPEN_PREFIXES: Final = (
    "metrics.reporter.",
    "metrics.reporters",
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
)
"""Below these, names are free or too many to list."""

_BY_PREFIX: Final = {
    "pipeline": """
        operator-chaining.chain-operators-with-different-max-parallelism
        auto-type-registration cached-files classpaths closure-cleaner-level force-avro force-kryo
        force-kryo-avro generic-types jars jobvertex-parallelism-overrides serialization-config
        vertex-description-mode vertex-name-include-index-prefix watermark-alignment.allow-unaligned-source-splits
        watermark-alignment.buffer-size default-kryo-serializers registered-kryo-types registered-pojo-types
    """,
    "execution": """
        attached batch-shuffle-mode job-listeners shutdown-on-application-finish shutdown-on-attached-exit
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
        archives client.executable executable execution-mode files fn-execution.arrow.batch.size
        fn-execution.bundle.size fn-execution.bundle.time fn-execution.memory.managed
        fn-execution.streaming.enabled job-options map-state.iterate-response-batch-size
        map-state.read-cache-size map-state.write-cache-size metric.enabled operator-chaining.enabled
        profile.enabled pythonpath requirements state.cache-size systemenv.enabled
    """,
    "rest": """
        address bind-address port bind-port await-leader-timeout cache.checkpoint-statistics.size
        cache.checkpoint-statistics.timeout client.max-content-length connection-timeout
        flamegraph.cleanup-interval flamegraph.delay-between-samples flamegraph.enabled
        flamegraph.num-samples flamegraph.refresh-interval flamegraph.stack-depth idleness-timeout
        profiling.dir profiling.duration-max profiling.enabled profiling.history-size retry.delay
        retry.max-attempts server.max-content-length server.numThreads url-prefix
        async.store-duration
    """,
    "taskmanager": """
        bind-host host registration.timeout numberOfTaskSlots resource-id rpc.bind-port rpc.port
        data.bind-port data.port data.ssl.enabled debug.memory.log debug.memory.log-interval
        exit-on-fatal-akka-error jvm-exit-on-oom load-balance.mode log.path runtime.fs-timeout
        slot.timeout tmp.dirs system-out.mode system-out.log.cache-upper-size
    """,
    "jobmanager": """
        archive.fs.dir bind-host adaptive-batch-scheduler.default-source-parallelism execution.attempts-history-size
        execution.failover-strategy failure-enrichers future-pool.size heap.size io-pool.size
        log.path partition.release-during-job-execution partition.hybrid.partition-data-consume-constraint
        resource-id retrieve-taskmanager-hostname rpc.address rpc.bind-port rpc.port scheduler
        scheduler-mode scheduler.mode
    """,
}

ACCEPTED: Final = frozenset(
    f"{prefix}.{name}" for prefix, names in _BY_PREFIX.items() for name in names.split()
)
"""The keys, in full."""
