"""What one subtask needs to run: plain data, made by ``graph.layers``, shipped to a worker, read by ``runtime``.

An operator of a chain is addressed by its position in ``TaskDeployment.operators``. The chain is a tree:
``parent`` is the position of the operator whose output it reads (``None`` for the head), ``tag`` is set
when it reads a side output of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from riverrun.core.ids import Attempt, EdgeId, JobId, VertexId
from riverrun.graph.partitioning import Partitioning
from riverrun.graph.specs import OperatorSpec
from riverrun.protocol.snapshots import TaskRestore
from riverrun.serde.type_info import TypeInformation


@dataclass(frozen=True, slots=True)
class ChainedOperator:
    """One operator inside a task."""

    operator_id: str
    """32 hexadecimal characters: from the uid where there is one, else from the place in the graph."""
    name: str
    uid: str | None
    spec: OperatorSpec
    parent: int | None = None
    tag: str | None = None
    """Id of the side output of the parent that this operator reads; ``None``: its main output."""
    input_index: int = 0
    key_selector: Callable[[Any], Any] | None = None
    second_key_selector: Callable[[Any], Any] | None = None
    """Of the second input, where both are keyed; both give keys of ``key_type``."""
    key_type: TypeInformation | None = None
    output_type: TypeInformation | None = None
    enforce_type: bool = False
    """Whether every value is checked against ``output_type``; otherwise only encoded ones are."""


@dataclass(frozen=True, slots=True)
class InEdge:
    """An edge that ends in this subtask."""

    edge: EdgeId
    producers: tuple[int, ...]
    """Indices of the producer subtasks that have a channel to this one."""
    input_index: int = 0
    type_info: TypeInformation | None = None
    partitioning: Partitioning | None = None
    """How producers share records out: what was in flight is shared out again by whoever reads it."""


@dataclass(frozen=True, slots=True)
class OutEdge:
    """An edge that starts in this subtask."""

    edge: EdgeId
    operator: int
    """Position in the chain of the operator whose output this is."""
    tag: str | None
    partitioning: Partitioning
    consumers: tuple[int, ...]
    """Indices of the consumer subtasks that this one has a channel to, ascending."""
    consumer_parallelism: int
    max_parallelism: int
    targets: Mapping[int, int]
    """Consumer index -> partition of the next layer that takes the frame (a relay, or the consumer)."""
    type_info: TypeInformation | None = None
    takes_columns: bool = True
    """Whether who reads this edge would rather have columns than records."""
    beside: tuple[EdgeId, ...] = ()
    """Edges from this subtask into other inputs of the same consumers: their records should not be far apart."""
    buffer_timeout_ms: int = 10
    target_name: str = ""
    """Name of the operator that reads this edge, for messages."""


@dataclass(frozen=True, slots=True)
class TaskDeployment:
    """A subtask that runs a chain of operators."""

    job: JobId
    job_name: str
    attempt: Attempt
    vertex: VertexId
    name: str
    subtask: int
    parallelism: int
    max_parallelism: int
    layer: int
    partition: int
    """Which partition of its layer's Spark stage this subtask is."""
    operators: tuple[ChainedOperator, ...]
    inputs: tuple[InEdge, ...]
    outputs: tuple[OutEdge, ...]
    config: Mapping[str, str] = field(default_factory=dict, repr=False)
    restore: TaskRestore | None = None
    """What to start from; ``None``: from nothing."""
    checkpoint_folder: str | None = None
    """Where the job's checkpoints go; ``None``: it takes none."""


@dataclass(frozen=True, slots=True)
class RelayDeployment:
    """A subtask that only carries frames of edges that skip its layer.

    ``targets[edge][consumer]`` is the partition of the next layer that takes the frame.
    """

    job: JobId
    job_name: str
    attempt: Attempt
    name: str
    subtask: int
    layer: int
    partition: int
    targets: Mapping[EdgeId, Mapping[int, int]]
    config: Mapping[str, str] = field(default_factory=dict, repr=False)


Deployment: TypeAlias = TaskDeployment | RelayDeployment
