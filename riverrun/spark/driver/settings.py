"""The Spark settings that a job stands on: what each must be, and why.

Settings of kind CONTEXT are fixed when the Spark application starts, so they can only be checked;
those of kind SESSION are set in a session of riverrun's own (``newSession``), never in the user's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from riverrun.core.errors import ExternalError


class Kind(Enum):
    """Where a setting takes effect."""

    CONTEXT = auto()
    SESSION = auto()


def _is(wanted: str) -> Callable[[str], bool]:
    return lambda value: value.strip().lower() == wanted


def _at_most(limit: int) -> Callable[[str], bool]:
    def serves(value: str) -> bool:
        try:
            return 0 < float(value) <= limit
        except ValueError:
            return False

    return serves


@dataclass(frozen=True, slots=True)
class Setting:
    """One Spark setting: the value riverrun uses, which other values serve too, and why."""

    key: str
    value: str
    spark_default: str
    serves: Callable[[str], bool]
    needed: str
    why: str
    kind: Kind = Kind.CONTEXT


SETTINGS: Final[tuple[Setting, ...]] = (
    Setting(
        "spark.python.udf.pipelined.enabled",
        "true",
        "false",
        _is("true"),
        "true",
        "otherwise an operator's output is read only when its input ends",
    ),
    Setting(
        "spark.buffer.size",
        "512",
        "65536",
        _at_most(4096),
        "at most 4096",
        "both directions of the Python pipe are flushed only when this many bytes wait",
    ),
    Setting(
        "spark.python.unix.domain.socket.enabled",
        "true",
        "false",
        _is("true"),
        "true",
        "saves milliseconds at every hop",
    ),
    Setting(
        "spark.shuffle.streaming.networkBufferMaxWaitTimeMs",
        "2",
        "50",
        _at_most(10),
        "at most 10 (and not 0)",
        "a partial network buffer waits this long at every hop",
    ),
    Setting(
        "spark.shuffle.streaming.networkBufferSize",
        "65536",
        "32768",
        lambda _: True,
        "about riverrun.frame.bytes",
        "a frame is one row and a row is never split",
    ),
    Setting(
        "spark.shuffle.streaming.writerMaxMemory",
        "524288",
        "",
        _at_most(16 << 20),
        "at most 16777216",
        "this is the data in flight, and so how long a control element waits under load",
    ),
    Setting(
        "spark.shuffle.streaming.readerMaxMemory",
        "524288",
        "",
        _at_most(16 << 20),
        "at most 16777216",
        "this is the data in flight, and so how long a control element waits under load",
    ),
    Setting(
        "spark.speculation", "false", "false", _is("false"), "false", "a pipelined job refuses it"
    ),
    Setting(
        "spark.dynamicAllocation.enabled",
        "false",
        "false",
        _is("false"),
        "false",
        "all subtasks start at the same time or not at all",
    ),
    Setting(
        "spark.sql.adaptive.enabled",
        "false",
        "true",
        _is("false"),
        "false",
        "a pipelined exchange cannot be planned again",
        Kind.SESSION,
    ),
    Setting(
        "spark.sql.execution.arrow.maxRecordsPerBatch",
        "1",
        "10000",
        _is("1"),
        "1",
        "one frame per Arrow batch: frames are batches already",
        Kind.SESSION,
    ),
    Setting(
        "spark.sql.execution.pandas.udf.buffer.size",
        "64",
        "spark.buffer.size",
        _at_most(64),
        "at most 64",
        "a smaller Arrow batch waits for the next one, which may never come: less than any batch has; "
        "stages before the last do not know spark.buffer.size at all and would wait for 65536 bytes",
        Kind.SESSION,
    ),
)

ADVISED: Final[Mapping[str, str]] = {
    "spark.python.daemon.module": "riverrun.spark.worker.daemon",
    "spark.task.cpus": "0.1",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
}
"""Not checked: jobs run without them, but start slower or find less room."""


class SettingsDoNotServe(ExternalError):  # noqa: N818
    """The user's Spark application cannot run a job as it is set up."""

    def __init__(self, found: tuple[tuple[str, str, str, str], ...]) -> None:
        super().__init__(found)
        self.found = found

    def __str__(self) -> str:
        lines = ["this Spark application cannot run a riverrun job; settings to change:"]
        lines += [
            f"  {key} is {now}, needed: {needed} ({why})" for key, now, needed, why in self.found
        ]
        lines.append(
            "`river spark-conf` prints all of them for spark-submit or spark-defaults.conf"
        )
        return "\n".join(lines)


def check_context(get: Callable[[str], str | None]) -> None:
    """Compare a Spark application's settings (``get`` by key; ``None``: not set) with what is needed."""
    found = []
    for setting in SETTINGS:
        if setting.kind is not Kind.CONTEXT:
            continue
        now = get(setting.key)
        effective = setting.spark_default if now is None else now
        if not setting.serves(effective):
            shown = (
                f"{now}" if now is not None else f"not set (Spark's default: {effective or 'none'})"
            )
            found.append((setting.key, shown, setting.needed, setting.why))
    if found:
        raise SettingsDoNotServe(tuple(found))


def application_settings() -> dict[str, str]:
    """What to start a Spark application with: the checked settings and the advised ones."""
    return {
        **{setting.key: setting.value for setting in SETTINGS},
        **ADVISED,
    }


def session_settings() -> dict[str, str]:
    """What riverrun sets in its own session, beside the user's."""
    return {s.key: s.value for s in SETTINGS if s.kind is Kind.SESSION}
