from __future__ import annotations

import pickle

from riverrun.graph.layers import LayerPlan, PlannedRelay, PlannedSubtask, plan_layers
from riverrun.graph.partitioning import Broadcast, Rebalance
from riverrun.graph.transformations import Chaining
from tests.unit.graph.conftest import Program, partition, union, vertex_named


def plan(program: Program) -> LayerPlan:
    return plan_layers(program.job_graph())


def shape(plan: LayerPlan) -> list[list[str]]:
    """Each slot as "name/subtask", or "relay of name/index"."""
    names = {vertex.id: vertex.name for vertex in plan.graph.vertices}
    return [
        [
            f"{names[slot.vertex]}/{slot.subtask}"
            if isinstance(slot, PlannedSubtask)
            else f"relay of {names[slot.source]}/{slot.index}"
            for slot in layer.slots
        ]
        for layer in plan.layers
    ]


def skipping(depth: int, *, source: int, middle: int, sink: int) -> Program:
    """A source that feeds a row of maps and, past them, the sink behind them."""
    program = Program()
    start = program.source("a", parallelism=source, chaining=Chaining.NEVER)
    stream = start
    for number in range(depth):
        stream = program.map(f"m{number}", partition(stream, Rebalance()), parallelism=middle)
    program.sink("b", union(stream, start), parallelism=sink)
    return program


def test_one_chained_vertex_is_one_layer() -> None:
    program = Program(parallelism=2)
    program.sink("b", program.source("a"))

    assert shape(plan(program)) == [["Source: a -> Sink: b/0", "Source: a -> Sink: b/1"]]


def test_each_vertex_stands_one_below_its_deepest_input(program: Program) -> None:
    stream = program.map("m", program.source("a", parallelism=1), parallelism=3)
    program.sink("b", stream, parallelism=2)

    assert shape(plan(program)) == [
        ["Source: a/0"],
        ["m/0", "m/1", "m/2"],
        ["Sink: b/0", "Sink: b/1"],
    ]


def test_an_edge_that_skips_one_layer_goes_through_relays() -> None:
    assert shape(plan(skipping(1, source=2, middle=1, sink=3))) == [
        ["Source: a/0", "Source: a/1"],
        ["m0/0", "relay of Source: a/0", "relay of Source: a/1"],
        ["Sink: b/0", "Sink: b/1", "Sink: b/2"],
    ]


def test_an_edge_that_skips_two_layers_has_relays_in_both() -> None:
    assert shape(plan(skipping(2, source=3, middle=1, sink=2))) == [
        ["Source: a/0", "Source: a/1", "Source: a/2"],
        ["m0/0", "relay of Source: a/0", "relay of Source: a/1"],
        ["m1/0", "relay of Source: a/0", "relay of Source: a/1"],
        ["Sink: b/0", "Sink: b/1"],
    ]


def test_a_producer_uses_the_same_relay_in_every_layer() -> None:
    found = plan(skipping(2, source=3, middle=1, sink=2))
    (edge,) = (
        edge
        for edge in found.graph.edges
        if found.layer_of(edge.target) - found.layer_of(edge.source) > 1
    )

    paths = {(p, c): found.path(edge, p, c) for p in range(3) for c in range(2)}

    assert paths == {
        (0, 0): (0, 1, 1, 0),
        (0, 1): (0, 1, 1, 1),
        (1, 0): (1, 2, 2, 0),
        (1, 1): (1, 2, 2, 1),
        (2, 0): (2, 1, 1, 0),
        (2, 1): (2, 1, 1, 1),
    }


def test_edges_out_of_one_vertex_share_relays_and_edges_out_of_two_do_not() -> None:
    program = Program(chaining=False)
    a, b = program.source("a"), program.source("b")
    middle = program.map("m", a)
    program.sink("x", union(middle, a))
    program.sink("y", union(middle, a, b))

    middle_layer = plan(program).layers[1]
    relays = [slot for slot in middle_layer.slots if isinstance(slot, PlannedRelay)]

    assert [len(relay.edges) for relay in relays] == [2, 1]


def test_a_shared_relay_carries_only_edges_that_use_it() -> None:
    program = Program(chaining=False)
    source = program.source("a", parallelism=2)
    middle = program.map("m", source)
    program.sink("narrow", union(middle, source))
    program.sink("wide", union(middle, source), parallelism=2)

    middle_layer = plan(program).layers[1]
    relays = [slot for slot in middle_layer.slots if isinstance(slot, PlannedRelay)]

    assert [len(relay.edges) for relay in relays] == [2, 1]


def test_fan_out_puts_all_sinks_into_one_layer() -> None:
    program = Program(chaining=False)
    source = program.source("a")
    for name in ("x", "y", "z"):
        program.sink(name, source)

    assert shape(plan(program)) == [["Source: a/0"], ["Sink: x/0", "Sink: y/0", "Sink: z/0"]]


def test_a_union_of_three_sources_is_two_layers() -> None:
    program = Program()
    sources = [program.source(name) for name in ("a", "b", "c")]
    program.sink("d", union(*sources))

    assert shape(plan(program)) == [
        ["Source: a/0", "Source: b/0", "Source: c/0"],
        ["Sink: d/0"],
    ]


def test_a_broadcast_edge_reaches_every_consumer() -> None:
    program = Program()
    program.map("m", partition(program.source("a"), Broadcast()), parallelism=3)
    found = plan(program)

    assert [found.path(found.graph.edges[0], 0, c) for c in range(3)] == [(0, 0), (0, 1), (0, 2)]


def test_two_programs_in_one_share_the_layers() -> None:
    program = Program(chaining=False)
    program.sink("b", program.source("a"))
    program.source("alone")

    assert shape(plan(program)) == [["Source: a/0", "Source: alone/0"], ["Sink: b/0"]]


def test_spark_needs_a_slot_for_every_subtask_and_relay() -> None:
    found = plan(skipping(1, source=2, middle=1, sink=3))

    assert found.subtask_count == 2 + 3 + 3


def test_slots_are_the_largest_parallelism_of_each_sharing_group() -> None:
    program = Program(chaining=False)
    source = program.source("a", parallelism=2)
    wide = program.map("m", source, parallelism=4, slot_sharing_group="g")
    program.sink("b", wide, parallelism=3, slot_sharing_group="default")

    assert plan(program).slots_needed == 3 + 4


def test_a_plan_can_be_printed() -> None:
    assert plan(skipping(1, source=2, middle=1, sink=3)).describe().splitlines() == [
        "8 Spark task slots, 3 slots",
        "layer 0",
        "  0-1: Source: a",
        "layer 1",
        "  0: m0",
        "  1-2: relay of Source: a (edges 2)",
        "layer 2",
        "  0-2: Sink: b",
    ]


def test_a_plan_survives_pickling() -> None:
    found = plan(skipping(1, source=2, middle=1, sink=3))
    found.describe()

    again = pickle.loads(pickle.dumps(found))

    assert again.describe() == found.describe()


def test_two_hundred_vertices_in_a_row_are_two_hundred_layers() -> None:
    program = Program(chaining=False)
    stream = program.source("a")
    for number in range(199):
        stream = program.map(str(number), stream)

    found = plan(program)

    assert len(found.layers) == 200
    assert found.layer_of(vertex_named(found.graph, "198").id) == 199
