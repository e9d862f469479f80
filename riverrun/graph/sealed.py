"""A job graph that travels without being opened: the user's objects in it stay bytes.

A JobManager that serves many programs cannot import their modules, and must not run their code. It gets
a graph in which every operator, partitioner and type is sealed. It can count, place, rescale and show
them, and when it sends them on in a deployment, the worker that unpickles the deployment finds the
objects themselves.

    client: encode_graph(graph) -> bytes -> JobManager: decode_graph(bytes) -> sealed graph
    JobManager: pickling.dumps(deployment) -> bytes -> worker: pickling.loads -> live objects
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, NoReturn, cast, get_args

import msgspec

from riverrun.api.watermark_strategy import WatermarkAlignment
from riverrun.core.errors import ExternalError, InternalError
from riverrun.core.ids import EdgeId, VertexId
from riverrun.graph.deployment import ChainedOperator
from riverrun.graph.job_graph import JobEdge, JobGraph, JobVertex
from riverrun.graph.operator_shapes import shape_of
from riverrun.graph.partitioning import Partitioning
from riverrun.graph.pickling import dumps, loads
from riverrun.graph.specs import OperatorSpec, SinkSpec, SourceSpec
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.type_json import type_from_json, type_to_json


class OperatorKind(Enum):
    """What an operator is at the first glance; the values are those of Flink's plans."""

    SOURCE = "Data Source"
    OPERATOR = "Operator"
    SINK = "Data Sink"


class MalformedGraph(ExternalError):  # noqa: N818
    """Bytes that are no job graph."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """An object as bytes, which whoever unpickles it gets back as it was."""

    data: bytes

    def __reduce__(self) -> tuple[Any, ...]:
        return loads, (self.data,)


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedOperator(ChainedOperator):
    """An operator of which only what the control plane needs can be read."""

    payload: bytes
    sealed_kind: OperatorKind = OperatorKind.OPERATOR
    sealed_alignment: WatermarkAlignment | None = None
    sealed_shape: str = ""
    sealed_discovery: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        return loads, (self.payload,)


def kind_of(operator: ChainedOperator) -> OperatorKind:
    """Whether the operator is a source, a sink or neither."""
    if isinstance(operator, SealedOperator):
        return operator.sealed_kind
    match operator.spec:
        case SourceSpec():
            return OperatorKind.SOURCE
        case SinkSpec():
            return OperatorKind.SINK
        case _:
            return OperatorKind.OPERATOR


def alignment_of(operator: ChainedOperator) -> WatermarkAlignment | None:
    """With which other sources the operator keeps step, if it is a source that does."""
    if isinstance(operator, SealedOperator):
        return operator.sealed_alignment
    match operator.spec:
        case SourceSpec(watermark_strategy=strategy) if strategy is not None:
            return strategy.alignment
        case _:
            return None


def discovers_splits(operator: ChainedOperator) -> bool:
    """Whether the operator is a source with an enumerator."""
    if isinstance(operator, SealedOperator):
        return operator.sealed_discovery
    match operator.spec:
        case SourceSpec(source):
            return source.discovers_splits
        case _:
            return False


def shape_of_operator(operator: ChainedOperator) -> str:
    """What the operator keeps on its own account: see ``graph.operator_shapes``."""
    if isinstance(operator, SealedOperator):
        return operator.sealed_shape
    return shape_of(operator.spec)


def encode_graph(graph: JobGraph) -> bytes:
    """The graph for another process; also a sealed one.

    Raises:
        NotPicklable: an operator cannot be sent. Call ``check_picklable`` before, for its words.
    """
    return msgspec.msgpack.encode(
        _Graph(
            vertices=tuple(_vertex(vertex) for vertex in graph.vertices),
            edges=tuple(_edge(edge) for edge in graph.edges),
        )
    )


def decode_graph(data: bytes) -> JobGraph:
    """The sealed graph that ``encode_graph`` wrote; no object of the user's is touched.

    Raises:
        MalformedGraph: these bytes are something else.
    """
    try:
        found = _DECODER.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as e:
        raise MalformedGraph(
            f"job graph: expected what a riverrun client sends, got {len(data)} bytes ({e}); "
            f"use the same version of riverrun on both sides"
        ) from e
    return JobGraph(
        vertices=tuple(_decoded_vertex(vertex) for vertex in found.vertices),
        edges=tuple(_decoded_edge(edge) for edge in found.edges),
    )


class _Operator(msgspec.Struct, frozen=True, kw_only=True):
    operator_id: str
    name: str
    uid: str | None
    parent: int | None
    tag: str | None
    input_index: int
    kind: OperatorKind
    alignment: WatermarkAlignment | None
    shape: str
    is_keyed: bool
    key_type: str | None
    """Of a keyed operator, as JSON, so that it can be compared with that of a checkpoint."""
    payload: bytes
    discovers_splits: bool = False


class _Vertex(msgspec.Struct, frozen=True, kw_only=True):
    facts: dict[str, Any]
    """The plain fields of the vertex, by name."""
    operators: tuple[_Operator, ...]


class _Edge(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    source: str
    source_operator: int
    target: str
    kind: str
    parts: tuple[bytes, ...]
    """What the partitioning consists of, sealed."""
    tag: str | None
    input_index: int
    type_info: bytes | None
    buffer_timeout_ms: int
    unequal: tuple[str, tuple[bytes, ...]] | None = None
    takes_columns: bool = True


class _Graph(msgspec.Struct, frozen=True, kw_only=True):
    vertices: tuple[_Vertex, ...]
    edges: tuple[_Edge, ...]


_DECODER: Final = msgspec.msgpack.Decoder(_Graph)
_PARTITIONINGS: Final[dict[str, type[Partitioning]]] = {
    kind.__name__: kind for kind in get_args(Partitioning)
}
_IDENTITY: Final = frozenset({"id", "operators"})


def _vertex(vertex: JobVertex) -> _Vertex:
    facts = {
        name: getattr(vertex, name)
        for name in JobVertex.__dataclass_fields__
        if name not in _IDENTITY
    }
    operators = tuple(_operator(operator) for operator in vertex.operators)
    return _Vertex(facts={"id": vertex.id.value, **facts}, operators=operators)


def _decoded_vertex(found: _Vertex) -> JobVertex:
    facts = dict(found.facts)
    return JobVertex(
        id=VertexId(facts.pop("id")),
        operators=tuple(_decoded_operator(operator) for operator in found.operators),
        **facts,
    )


def _operator(operator: ChainedOperator) -> _Operator:
    return _Operator(
        operator_id=operator.operator_id,
        name=operator.name,
        uid=operator.uid,
        parent=operator.parent,
        tag=operator.tag,
        input_index=operator.input_index,
        kind=kind_of(operator),
        alignment=alignment_of(operator),
        shape=shape_of_operator(operator),
        is_keyed=operator.key_selector is not None,
        key_type=None if operator.key_type is None else type_to_json(operator.key_type),
        payload=operator.payload if isinstance(operator, SealedOperator) else dumps(operator),
        discovers_splits=discovers_splits(operator),
    )


def _decoded_operator(found: _Operator) -> SealedOperator:
    return SealedOperator(
        operator_id=found.operator_id,
        name=found.name,
        uid=found.uid,
        spec=cast("OperatorSpec", None),  # it is in the payload
        parent=found.parent,
        tag=found.tag,
        input_index=found.input_index,
        key_selector=_sealed_selector if found.is_keyed else None,
        key_type=None if found.key_type is None else type_from_json(found.key_type),
        payload=found.payload,
        sealed_kind=found.kind,
        sealed_alignment=found.alignment,
        sealed_shape=found.shape,
        sealed_discovery=found.discovers_splits,
    )


def _sealed_selector(value: Any) -> NoReturn:
    """Stands for the user's, which is in the payload."""
    raise InternalError(f"the key of {value!r} was asked for where programs are not opened")


