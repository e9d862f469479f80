"""From the operators that a program defined to what an engine runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from riverrun.api.source import Boundedness
from riverrun.api.time_window_assigner import ProcessingTimeAssigner
from riverrun.api.watermark_strategy import NoWatermarks, WatermarkStrategy
from riverrun.connectors.collect import ClientHandler
from riverrun.core import options
from riverrun.core.errors import ProgramError
from riverrun.core.options import AggregatePhaseStrategy, RuntimeExecutionMode
from riverrun.graph.column_specs import ColumnAggregateSpec, ColumnWindowSpec
from riverrun.graph.job_graph import JobGraph, build_job_graph
from riverrun.graph.specs import (
    OperatorSpec,
    ReduceSpec,
    SinkSpec,
    SourceSpec,
    TimestampsAndWatermarksSpec,
    WindowSpec,
)
from riverrun.graph.stream_graph import StreamGraph, StreamGraphSettings, build_stream_graph
from riverrun.graph.transformations import Transformation
from riverrun.graph.two_phases import in_two_phases


@dataclass(frozen=True, slots=True)
class CompiledProgram:
    """The graphs of a program, and what its sinks want to be called in this process."""

    stream_graph: StreamGraph
    job_graph: JobGraph
    client_handlers: Mapping[str, ClientHandler]


def compile_program(
    transformations: Sequence[Transformation], config: Mapping[str, str], parallelism: int
) -> CompiledProgram:
    """Compile ``transformations`` and all that they read from.

    Args:
        transformations: the operators that the program defined.
        config: the program's settings.
        parallelism: of operators that do not say.

    Raises:
        ProgramError: the program as written cannot run.
    """
    stream_graph = build_stream_graph(transformations, _settings(config, parallelism))
    if not options.AUTO_GENERATE_UIDS.get(config):
        _require_uids(stream_graph)
    if _is_batch(stream_graph, options.RUNTIME_MODE.get(config)):
        stream_graph = _for_batch(stream_graph)
    phases = options.AGGREGATE_PHASES.get(config)
    if phases is not AggregatePhaseStrategy.ONE_PHASE:
        always = phases is AggregatePhaseStrategy.TWO_PHASE
        stream_graph = in_two_phases(stream_graph, always=always)
    job_graph = build_job_graph(stream_graph)
    return CompiledProgram(stream_graph, job_graph, _client_handlers(job_graph))


def _settings(config: Mapping[str, str], parallelism: int) -> StreamGraphSettings:
    return StreamGraphSettings(
        parallelism=parallelism,
        max_parallelism=options.MAX_PARALLELISM.get(config),
        chaining=options.OPERATOR_CHAINING.get(config),
        buffer_timeout_ms=buffer_timeout_ms(config),
    )


def buffer_timeout_ms(config: Mapping[str, str]) -> int:
    """How long an output buffer waits to fill; -1: until it is full, as in Flink."""
    if not options.BUFFER_TIMEOUT_ENABLED.get(config):
        return -1
    return options.BUFFER_TIMEOUT.get(config).to_millis()


def _require_uids(graph: StreamGraph) -> None:
    for node in graph.nodes:
        if node.uid is None and node.uid_hash is None:
            raise ProgramError(
                f"operator {node.name!r}: has no uid and 'pipeline.auto-generate-uids' is false; "
                f"give it one with uid()"
            )


def _is_batch(graph: StreamGraph, mode: RuntimeExecutionMode) -> bool:
    if mode is RuntimeExecutionMode.STREAMING:
        return False
    unbounded = [
        node.name
        for node in graph.nodes
        if isinstance(node.spec, SourceSpec)
        and node.spec.source.get_boundedness() is Boundedness.CONTINUOUS_UNBOUNDED
    ]
    if unbounded and mode is RuntimeExecutionMode.BATCH:
        raise ProgramError(
            f"operator {unbounded[0]!r}: this source never ends by itself and "
            f"'execution.runtime-mode' is BATCH; use STREAMING or AUTOMATIC, or a bounded source"
        )
    return not unbounded


def _for_batch(graph: StreamGraph) -> StreamGraph:
    """The same graph with operators that only give final results."""
    nodes = tuple(replace(node, spec=_final(node.spec)) for node in graph.nodes)
    return replace(graph, nodes=nodes)


def _final(spec: OperatorSpec) -> OperatorSpec:
    """``spec`` as BATCH mode runs it.

    Event time does not advance before the input has ended: no record is late, and an event-time window
    or timer sees everything that belongs to it. Windows of the wall clock fire at the end, too.
    """
    match spec:
        case ReduceSpec() | ColumnAggregateSpec():
            return replace(spec, final_only=True)
        case SourceSpec(watermark_strategy=WatermarkStrategy() as strategy):
            return replace(spec, watermark_strategy=_until_the_end(strategy))
        case TimestampsAndWatermarksSpec(strategy):
            return replace(spec, strategy=_until_the_end(strategy))
        case (
            WindowSpec(assigner=ProcessingTimeAssigner())
            | ColumnWindowSpec(assigner=ProcessingTimeAssigner())
        ):
            return replace(spec, fire_open_at_end=True)
        case _:
            return spec


def _until_the_end(strategy: WatermarkStrategy) -> WatermarkStrategy:
    return replace(strategy, generation=NoWatermarks(), idle_timeout_ms=None, alignment=None)


def _client_handlers(graph: JobGraph) -> Mapping[str, ClientHandler]:
    handlers = {}
    for vertex in graph.vertices:
        for operator in vertex.operators:
            if isinstance(operator.spec, SinkSpec):
                handler = operator.spec.sink.client_handler()
                if handler is not None:
                    handlers[operator.operator_id] = handler
    return handlers
