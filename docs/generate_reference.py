"""Write the reference pages that follow from the code: configuration.md and api.md.

Run it after a change of the options or of the public names: python docs/generate_reference.py
A test compares the pages with what this script makes.
"""  # noqa: INP001  (a script beside the pages, not a package)

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Final

import riverrun
from riverrun.core import options
from riverrun.core.accepted_options import ACCEPTED, OPEN_PREFIXES
from riverrun.core.config_options import ConfigOption
from riverrun.core.time import Duration

FOLDER: Final = Path(__file__).parent / "reference"
NOTE: Final = "<!-- written by docs/generate_reference.py; do not edit -->"

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
    "execution.checkpointing.savepoint-dir": "kept for savepoints, which come later",
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
"""What options mean that carry no description, or a short one, in the code."""

SECTIONS: Final = (
    ("riverrun's own", ("riverrun.",)),
    ("The program", ("parallelism.", "pipeline.", "execution.runtime", "execution.buffer")),
    ("Metrics", ("metrics.",)),
    ("Checkpoints and state", ("execution.checkpointing.", "execution.state-recovery.", "state.")),
    ("Object stores", ("s3.",)),
    ("Restart", ("restart-strategy.",)),
)

ABOUT_CONFIGURATION: Final = """\
# Configuration

Options are set by key: in a `Configuration` that `get_execution_environment` gets, with
`env.get_configuration()`, on the command line (`river run -D key=value`), or in the environment variables
`RIVERRUN_MASTER` and `RIVERRUN_CONF` (a JSON object). What the program sets wins. Keys are Flink's where
Flink has one; riverrun's own begin with `riverrun.`. Keys that begin with `spark.` go to Spark when riverrun
starts the Spark application.

An unknown key under a prefix of this page is refused, with the nearest known one. Other keys pass: they may
belong to your own functions.
"""

ABOUT_API: Final = """\
# Public names

Everything that `from riverrun import ...` gives. Names that are not here are internal and may change. The
docstrings have the whole contract: `help(riverrun.DataStream)`.

Some are contracts for what comes later and have no operator in this version: the functions of two streams
(`Co...`), `AggregateFunction`, and the timers of `TimerService`.
"""


def configuration_page() -> str:
    """The page of all options."""
    known = {option.key: option for option in options.KNOWN.values()}
    lines = [NOTE, "", ABOUT_CONFIGURATION]
    for title, prefixes in SECTIONS:
        chosen = [known[key] for key in sorted(known) if key.startswith(prefixes)]
        lines += [f"## {title}", ""]
        lines += ["| key | default | value | meaning |", "|---|---|---|---|"]
        lines += [_option_row(option) for option in chosen]
        lines.append("")
    lines += list(_accepted())
    return "\n".join(lines) + "\n"


def _option_row(option: ConfigOption[Any]) -> str:
    meaning = MEANINGS.get(option.key) or option.description or "as in Flink"
    if option.fallback_keys:
        older = ", ".join(f"`{key}`" for key in option.fallback_keys)
        meaning += f" (also {older})"
    return f"| `{option.key}` | {_shown(option)} | {option.type.form} | {meaning} |"


def _shown(option: ConfigOption[Any]) -> str:
    match option.default:
        case None:
            return "not set"
        case Enum() as member:
            return member.name
        case Duration() as duration:
            return _duration(duration.to_millis())
        case Mapping() as pairs if not pairs:
            return "empty"
        case default if "memory" in option.type.form:
            return f"{default >> 10} kb"
        case default:
            return option.type.render(default)


def _duration(millis: int) -> str:
    for unit, size in (("min", 60_000), ("s", 1000)):
        if millis and millis % size == 0:
            return f"{millis // size} {unit}"
    return f"{millis} ms"


def _accepted() -> Iterator[str]:
    yield "## Accepted without effect"
    yield ""
    yield "Keys of Flink that set what does not exist here (a JVM's memory, Netty, bundles) are accepted, so that"
    yield "a Flink configuration can be used as it is: everything below"
    yield ", ".join(f"`{prefix}`" for prefix in sorted(OPEN_PREFIXES)) + ", and these:"
    yield ""
    without_effect = sorted(key for key in ACCEPTED if key not in options.KNOWN)
    yield "\n".join(f"- `{key}`" for key in without_effect)


def api_page() -> str:
    """The page of all public names."""
    lines = [NOTE, "", ABOUT_API, "| name | module | what it is |", "|---|---|---|"]
    lines += [_name_row(name) for name in sorted(riverrun.__all__)]
    return "\n".join(lines) + "\n"


def _name_row(name: str) -> str:
    value = getattr(riverrun, name)
    summary = (inspect.getdoc(value) or "").partition("\n")[0].replace("|", "\\|")
    return f"| `{name}` | `{value.__module__}` | {summary} |"


PAGES: Final = {"configuration.md": configuration_page, "api.md": api_page}
"""File name in the reference -> what makes its text."""


def main() -> None:
    """Write every page."""
    for name, make in PAGES.items():
        (FOLDER / name).write_text(make())


if __name__ == "__main__":
    main()
