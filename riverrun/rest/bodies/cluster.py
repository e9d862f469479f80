"""Bodies about the JobManager and its executors."""

from __future__ import annotations

import msgspec


class ClusterOverview(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """Slots and jobs at a glance."""

    taskmanagers: int
    slots_total: int
    slots_available: int
    jobs_running: int
    jobs_finished: int
    jobs_cancelled: int
    jobs_failed: int
    taskmanagers_blocked: int = 0
    slots_free_and_blocked: int = 0
    flink_version: str
    """Version of riverrun: clients of Flink look for it under this name."""
    flink_commit: str


class Health(msgspec.Struct, frozen=True):
    """It answers."""

    status: str = "ok"


class Features(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """What the page may offer."""

    web_submit: bool = True
    web_cancel: bool = True
    web_rescale: bool = True
    web_history: bool = False
    web_shutdown: bool = False
    """Whether `DELETE /cluster` ends the JobManager."""


class DashboardConfiguration(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """What a page needs to know before it shows anything."""

    refresh_interval: int
    timezone_name: str
    timezone_offset: int
    """Milliseconds east of Greenwich."""
    flink_version: str
    flink_revision: str
    features: Features


class ConfigurationEntry(msgspec.Struct, frozen=True):
    """One setting; secrets are masked."""

    key: str
    value: str
