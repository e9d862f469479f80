"""What a savepoint or checkpoint says about itself, before any state is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from riverrun.serde.type_info import TypeInformation
from riverrun.state_processor.kinds import TableKind


@dataclass(frozen=True, slots=True)
class SavepointFacts:
    """Which job it is of, and when it was taken."""

    job_id: str
    job_name: str
    checkpoint: int
    """Its number within the job."""
    savepoint: bool
    """Whether it is a savepoint: else it is a checkpoint."""
    taken: datetime
    """In UTC."""
    format_version: int
    riverrun_version: str
    """Of the release that wrote it; empty when it is not known."""
    vertices: tuple[str, ...]
    """The program: names of its vertices, sources first."""
    bytes: int
    """Of all its files and of `_metadata`."""
    in_flight_bytes: int
    """Of records that were on their way between tasks: only unaligned checkpoints have such."""


@dataclass(frozen=True, slots=True)
class StateFacts:
    """One state of an operator."""

    name: str
    kind: TableKind
    types: Mapping[str, TypeInformation]
    """Declared types by role: ``key``, ``value``, ``map_key``; a role that is left out was pickled."""
    namespaced: bool
    """Whether each entry belongs to a window or another namespace."""
    ttl: bool
    """Whether each entry has the time of its last use."""
    rows: int | None
    """How many rows its table has, if that is known without reading it."""
    bytes: int | None
    """Of its files; None where several states share their files."""


@dataclass(frozen=True, slots=True)
class OperatorFacts:
    """One operator of the program."""

    uid: str | None
    operator_id: str
    name: str
    vertex: str
    """Name of the vertex it was chained into."""
    parallelism: int
    max_parallelism: int
    bytes: int
    """Of all its state, as far as it is in files."""
    states: tuple[StateFacts, ...]

    @property
    def label(self) -> str:
        """The shortest text that names it: its uid, else its name."""
        return self.uid or self.name
