"""The program as nodes and edges: virtual transformations dissolved, every default decided."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from riverrun.core.errors import ProgramError
from riverrun.graph.column_specs import FilterBatchesSpec
from riverrun.graph.partitioning import Forward, Partitioning, Rebalance
from riverrun.graph.specs import (
    FilterSpec,
    OperatorSpec,
    ReduceSpec,
    SinkSpec,
    SinkWriterSpec,
    SourceSpec,
    takes_columns,
)
from riverrun.graph.transformations import Chaining, Transformation
from riverrun.graph.upstream import Feed, feeds_of, in_program_order
from riverrun.serde.runs import columns_pay
from riverrun.serde.type_info import TypeInformation

DEFAULT_SLOT_SHARING_GROUP: Final = "default"
MAX_PARALLELISM_LIMIT: Final = 32768
_SMALLEST_DEFAULT_MAX_PARALLELISM: Final = 128


@dataclass(frozen=True, slots=True)
class StreamGraphSettings:
    """What the environment decides for operators that do not decide it themselves."""

    parallelism: int = 1
    max_parallelism: int | None = None
    """``None``: from each operator's parallelism, see ``default_max_parallelism``."""
    chaining: bool = True
    buffer_timeout_ms: int = 10


@dataclass(frozen=True, slots=True)
class StreamNode:
    """One operator, with nothing left open."""

    id: int
    name: str
    spec: OperatorSpec
    uid: str | None
    uid_hash: str | None
    description: str
    parallelism: int
    max_parallelism: int
    slot_sharing_group: str
    chaining: Chaining
    buffer_timeout_ms: int
    output_type: TypeInformation | None = None
    enforce_type: bool = False
    type_declared: bool = False
    """Whether the user declared ``output_type``, here or at the operator that it comes from."""

    key_selector: Callable[[Any], Any] | None = None
    second_key_selector: Callable[[Any], Any] | None = None
    key_type: TypeInformation | None = None
    parallelism_set: bool = False
    """Whether the program sets the operator's own parallelism."""
    forced_parallelism: int | None = None
    """The only parallelism at which the operator can run."""

    @property
    def wire_type(self) -> TypeInformation | None:
        """The type by which records are encoded on their way to another task; ``None``: pickled.

        A declared type is always used. One that was only inferred is used where columns are cheaper
        than pickle (see ``columns_pay``).
        """
        if self.output_type is None or self.type_declared or columns_pay(self.output_type):
            return self.output_type
        return None


@dataclass(frozen=True, slots=True)
class StreamEdge:
    """Records of ``source`` (its main output or one side output) that ``target`` reads."""

    source: int
    target: int
    partitioning: Partitioning
    tag: str | None
    input_index: int
    type_info: TypeInformation | None = None
    takes_columns: bool = True
    """Whether ``target`` would rather have columns than records."""


@dataclass(frozen=True)
class StreamGraph:
    """Nodes in an order in which inputs come first, and the edges between them.

    Two edges may join the same two nodes (a stream united with itself).
    """

    nodes: tuple[StreamNode, ...]
    edges: tuple[StreamEdge, ...]
    chaining: bool = True

    def node(self, node_id: int) -> StreamNode:
        """The node with this id."""
        return self._by_id[node_id]

    def in_edges(self, node_id: int) -> tuple[StreamEdge, ...]:
        """The edges that end in the node, in input order."""
        return self._in_edges[node_id]

    def out_edges(self, node_id: int) -> tuple[StreamEdge, ...]:
        """The edges that start in the node."""
        return self._out_edges[node_id]

    @cached_property
    def _by_id(self) -> Mapping[int, StreamNode]:
        return {node.id: node for node in self.nodes}

    @cached_property
    def _in_edges(self) -> Mapping[int, tuple[StreamEdge, ...]]:
        return _grouped(self.nodes, self.edges, lambda edge: edge.target)

    @cached_property
    def _out_edges(self) -> Mapping[int, tuple[StreamEdge, ...]]:
        return _grouped(self.nodes, self.edges, lambda edge: edge.source)


def build_stream_graph(
    roots: Sequence[Transformation], settings: StreamGraphSettings
) -> StreamGraph:
    """Compile everything that ``roots`` (the sinks, or all operators) can be reached from.

    Raises:
        ProgramError: there is nothing to run, a parallelism cannot be had, a uid occurs twice, or a
            ``forward()`` joins operators of different parallelism.
    """
    if not roots:
        raise ProgramError(
            "program: it defines no operators, so there is nothing to run; "
            "add a source and a sink before execute()"
        )
    order = in_program_order(roots)
    _refuse_shared_uids(order)
    nodes: dict[int, StreamNode] = {}
    edges: list[StreamEdge] = []
    for transformation in order:
        feeds = feeds_of(transformation)
        node = _node(transformation, settings, [nodes[feed.source.id] for feed in feeds])
        nodes[node.id] = node
        edges.extend(_edge(feed, nodes[feed.source.id], node) for feed in feeds)
    return StreamGraph(tuple(nodes.values()), tuple(edges), settings.chaining)


def default_max_parallelism(parallelism: int) -> int:
    """The number of key groups for an operator that does not say: room to grow by half at least.

    >>> [default_max_parallelism(n) for n in (1, 85, 86, 200, 32768)]
    [128, 128, 256, 512, 32768]
    """
    wanted = parallelism + parallelism // 2
    power_of_two = 1 << (wanted - 1).bit_length()
    return min(max(power_of_two, _SMALLEST_DEFAULT_MAX_PARALLELISM), MAX_PARALLELISM_LIMIT)


