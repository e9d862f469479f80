"""Programs for the graph tests: written as the API would build them, without the API."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from riverrun.api.sink import Sink, SinkWriter, SinkWriterContext
from riverrun.api.source import Source, SourceReader, SourceReaderContext
from riverrun.core.ids import Attempt, JobId
from riverrun.graph.deploy import deployments
from riverrun.graph.deployment import Deployment
from riverrun.graph.job_graph import JobGraph, JobVertex, build_job_graph
from riverrun.graph.layers import plan_layers
from riverrun.graph.partitioning import Partitioning
from riverrun.graph.specs import MapSpec, OperatorSpec, SinkSpec, SourceSpec
from riverrun.graph.stream_graph import StreamGraph, StreamGraphSettings, build_stream_graph
from riverrun.graph.transformations import (
    PartitionTransformation,
    SideOutputTransformation,
    Transformation,
    UnionTransformation,
    Upstream,
)


class NoSource(Source[Any]):
    """Described, never read."""

    def create_splits(self, parallelism: int) -> list[Any]:
        raise NotImplementedError

    def create_reader(self, splits: list[Any], context: SourceReaderContext) -> SourceReader[Any]:
        raise NotImplementedError


class NoSink(Sink[Any]):
    """Described, never written."""

    def create_writer(self, context: SinkWriterContext) -> SinkWriter[Any]:
        raise NotImplementedError


def same(value: Any) -> Any:
    return value


class Program:
    """Collects transformations; compiles them on demand."""

    def __init__(self, parallelism: int = 1, **settings: Any) -> None:
        self.settings = StreamGraphSettings(parallelism=parallelism, **settings)
        self.transformations: list[Transformation] = []
        self._ids = count(1)

    def add(
        self, spec: OperatorSpec, name: str, *inputs: Upstream, **options: Any
    ) -> Transformation:
        made = Transformation(next(self._ids), name, spec, list(inputs), **options)
        self.transformations.append(made)
        return made

    def source(self, name: str, **options: Any) -> Transformation:
        return self.add(SourceSpec(NoSource()), name, **options)

    def map(self, name: str, *inputs: Upstream, **options: Any) -> Transformation:
        return self.add(MapSpec(same), name, *inputs, **options)

    def sink(self, name: str, *inputs: Upstream, **options: Any) -> Transformation:
        return self.add(SinkSpec(NoSink()), name, *inputs, **options)

    def stream_graph(self) -> StreamGraph:
        return build_stream_graph(self.transformations, self.settings)

    def job_graph(self) -> JobGraph:
        return build_job_graph(self.stream_graph())

    def deployments(self) -> tuple[tuple[Deployment, ...], ...]:
        return deploy(self.job_graph())


def deploy(graph: JobGraph) -> tuple[tuple[Deployment, ...], ...]:
    return deployments(
        graph,
        plan_layers(graph),
        job=JobId("0" * 32),
        name="job",
        attempt=Attempt(0),
        config={"a": "b"},
    )


def partition(upstream: Upstream, partitioning: Partitioning) -> PartitionTransformation:
    return PartitionTransformation(upstream, partitioning)


def union(*upstreams: Upstream) -> UnionTransformation:
    return UnionTransformation(upstreams)


def side(upstream: Upstream, tag: str, **options: Any) -> SideOutputTransformation:
    return SideOutputTransformation(upstream, tag, **options)


def vertex_names(graph: JobGraph) -> list[str]:
    return [vertex.name for vertex in graph.vertices]


def vertex_named(graph: JobGraph, name: str) -> JobVertex:
    (found,) = (vertex for vertex in graph.vertices if vertex.name == name)
    return found


@pytest.fixture
def program() -> Program:
    return Program()