def _edge(edge: JobEdge) -> _Edge:
    kind, parts = _partitioning(edge.partitioning)
    return _Edge(
        id=edge.id,
        source=edge.source.value,
        source_operator=edge.source_operator,
        target=edge.target.value,
        kind=kind,
        parts=parts,
        tag=edge.tag,
        input_index=edge.input_index,
        type_info=None if edge.type_info is None else _sealed(edge.type_info),
        buffer_timeout_ms=edge.buffer_timeout_ms,
        unequal=None if edge.unequal is None else _partitioning(edge.unequal),
        takes_columns=edge.takes_columns,
    )


def _decoded_edge(found: _Edge) -> JobEdge:
    type_info = None if found.type_info is None else Sealed(found.type_info)
    return JobEdge(
        id=EdgeId(found.id),
        source=VertexId(found.source),
        source_operator=found.source_operator,
        target=VertexId(found.target),
        partitioning=_decoded_partitioning(found.kind, found.parts),
        tag=found.tag,
        input_index=found.input_index,
        type_info=cast("TypeInformation | None", type_info),
        buffer_timeout_ms=found.buffer_timeout_ms,
        unequal=None if found.unequal is None else _decoded_partitioning(*found.unequal),
        takes_columns=found.takes_columns,
    )


def _partitioning(partitioning: Partitioning) -> tuple[str, tuple[bytes, ...]]:
    names = type(partitioning).__dataclass_fields__
    return (
        type(partitioning).__name__,
        tuple(_sealed(getattr(partitioning, name)) for name in names),
    )


def _decoded_partitioning(kind: str, parts: tuple[bytes, ...]) -> Partitioning:
    make = cast("Callable[..., Partitioning]", _PARTITIONINGS[kind])
    return make(*(Sealed(part) for part in parts))


def _sealed(value: Any) -> bytes:
    return value.data if isinstance(value, Sealed) else dumps(value)
