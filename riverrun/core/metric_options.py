"""Options of what a cluster shows of itself: metrics, log files, flame graphs."""

from __future__ import annotations

from typing import Final

from riverrun.core.config_options import (
    BOOLEAN,
    DURATION,
    INT,
    MAP,
    MEMORY,
    STRING,
    STRINGS,
    ConfigOption,
    choice,
    optional,
)
from riverrun.core.time import Duration

# reporters
REPORTERS: Final = ConfigOption(
    "metrics.reporters",
    optional(STRINGS),
    None,
    "names of the reporters; each is set up below metrics.reporter.<name>",
)
REPORTER: Final = ConfigOption(
    "metrics.reporter",
    MAP,
    {},
    "settings of reporters: <name>.factory.class (prometheus, json, opentelemetry), <name>.interval, "
    "<name>.port ...; see the guide to monitoring",
)

# how their names begin
SCOPE_DELIMITER: Final = ConfigOption(
    "metrics.scope.delimiter", STRING, ".", "stands between the parts of a metric's name"
)
SCOPE_JM: Final = ConfigOption(
    "metrics.scope.jm", STRING, "<host>.jobmanager", "how names of the JobManager's metrics begin"
)
SCOPE_JM_JOB: Final = ConfigOption(
    "metrics.scope.jm-job",
    STRING,
    "<host>.jobmanager.<job_name>",
    "how names of a job's metrics begin",
    ("metrics.scope.jm.job",),
)
SCOPE_TM: Final = ConfigOption(
    "metrics.scope.tm",
    STRING,
    "<host>.taskmanager.<tm_id>",
    "how names of a task manager's metrics begin",
)
SCOPE_TASK: Final = ConfigOption(
    "metrics.scope.task",
    STRING,
    "<host>.taskmanager.<tm_id>.<job_name>.<task_name>.<subtask_index>",
    "how names of a subtask's metrics begin",
)
SCOPE_OPERATOR: Final = ConfigOption(
    "metrics.scope.operator",
    STRING,
    "<host>.taskmanager.<tm_id>.<job_name>.<operator_name>.<subtask_index>",
    "how names of an operator's metrics begin",
)

# log files
LOG_DIR: Final = ConfigOption(
    "env.log.dir",
    optional(STRING),
    None,
    "where the JobManager and the workers of its jobs write log files; if not set, a session cluster "
    "writes to a temporary folder, and a program of its own writes none",
)
LOG_MAX: Final = ConfigOption("env.log.max", INT, 10, "how many older log files are kept")
LOG_LEVEL: Final = ConfigOption(
    "env.log.level",
    choice("debug", "info", "warn", "warning", "error"),
    "info",
    "from which level on messages are written to log files",
)
LOG_FILE_SIZE: Final = ConfigOption(
    "riverrun.log.file-size",
    MEMORY,
    10 << 20,
    "how large a log file becomes before the next begins",
)

# flame graphs
FLAMEGRAPH_ENABLED: Final = ConfigOption(
    "rest.flamegraph.enabled",
    BOOLEAN,
    default=True,
    description="whether flame graphs are made when somebody asks for them",
)
FLAMEGRAPH_SAMPLES: Final = ConfigOption(
    "rest.flamegraph.num-samples", INT, 200, "how often a task's threads are looked at for one"
)
FLAMEGRAPH_DELAY: Final = ConfigOption(
    "rest.flamegraph.delay-between-samples",
    DURATION,
    Duration.of_millis(10),
    "the time between two looks",
)
FLAMEGRAPH_DEPTH: Final = ConfigOption(
    "rest.flamegraph.stack-depth", INT, 100, "how many frames of a stack are kept"
)
FLAMEGRAPH_REFRESH: Final = ConfigOption(
    "rest.flamegraph.refresh-interval",
    DURATION,
    Duration.of_minutes(1),
    "for how long a flame graph is shown before another is made",
)
