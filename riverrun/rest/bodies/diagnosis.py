"""Log files, threads, flame graphs and the process itself."""

from __future__ import annotations

import msgspec


class LogInfo(msgspec.Struct, frozen=True):
    """A log file."""

    name: str
    size: int
    mtime: int


class LogListInfo(msgspec.Struct, frozen=True):
    """Log files."""

    logs: list[LogInfo]


class LogUrl(msgspec.Struct, frozen=True):
    """Where a log is read."""

    url: str


class ThreadInfo(msgspec.Struct, frozen=True, rename="camel"):
    """A thread and its stack."""

    thread_name: str
    stringified_thread_info: str


class ThreadDumpInfo(msgspec.Struct, frozen=True, rename="camel"):
    """All threads."""

    thread_infos: list[ThreadInfo]


class FlameNode(msgspec.Struct, frozen=True):
    """A call, how often it was seen, and what it called."""

    name: str
    value: int
    children: list[FlameNode]


class FlameGraph(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Where the time of a vertex goes; without data while there is nothing to show."""

    end_timestamp: int
    """When it was made; -1: the vertex does not run, -2: not wanted here, -3: it is being made."""
    data: FlameNode | None = None


class JvmInfo(msgspec.Struct, frozen=True):
    """The interpreter, in the place where Flink has its virtual machine."""

    version: str
    arch: str
    options: list[str]


class EnvironmentInfo(msgspec.Struct, frozen=True):
    """What the JobManager runs on."""

    jvm: JvmInfo
    classpath: list[str]
    """Folders that modules are found in."""
    packages: list[str]
    """What is installed, as ``name==version``."""
