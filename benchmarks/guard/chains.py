"""A program's operators in this process, without Spark, exchange or threads, to be fed by hand."""

import io
import os
import tempfile
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any, Final

from riverrun.api.source import Source
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.connectors.collection import CollectionSource
from riverrun.connectors.discard import DiscardingSink
from riverrun.core.clock import ManualClock
from riverrun.core.configuration import Configuration
from riverrun.core.ids import Attempt, JobId
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.datastream.program import Program
from riverrun.graph.deploy import deployments
from riverrun.graph.deployment import TaskDeployment
from riverrun.graph.layers import plan_layers
from riverrun.metrics.registry import TaskMetrics
from riverrun.runtime.chain import Chain
from riverrun.runtime.operator_states import TaskResources
from riverrun.runtime.settings import TaskSettings
from riverrun.runtime.task import Task
from riverrun.serde.type_info import TypeInformation

_numbers: Final = count(os.getpid() << 20)
_CONFIG: Final = {
    "riverrun.master": "in-process",
    "parallelism.default": "1",
    "pipeline.max-parallelism": "128",
    "state.backend.type": "hashmap",
}


def chain_of(
    build: Callable[..., DataStream],
    type_info: TypeInformation | None = None,
    *,
    inputs: int = 1,
    config: Mapping[str, str] | None = None,
) -> Chain:
    """The opened chain of what ``build`` makes of one stream or two; its last operator discards."""

    def program(env: StreamExecutionEnvironment) -> None:
        streams = []
        for number in range(inputs):
            source: Any = CollectionSource([], type_info)
            streams.append(env.from_source(source, None, f"records {number}").disable_chaining())
        build(*streams).sink_to(DiscardingSink())

    deployment = _last_task(program, config or {})
    clock = ManualClock(0)
    chain = Chain(deployment, (), TaskMetrics(clock), clock, _resources())
    chain.open()
    return chain


def source_task(source: Source[Any], strategy: WatermarkStrategy) -> Task:
    """The opened task of a source whose records are discarded."""

    def program(env: StreamExecutionEnvironment) -> None:
        env.from_source(source, strategy, "records").sink_to(DiscardingSink())

    deployment = _last_task(program, {})
    task = Task(deployment, TaskSettings.of(deployment.config), ManualClock(0), _resources())
    task.open()
    return task


def _last_task(
    define: Callable[[StreamExecutionEnvironment], None], config: Mapping[str, str]
) -> TaskDeployment:
    program = Program(Configuration({**_CONFIG, **config}))
    try:
        define(StreamExecutionEnvironment(program))
        graph = program.show().job_graph
    finally:
        program.close()
    layers = deployments(
        graph,
        plan_layers(graph),
        job=JobId("0" * 32),
        name="guard",
        attempt=Attempt(0),
        config=program.config.to_dict(),
        checkpoint_folder=None,
    )
    *_, last = (each for layer in layers for each in layer if isinstance(each, TaskDeployment))
    return last


def _resources() -> TaskResources:
    # Only rocksdb writes there, and takes away what it wrote when its chain is closed.
    folder = Path(tempfile.gettempdir(), "riverrun-guard", str(next(_numbers)))
    return TaskResources(folder, io.BytesIO)
