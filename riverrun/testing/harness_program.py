"""The one task that a harness drives, cut out of a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from riverrun.api.output_tag import OutputTag
from riverrun.connectors.collection import CollectionSource
from riverrun.connectors.discard import DiscardingSink
from riverrun.core.configuration import Configuration
from riverrun.core.errors import ProgramError
from riverrun.core.ids import Attempt, EdgeId, JobId
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.datastream.program import Program
from riverrun.graph.deploy import deployments
from riverrun.graph.deployment import OutEdge, TaskDeployment
from riverrun.graph.job_graph import JobGraph, JobVertex
from riverrun.graph.layers import plan_layers
from riverrun.graph.partitioning import Forward
from riverrun.graph.specs import SinkSpec, SourceSpec
from riverrun.protocol.snapshots import TaskRestore
from riverrun.serde.type_info import TypeInformation

BuildOne: TypeAlias = Callable[[DataStream], DataStream]
BuildTwo: TypeAlias = Callable[[DataStream, DataStream], DataStream]

_OUT: Final = 1000
"""Number of the edge of the main output; side outputs follow."""


@dataclass(frozen=True, slots=True)
class HarnessProgram:
    """A program of which one task is driven by hand.

    ``vertex`` is that task's; ``tags`` are the side outputs that are looked at.
    """

    graph: JobGraph
    vertex: JobVertex
    config: Mapping[str, str]
    tags: tuple[str, ...]

    @staticmethod
    def of(
        build: Callable[..., DataStream],
        types: Sequence[TypeInformation | None],
        *,
        side_outputs: Sequence[OutputTag],
        parallelism: int,
        max_parallelism: int,
        config: Mapping[str, str],
    ) -> HarnessProgram:
        """What ``build`` makes of one stream for each of ``types``.

        Raises:
            ProgramError: the streams go through more than one task, or through none.
        """
        program = Program(
            Configuration(
                {
                    "riverrun.master": "in-process",
                    "parallelism.default": str(parallelism),
                    "pipeline.max-parallelism": str(max_parallelism),
                    # A first phase would be part of another task, which nobody drives here.
                    "table.optimizer.agg-phase-strategy": "ONE_PHASE",
                    **config,
                }
            )
        )
        try:
            env = StreamExecutionEnvironment(program)
            streams = [_placeholder(env, type_info) for type_info in types]
            built = build(*streams)
            if not isinstance(built, DataStream):
                raise ProgramError(
                    f"harness: build gave {built!r}; expected the DataStream of the operator to drive"
                )
            built.sink_to(DiscardingSink()).disable_chaining()
            compiled = program.show()
        finally:
            program.close()
        inner = [vertex for vertex in compiled.job_graph.vertices if not _is_end(vertex)]
        if len(inner) != 1:
            names = ", ".join(repr(vertex.name) for vertex in inner) or "none"
            raise ProgramError(
                f"harness: the program has {len(inner)} tasks ({names}); expected one: drive each "
                f"operator that records are sent to over an exchange in a harness of its own"
            )
        tags = tuple(tag.tag_id for tag in side_outputs)
        return HarnessProgram(compiled.job_graph, inner[0], program.config.to_dict(), tags)

    def deployment(self, subtask: int, folder: str, restore: TaskRestore | None) -> TaskDeployment:
        """What the task runs, with one producer for each input and one consumer for each output."""
        layers = deployments(
            self.graph,
            plan_layers(self.graph),
            job=JobId("0" * 32),
            name="harness",
            attempt=Attempt(0),
            config=self.config,
            checkpoint_folder=folder,
        )
        found = next(
            each
            for layer in layers
            for each in layer
            if isinstance(each, TaskDeployment)
            and each.vertex == self.vertex.id
            and each.subtask == subtask
        )
        inputs = tuple(
            replace(edge, edge=EdgeId(edge.input_index), producers=(0,)) for edge in found.inputs
        )
        last = next(edge for edge in found.outputs if edge.tag is None)
        outputs = tuple(_out(number, last, tag) for number, tag in enumerate((None, *self.tags)))
        return replace(found, inputs=inputs, outputs=outputs, restore=restore)

    def output_of(self, edge: int) -> str | None:
        """The tag whose records ``edge`` carries; ``None``: the main output."""
        return (None, *self.tags)[edge - _OUT]


def _out(number: int, last: OutEdge, tag: str | None) -> OutEdge:
    return replace(
        last,
        edge=EdgeId(_OUT + number),
        tag=tag,
        partitioning=Forward(),
        consumers=(0,),
        consumer_parallelism=1,
        targets={0: 0},
        type_info=last.type_info if tag is None else None,
        beside=(),
    )


def _placeholder(env: StreamExecutionEnvironment, type_info: TypeInformation | None) -> DataStream:
    """A stream whose records the harness makes; its own source never runs."""
    source: Any = CollectionSource([], type_info)
    stream = env.from_source(source, None, "harness")
    stream.disable_chaining()
    return stream


def _is_end(vertex: JobVertex) -> bool:
    return isinstance(vertex.operators[0].spec, SourceSpec | SinkSpec)
