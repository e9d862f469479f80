"""What the handlers of the REST interface work with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from riverrun.cluster.dispatcher.gateway import Dispatcher, Submissions
from riverrun.cluster.timelines.jobs import JobsTimeLines
from riverrun.core import cluster_options as options
from riverrun.core.ids import JobId
from riverrun.rest.bodies.states import (
    EntryList,
    KeyGroups,
    KeyList,
    KeyValues,
    SnapshotList,
    SnapshotStates,
)
from riverrun.rest.flame_graphs import FlameGraphs
from riverrun.rest.operations import Operations


@dataclass(frozen=True, slots=True)
class StoredProgram:
    """An uploaded program."""

    id: str
    name: str
    uploaded: int
    """When, in milliseconds since the epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramOrder:
    """How a program is to be run."""

    arguments: Sequence[str] = ()
    module: str | None = None
    """Which module of a zip is the program; ``__main__`` if not given."""
    parallelism: int | None = None
    savepoint: str | None = None
    allow_non_restored: bool = False
    claim_mode: str | None = None
    job: str | None = None
    config: Mapping[str, str] = field(default_factory=dict)


class Programs(Protocol):
    """Uploaded programs, each run in a process of its own."""

    def all(self) -> Sequence[StoredProgram]:
        """The latest first."""

    def add(self, name: str, file: Path) -> str:
        """Keep a program; its id. ProgramError for a name that is none."""

    def delete(self, program: str) -> None:
        """Forget a program; ProgramError when there is none."""

    def run(self, program: str, wish: ProgramOrder) -> JobId:
        """Let the program send its job; ProgramError with what it said when it failed."""

    def plan(self, program: str, wish: ProgramOrder) -> Sequence[dict[str, Any]]:
        """The vertices of its job, as ``river plan --json`` prints them."""


class Snapshots(Protocol):
    """Reads savepoints and checkpoints; HttpProblem where one cannot be read."""

    def below(self, path: str) -> SnapshotList:
        """What is below a folder."""

    def states(self, path: str) -> SnapshotStates:
        """The operators of a snapshot with their states."""

    def key_groups(self, path: str, operator: str, state: str) -> KeyGroups:
        """How a keyed state is spread."""

    def keys(
        self, path: str, operator: str, state: str, key_group: int | None, limit: int
    ) -> KeyList:
        """The first keys, of one key group or of all."""

    def lookup(
        self, path: str, operator: str, state: str, key: str, key_group: int | None
    ) -> KeyValues:
        """What there is for a key."""

    def entries(self, path: str, operator: str, state: str, limit: int) -> EntryList:
        """The first entries of operator state."""


@dataclass(frozen=True, slots=True)
class PageSettings:
    """What the web page may offer, and how often it asks."""

    refresh_ms: int = 1000
    cancel: bool = True
    rescale: bool = True

    @staticmethod
    def of(config: Mapping[str, str]) -> PageSettings:
        """What the configuration says."""
        return PageSettings(
            refresh_ms=options.REFRESH_INTERVAL.get(config).to_millis(),
            cancel=options.CANCEL_ENABLED.get(config),
            rescale=options.RESCALE_ENABLED.get(config),
        )


@dataclass(frozen=True, slots=True)
class RestContext:
    """The JobManager behind the interface, and what the interface itself remembers."""

    dispatcher: Dispatcher
    operations: Operations = field(default_factory=Operations)
    submissions: Submissions | None = None
    """Takes jobs and files of other processes; ``None`` where only this process runs jobs."""
    programs: Programs | None = None
    """Uploaded programs; ``None`` where none are taken."""
    address: Callable[[], str] = lambda: ""
    """Where the interface is."""
    upload_limit: int = 100 << 20
    """Bytes of the largest body that is taken."""
    shut_down: Callable[[], None] | None = None
    """Lets the JobManager end, soon; ``None`` where it ends with its program."""
    log_folder: Path | None = None
    """Where the JobManager writes its log files; ``None``: it writes none."""
    flame_graphs: FlameGraphs = field(default_factory=FlameGraphs)
    page: PageSettings = field(default_factory=PageSettings)
    time_lines: JobsTimeLines = field(default_factory=JobsTimeLines)
    snapshots: Snapshots | None = None
    """Reads savepoints and checkpoints; ``None`` where nobody does."""