def _grouped(
    nodes: Sequence[StreamNode], edges: Sequence[StreamEdge], end: Callable[[StreamEdge], int]
) -> Mapping[int, tuple[StreamEdge, ...]]:
    groups: dict[int, list[StreamEdge]] = {node.id: [] for node in nodes}
    for edge in edges:
        groups[end(edge)].append(edge)
    return {node_id: tuple(group) for node_id, group in groups.items()}


def _node(
    transformation: Transformation, settings: StreamGraphSettings, inputs: Sequence[StreamNode]
) -> StreamNode:
    name = _display_name(transformation)
    parallelism = _parallelism(transformation, name, settings)
    timeout = transformation.buffer_timeout_ms
    return StreamNode(
        id=transformation.id,
        name=name,
        spec=transformation.spec,
        uid=transformation.uid,
        uid_hash=transformation.uid_hash,
        description=transformation.description or name,
        parallelism=parallelism,
        max_parallelism=_max_parallelism(transformation, name, parallelism, settings),
        slot_sharing_group=_slot_sharing_group(transformation, inputs),
        chaining=transformation.chaining,
        buffer_timeout_ms=settings.buffer_timeout_ms if timeout is None else timeout,
        output_type=transformation.output_type,
        enforce_type=transformation.enforce_type,
        type_declared=transformation.enforce_type or _inherits_declared(transformation, inputs),
        key_selector=transformation.key_selector,
        second_key_selector=transformation.second_key_selector,
        key_type=transformation.key_type,
        parallelism_set=transformation.parallelism is not None,
        forced_parallelism=transformation.forced_parallelism,
    )


def _inherits_declared(transformation: Transformation, inputs: Sequence[StreamNode]) -> bool:
    """Whether the operator passes records of a declared type on as they are, or as others of that type."""
    return isinstance(transformation.spec, FilterSpec | ReduceSpec | FilterBatchesSpec) and any(
        node.type_declared for node in inputs
    )


def _display_name(transformation: Transformation) -> str:
    match transformation.spec:
        case SourceSpec():
            prefix = "Source: "
        case SinkSpec():
            prefix = "Sink: "
        case _:
            prefix = ""
    return prefix + transformation.name.removeprefix(prefix)


def _parallelism(transformation: Transformation, name: str, settings: StreamGraphSettings) -> int:
    asked, forced = transformation.parallelism, transformation.forced_parallelism
    if forced is not None and asked is not None and asked != forced:
        raise ProgramError(
            f"operator {name!r}: parallelism is set to {asked} but this operator can only run with "
            f"parallelism {forced}; remove set_parallelism({asked})"
        )
    chosen = next(n for n in (forced, asked, settings.parallelism) if n is not None)
    if chosen < 1:
        raise ProgramError(
            f"operator {name!r}: parallelism is {chosen}, expected 1 or more; "
            f"set it with set_parallelism()"
        )
    return chosen


def _max_parallelism(
    transformation: Transformation, name: str, parallelism: int, settings: StreamGraphSettings
) -> int:
    chosen = next(
        (n for n in (transformation.max_parallelism, settings.max_parallelism) if n is not None),
        None,
    )
    if chosen is None:
        chosen = default_max_parallelism(parallelism)
    if not 1 <= chosen <= MAX_PARALLELISM_LIMIT:
        raise ProgramError(
            f"operator {name!r}: max parallelism is {chosen}, expected 1 to {MAX_PARALLELISM_LIMIT}; "
            f"set it with set_max_parallelism()"
        )
    if parallelism > chosen:
        raise ProgramError(
            f"operator {name!r}: parallelism {parallelism} is larger than max parallelism {chosen}; "
            f"lower the parallelism or raise the max parallelism"
        )
    return chosen


def _slot_sharing_group(transformation: Transformation, inputs: Sequence[StreamNode]) -> str:
    if transformation.slot_sharing_group is not None:
        return transformation.slot_sharing_group
    groups = {node.slot_sharing_group for node in inputs}
    return groups.pop() if len(groups) == 1 else DEFAULT_SLOT_SHARING_GROUP


def _edge(feed: Feed, source: StreamNode, target: StreamNode) -> StreamEdge:
    equal = source.parallelism == target.parallelism
    partitioning = feed.partitioning
    if partitioning is None:
        partitioning = Forward() if equal else Rebalance()
    elif isinstance(partitioning, Forward) and not equal:
        raise ProgramError(
            f"forward() from {source.name!r} (parallelism {source.parallelism}) to {target.name!r} "
            f"(parallelism {target.parallelism}): both must have the same parallelism; "
            f"make them equal, or use rebalance() or rescale()"
        )
    return StreamEdge(
        source=source.id,
        target=target.id,
        partitioning=partitioning,
        tag=feed.tag,
        input_index=feed.input_index,
        type_info=_edge_type(source, target) if feed.tag is None else feed.side_type,
        takes_columns=_likes_columns(target.spec),
    )


def _likes_columns(spec: OperatorSpec) -> bool:
    if isinstance(spec, SinkSpec | SinkWriterSpec):
        return spec.sink.takes_columns
    return takes_columns(spec)


def _edge_type(source: StreamNode, target: StreamNode) -> TypeInformation | None:
    # What works on columns needs them whatever they cost; it declared the type that it reads.
    return source.output_type if takes_columns(target.spec) else source.wire_type


def _refuse_shared_uids(transformations: Sequence[Transformation]) -> None:
    owners: dict[str, Transformation] = {}
    for transformation in transformations:
        if transformation.uid is None:
            continue
        owner = owners.setdefault(transformation.uid, transformation)
        if owner is not transformation:
            raise ProgramError(
                f"uid {transformation.uid!r}: given to both {_display_name(owner)!r} and "
                f"{_display_name(transformation)!r}; a uid must be unique within the program"
            )
