"""The program's nodes as API calls make them, before anything is compiled.

A ``Transformation`` is an operator that will run. The other three are virtual: they only say how the
records of their input reach whoever reads them, and dissolve into edges in ``stream_graph``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, TypeAlias

from riverrun.graph.partitioning import Partitioning
from riverrun.graph.specs import OperatorSpec
from riverrun.serde.type_info import TypeInformation


class Chaining(Enum):
    """Whether an operator may share a task with its neighbours."""

    ALWAYS = auto()
    """With the operator before it and those after it."""
    HEAD = auto()
    """Only with those after it: it starts a chain."""
    NEVER = auto()
    """With nobody."""


@dataclass(slots=True, eq=False)
class Transformation:
    """One operator of the program; mutable until execution, compared by identity.

    ``inputs[k]`` feeds the operator's input number ``k``; several streams into one input are a
    ``UnionTransformation``. What is ``None`` is decided when the stream graph is built.
    """

    id: int
    """Unique within one environment."""
    name: str
    spec: OperatorSpec
    inputs: list[Upstream] = field(default_factory=list)
    uid: str | None = None
    uid_hash: str | None = None
    """An operator id given as such (32 hexadecimal characters); it wins over ``uid``."""
    description: str | None = None
    parallelism: int | None = None
    max_parallelism: int | None = None
    forced_parallelism: int | None = None
    """The only parallelism at which this operator can run."""
    output_type: TypeInformation | None = None
    enforce_type: bool = False
    """Whether the user declared ``output_type``: every value is then checked, not only encoded ones."""
    key_selector: Callable[[Any], Any] | None = None
    second_key_selector: Callable[[Any], Any] | None = None
    """Of ``inputs[1]``, where both inputs are keyed."""
    key_type: TypeInformation | None = None
    slot_sharing_group: str | None = None
    chaining: Chaining = Chaining.ALWAYS
    buffer_timeout_ms: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class PartitionTransformation:
    """The input's records, shared out in a certain way; the last one before a reader counts."""

    input: Upstream
    partitioning: Partitioning


@dataclass(frozen=True, slots=True, eq=False)
class UnionTransformation:
    """The records of all inputs; the same input may occur twice."""

    inputs: tuple[Upstream, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SideOutputTransformation:
    """The records that the input puts out under a tag; the last one before a reader counts."""

    input: Upstream
    tag: str
    output_type: TypeInformation | None = None


Upstream: TypeAlias = (
    Transformation | PartitionTransformation | UnionTransformation | SideOutputTransformation
)
