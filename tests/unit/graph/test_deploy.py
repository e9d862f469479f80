from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from riverrun.api.co_functions import CoMapFunction
from riverrun.core.ids import Attempt, EdgeId, JobId, SubtaskId
from riverrun.graph.connections import consumers_of
from riverrun.graph.deploy import deployments
from riverrun.graph.deployment import Deployment, RelayDeployment, TaskDeployment
from riverrun.graph.job_graph import JobGraph
from riverrun.graph.layers import plan_layers
from riverrun.graph.partitioning import Broadcast, Forward, Hash, Partitioning, Rebalance, Rescale
from riverrun.graph.specs import CoMapSpec
from riverrun.graph.transformations import Chaining, Transformation, Upstream
from riverrun.protocol.snapshots import TaskRestore
from tests.unit.graph.conftest import Program, deploy, partition, same, side, union

Layers = tuple[tuple[Deployment, ...], ...]
Channel = tuple[EdgeId, int, int]


class NoCoMap(CoMapFunction):
    """Described, never called."""

    def map1(self, value: Any) -> Any:
        raise NotImplementedError

    def map2(self, value: Any) -> Any:
        raise NotImplementedError


_CO_MAP = CoMapSpec(NoCoMap())


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Any program of up to eight operators with up to three inputs each."""
    program = Program(chaining=draw(st.booleans()))
    made: list[Transformation] = []
    for number in range(draw(st.integers(1, 8))):
        feeds = draw(st.lists(st.sampled_from(made), max_size=3)) if made else []
        parallelism = draw(st.integers(1, 3))
        chaining = draw(st.sampled_from(Chaining))
        options = {"parallelism": parallelism, "chaining": chaining}
        if not feeds:
            made.append(program.source(str(number), **options))
            continue
        inputs = [draw(streams(feed, parallelism)) for feed in feeds]
        made.append(program.map(str(number), union(*inputs), **options))
    return program


@st.composite
def streams(draw: st.DrawFn, feed: Transformation, parallelism: int) -> Upstream:
    """The feed as it is, or some virtual transformations of it."""
    stream: Upstream = side(feed, "late") if draw(st.booleans()) else feed
    ways: list[Partitioning | None] = [None, Rebalance(), Rescale(), Hash(same)]
    if feed.parallelism == parallelism:
        ways.append(Forward())
    way = draw(st.sampled_from(ways))
    return stream if way is None else partition(stream, way)


def channels_of(graph: JobGraph) -> Iterator[Channel]:
    for edge in graph.edges:
        producers = graph.vertex(edge.source).parallelism
        consumers = graph.vertex(edge.target).parallelism
        for producer in range(producers):
            for consumer in consumers_of(edge.partitioning, producer, producers, consumers):
                yield edge.id, producer, consumer


def followed(layers: Layers) -> Iterator[tuple[Channel, TaskDeployment]]:
    """Each channel that some subtask writes to, and the subtask where its frames end up."""
    for task in (task for layer in layers for task in layer if isinstance(task, TaskDeployment)):
        for out in task.outputs:
            for consumer, partition_number in out.targets.items():
                at, layer = partition_number, task.layer + 1
                while isinstance(relay := layers[layer][at], RelayDeployment):
                    at, layer = relay.targets[out.edge][consumer], layer + 1
                yield (out.edge, task.subtask, consumer), relay


@settings(deadline=None, max_examples=60)
@given(programs())
def test_every_channel_has_exactly_one_path_and_it_ends_at_its_consumer(program: Program) -> None:
    graph = program.job_graph()

    arrivals = list(followed(deploy(graph)))

    assert Counter(channel for channel, _ in arrivals) == Counter(channels_of(graph))
    for (edge_id, producer, consumer), task in arrivals:
        assert (task.vertex, task.subtask) == (graph.edge(edge_id).target, consumer)
        (in_edge,) = (in_edge for in_edge in task.inputs if in_edge.edge == edge_id)
        assert producer in in_edge.producers


@settings(deadline=None, max_examples=60)
@given(programs())
def test_deployments_follow_the_plans_own_paths(program: Program) -> None:
    graph = program.job_graph()
    plan, layers = plan_layers(graph), deploy(graph)

    for edge_id, producer, consumer in channels_of(graph):
        edge = graph.edge(edge_id)
        path = plan.path(edge, producer, consumer)
        first = plan.layer_of(edge.source)
        for layer, at, onward in zip(range(first, first + len(path)), path, path[1:], strict=False):
            deployment = layers[layer][at]
            if isinstance(deployment, RelayDeployment):
                assert deployment.targets[edge_id][consumer] == onward
            else:
                (out,) = (out for out in deployment.outputs if out.edge == edge_id)
                assert out.targets[consumer] == onward


@settings(deadline=None, max_examples=60)
@given(programs())
def test_inputs_name_just_the_producers_that_write_to_them(program: Program) -> None:
    layers = program.deployments()
    tasks = [task for layer in layers for task in layer if isinstance(task, TaskDeployment)]

    written = {(o.edge, t.subtask, c) for t in tasks for o in t.outputs for c in o.consumers}
    read = {(i.edge, p, t.subtask) for t in tasks for i in t.inputs for p in i.producers}

    assert written == read


@settings(deadline=None, max_examples=60)
@given(programs())
def test_consumers_stand_below_producers_and_partitions_are_dense(program: Program) -> None:
    graph = program.job_graph()
    plan, layers = plan_layers(graph), deploy(graph)

    assert all(plan.layer_of(e.source) < plan.layer_of(e.target) for e in graph.edges)
    for number, layer in enumerate(layers):
        assert layer
        assert [d.partition for d in layer] == list(range(len(layer)))
        assert {d.layer for d in layer} == {number}
    assert sum(map(len, layers)) == plan.subtask_count


@settings(deadline=None, max_examples=60)
@given(programs())
def test_every_relay_carries_something_and_no_subtask_is_forgotten(program: Program) -> None:
    graph = program.job_graph()
    deployed = [deployment for layer in deploy(graph) for deployment in layer]

    relays = [d for d in deployed if isinstance(d, RelayDeployment)]
    tasks = [d for d in deployed if isinstance(d, TaskDeployment)]

    assert all(relay.targets and all(relay.targets.values()) for relay in relays)
    assert sorted((t.vertex, t.subtask) for t in tasks) == sorted(
        (vertex.id, index) for vertex in graph.vertices for index in range(vertex.parallelism)
    )


def test_a_deployment_holds_all_facts_of_its_subtask() -> None:
    program = Program()
    source = program.source("a", parallelism=2, buffer_timeout_ms=5)
    program.sink("b", partition(source, Hash(same)), parallelism=3, max_parallelism=9)

    graph = program.job_graph()
    producer, consumer = (layer[1] for layer in deploy(graph))

    assert isinstance(producer, TaskDeployment)
    assert isinstance(consumer, TaskDeployment)
    assert (producer.job_name, producer.attempt, producer.config) == ("job", 0, {"a": "b"})
    assert (producer.name, producer.subtask, producer.parallelism) == ("Source: a", 1, 2)
    assert (producer.layer, producer.partition) == (0, 1)
    assert producer.inputs == ()
    assert consumer.outputs == ()
    (out,), (into,) = producer.outputs, consumer.inputs
    assert (out.edge, out.operator, out.tag, out.partitioning) == (0, 0, None, Hash(same))
    assert (out.consumers, out.targets) == ((0, 1, 2), {0: 0, 1: 1, 2: 2})
    assert (out.consumer_parallelism, out.max_parallelism, out.buffer_timeout_ms) == (3, 9, 5)
    assert out.target_name == "Sink: b"
    assert (into.edge, into.producers, into.input_index) == (0, (0, 1), 0)
    assert consumer.operators == graph.vertices[1].operators


def test_an_edge_out_of_the_middle_of_a_chain_names_its_operator() -> None:
    program = Program()
    mapped = program.map("m", program.source("a"))
    program.map("chained", mapped)
    program.sink("b", partition(side(mapped, "late"), Rebalance()))

    (head, *_), *_ = program.deployments()

    assert isinstance(head, TaskDeployment)
    assert [(out.operator, out.tag) for out in head.outputs] == [(1, "late")]


def test_frames_for_a_deeper_layer_are_sent_to_a_relay_of_the_next() -> None:
    program = Program(chaining=False)
    source = program.source("a")
    program.sink("b", union(program.map("m", source), source), parallelism=2)

    (start,), (_, relay), _ = program.deployments()

    assert isinstance(start, TaskDeployment)
    assert isinstance(relay, RelayDeployment)
    assert relay.name == "Relay: Source: a"
    assert [out.targets for out in start.outputs] == [{0: 0}, {0: 1, 1: 1}]
    assert relay.targets == {start.outputs[1].edge: {0: 0, 1: 1}}


def test_a_stream_united_with_itself_has_two_separate_sets_of_channels() -> None:
    program = Program(parallelism=2)
    source = program.source("a")
    program.sink("b", union(source, source))

    (producer, _), (consumer, _) = program.deployments()

    assert isinstance(producer, TaskDeployment)
    assert isinstance(consumer, TaskDeployment)
    assert [(out.edge, out.consumers) for out in producer.outputs] == [(0, (0,)), (1, (0,))]
    assert [(into.edge, into.producers) for into in consumer.inputs] == [(0, (0,)), (1, (0,))]


def test_edges_into_other_inputs_of_the_same_consumer_know_each_other() -> None:
    program = Program()
    source = program.source("a")
    by_key, around = partition(source, Hash(same)), partition(source, Rebalance())
    program.add(_CO_MAP, "both", union(by_key, program.source("b")), around)
    program.sink("c", around)

    (producer, other), *_ = program.deployments()

    assert isinstance(producer, TaskDeployment)
    assert isinstance(other, TaskDeployment)
    first, second, sink = producer.outputs
    assert (first.target_name, second.target_name, sink.target_name) == ("both", "both", "Sink: c")
    assert (first.beside, second.beside, sink.beside) == ((second.edge,), (first.edge,), ())
    assert [out.beside for out in other.outputs] == [()]


def test_a_broadcast_does_not_leave_with_the_frames_of_single_consumers() -> None:
    program = Program()
    source = program.source("a")
    program.add(_CO_MAP, "both", partition(source, Hash(same)), partition(source, Broadcast()))

    (producer, *_), *_ = program.deployments()

    assert isinstance(producer, TaskDeployment)
    by_key, broadcast = producer.outputs
    assert (by_key.beside, broadcast.beside) == ((), (by_key.edge,))


def test_each_subtask_gets_what_it_starts_from(program: Program) -> None:
    program.map("Map", partition(program.source("Source"), Rebalance()), parallelism=2)
    graph = program.job_graph()
    target = graph.vertices[1].id
    restore = {SubtaskId(target, 1): TaskRestore(checkpoint=7)}

    layers = deployments(
        graph,
        plan_layers(graph),
        job=JobId("0" * 32),
        name="job",
        attempt=Attempt(3),
        config={},
        restore=restore,
        checkpoint_folder="/checkpoints/job",
    )

    tasks = [task for layer in layers for task in layer if isinstance(task, TaskDeployment)]
    assert {(task.name, task.subtask): task.restore for task in tasks} == {
        ("Source: Source", 0): None,
        ("Map", 0): None,
        ("Map", 1): TaskRestore(checkpoint=7),
    }
    assert {task.checkpoint_folder for task in tasks} == {"/checkpoints/job"}
    assert {task.attempt for task in tasks} == {3}
