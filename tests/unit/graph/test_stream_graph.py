from __future__ import annotations

import pytest

from riverrun.api.batch_functions import BatchFormat
from riverrun.connectors.discard import DiscardingSink
from riverrun.core.errors import ProgramError
from riverrun.graph.column_specs import MapBatchesSpec
from riverrun.graph.partitioning import (
    Broadcast,
    Forward,
    Hash,
    Partitioning,
    Rebalance,
    Rescale,
    Shuffle,
)
from riverrun.graph.specs import ReduceSpec, SinkSpec
from riverrun.graph.stream_graph import (
    StreamGraph,
    StreamGraphSettings,
    build_stream_graph,
    default_max_parallelism,
)
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types
from tests.unit.graph.conftest import Program, partition, same, side, union


class SomeType(TypeInformation):
    pass


def edges_into(graph: StreamGraph, name: str) -> list[tuple[str, Partitioning, str | None]]:
    (node,) = (node for node in graph.nodes if node.name == name)
    return [
        (graph.node(edge.source).name, edge.partitioning, edge.tag)
        for edge in graph.in_edges(node.id)
    ]


def test_each_reachable_operator_is_one_node_and_inputs_come_first(program: Program) -> None:
    source = program.source("a")
    left, right = program.map("left", source), program.map("right", source)
    joined = program.map("joined", union(left, right))
    program.source("unread")

    graph = build_stream_graph([joined], StreamGraphSettings())

    assert [node.name for node in graph.nodes] == ["Source: a", "left", "right", "joined"]
    assert [(edge.source, edge.target) for edge in graph.edges] == [(1, 2), (1, 3), (2, 4), (3, 4)]


def test_the_order_does_not_depend_on_which_root_is_named_first(program: Program) -> None:
    source = program.source("a")
    sinks = [program.sink(name, source) for name in ("x", "y", "z")]

    everything = program.stream_graph()
    sinks_only = build_stream_graph(sinks, program.settings)

    assert everything == sinks_only


def test_a_program_without_operators_is_refused() -> None:
    with pytest.raises(ProgramError, match="defines no operators"):
        build_stream_graph([], StreamGraphSettings())


def test_a_loop_is_refused_by_name(program: Program) -> None:
    source = program.source("a")
    first = program.map("first", source)
    second = program.map("second", first)
    first.inputs.append(second)

    with pytest.raises(ProgramError, match="depends on its own output"):
        program.stream_graph()


def test_operators_of_two_environments_cannot_be_mixed() -> None:
    one, other = Program(), Program()
    program_source = one.source("a")
    mixed = other.map("mixed", program_source)

    with pytest.raises(ProgramError, match=r"'a' and 'mixed'.*different environments"):
        build_stream_graph([mixed], StreamGraphSettings())


def test_source_and_sink_names_get_flinks_prefix_once(program: Program) -> None:
    source = program.source("Source: a")
    program.sink("print", source)

    assert [node.name for node in program.stream_graph().nodes] == ["Source: a", "Sink: print"]


class TestPartitioning:
    def test_equal_parallelism_means_forward_and_unequal_means_rebalance(self) -> None:
        program = Program(parallelism=2)
        source = program.source("a")
        equal = program.map("equal", source)
        program.map("unequal", equal, parallelism=3)

        graph = program.stream_graph()

        assert edges_into(graph, "equal") == [("Source: a", Forward(), None)]
        assert edges_into(graph, "unequal") == [("equal", Rebalance(), None)]

    def test_forward_between_unequal_operators_is_refused_with_names_and_numbers(
        self, program: Program
    ) -> None:
        source = program.source("a", parallelism=2)
        program.map("m", partition(source, Forward()), parallelism=3)

        with pytest.raises(ProgramError) as refused:
            program.stream_graph()

        for fact in ("'Source: a' (parallelism 2)", "'m' (parallelism 3)", "rebalance()"):
            assert fact in str(refused.value)

    def test_the_partitioning_written_last_counts(self, program: Program) -> None:
        source = program.source("a")
        program.map("m", partition(partition(source, Shuffle()), Broadcast()))

        assert edges_into(program.stream_graph(), "m") == [("Source: a", Broadcast(), None)]

    def test_partitioning_inside_a_union_holds_for_that_branch_only(self, program: Program) -> None:
        a, b = program.source("a"), program.source("b")
        program.map("inner", union(partition(a, Rescale()), b))
        program.map("outer", partition(union(partition(a, Rescale()), b), Shuffle()))

        graph = program.stream_graph()

        assert edges_into(graph, "inner") == [
            ("Source: a", Rescale(), None),
            ("Source: b", Forward(), None),
        ]
        assert edges_into(graph, "outer") == [
            ("Source: a", Shuffle(), None),
            ("Source: b", Shuffle(), None),
        ]

    def test_each_input_of_a_keyed_operator_has_its_own_selector(self, program: Program) -> None:
        a, b = program.source("a"), program.source("b")
        by_a, by_b = Hash(lambda value: value[0]), Hash(lambda value: value[1])
        program.map("joined", partition(a, by_a), partition(b, by_b), key_selector=same)

        graph = program.stream_graph()

        assert [(edge.input_index, edge.partitioning) for edge in graph.edges] == [
            (0, by_a),
            (1, by_b),
        ]
        assert graph.nodes[-1].key_selector is same


class TestUnionsAndSideOutputs:
    def test_a_union_of_three_gives_three_edges_into_one_input(self, program: Program) -> None:
        sources = [program.source(name) for name in ("a", "b", "c")]
        program.map("m", union(union(sources[0], sources[1]), sources[2]))

        edges = program.stream_graph().edges

        assert [(edge.source, edge.input_index) for edge in edges] == [(1, 0), (2, 0), (3, 0)]

    def test_a_stream_united_with_itself_gives_two_edges(self, program: Program) -> None:
        source = program.source("a")
        program.map("m", union(source, source))

        edges = program.stream_graph().edges

        assert [(edge.source, edge.target) for edge in edges] == [(1, 2), (1, 2)]

    def test_a_side_output_lands_on_the_edge_with_its_own_type(self, program: Program) -> None:
        main, late = SomeType(), SomeType()
        process = program.map("p", program.source("a"), output_type=main)
        process.enforce_type = True
        program.map("main", process)
        program.map("late", side(process, "late", output_type=late))

        graph = program.stream_graph()

        assert [(edge.tag, edge.type_info) for edge in graph.out_edges(process.id)] == [
            (None, main),
            ("late", late),
        ]

    def test_side_outputs_partitionings_and_unions_nest_in_any_order(
        self, program: Program
    ) -> None:
        p, q = program.source("p"), program.source("q")
        tangled = partition(
            union(side(partition(p, Rescale()), "x"), partition(side(q, "y"), Rescale())), Shuffle()
        )
        program.map("m", tangled)

        assert edges_into(program.stream_graph(), "m") == [
            ("Source: p", Shuffle(), "x"),
            ("Source: q", Shuffle(), "y"),
        ]


class TestParallelism:
    def test_operators_that_do_not_say_get_the_environments(self) -> None:
        program = Program(parallelism=4, max_parallelism=64, buffer_timeout_ms=7)
        program.map("m", program.source("a"), parallelism=2, max_parallelism=8, buffer_timeout_ms=0)

        source, mapped = program.stream_graph().nodes

        assert (source.parallelism, source.max_parallelism, source.buffer_timeout_ms) == (4, 64, 7)
        assert (mapped.parallelism, mapped.max_parallelism, mapped.buffer_timeout_ms) == (2, 8, 0)

    def test_a_forced_parallelism_wins_over_the_environments(self) -> None:
        program = Program(parallelism=4)
        program.source("a", forced_parallelism=1)

        assert program.stream_graph().nodes[0].parallelism == 1

    def test_asking_for_another_than_the_forced_parallelism_is_refused(
        self, program: Program
    ) -> None:
        program.source("a", forced_parallelism=1, parallelism=2)

        with pytest.raises(ProgramError, match=r"'Source: a'.* 2 .*can only.* 1"):
            program.stream_graph()

    @pytest.mark.parametrize("parallelism", [0, -1])
    def test_a_parallelism_below_one_is_refused(self, program: Program, parallelism: int) -> None:
        program.source("a", parallelism=parallelism)

        with pytest.raises(ProgramError, match=f"'Source: a': parallelism is {parallelism}"):
            program.stream_graph()

    def test_parallelism_above_max_parallelism_is_refused(self, program: Program) -> None:
        program.source("a", parallelism=9, max_parallelism=8)

        with pytest.raises(ProgramError, match="parallelism 9 is larger than max parallelism 8"):
            program.stream_graph()

    @pytest.mark.parametrize("max_parallelism", [0, 32769])
    def test_a_max_parallelism_out_of_range_is_refused(
        self, program: Program, max_parallelism: int
    ) -> None:
        program.source("a", max_parallelism=max_parallelism)

        with pytest.raises(ProgramError, match=f"max parallelism is {max_parallelism}"):
            program.stream_graph()

    def test_the_default_max_parallelism_is_flinks(self) -> None:
        sizes = [1, 2, 85, 86, 170, 171, 341, 342, 20000, 32768]

        assert [default_max_parallelism(size) for size in sizes] == [
            128,
            128,
            128,
            256,
            256,
            256,
            512,
            1024,
            32768,
            32768,
        ]


class TestSlotSharingGroups:
    def test_a_group_is_inherited_when_all_inputs_agree(self, program: Program) -> None:
        a = program.source("a", slot_sharing_group="g")
        b = program.source("b", slot_sharing_group="g")
        program.map("m", union(a, b))

        assert program.stream_graph().nodes[-1].slot_sharing_group == "g"

    def test_inputs_of_different_groups_give_the_default_group(self, program: Program) -> None:
        a = program.source("a", slot_sharing_group="g")
        b = program.source("b")
        program.map("m", union(a, b))

        assert [node.slot_sharing_group for node in program.stream_graph().nodes] == [
            "g",
            "default",
            "default",
        ]

    def test_a_group_of_its_own_wins(self, program: Program) -> None:
        program.map("m", program.source("a", slot_sharing_group="g"), slot_sharing_group="default")

        assert program.stream_graph().nodes[-1].slot_sharing_group == "default"


def test_a_uid_given_twice_is_refused_with_both_names(program: Program) -> None:
    source = program.source("a", uid="same")
    program.map("m", source, uid="same")

    with pytest.raises(ProgramError, match="uid 'same': given to both 'Source: a' and 'm'"):
        program.stream_graph()


def test_the_same_operator_named_by_two_roots_is_no_duplicate(program: Program) -> None:
    source = program.source("a", uid="u")

    graph = build_stream_graph([source, source], program.settings)

    assert len(graph.nodes) == 1


def test_a_program_deeper_than_the_recursion_limit_compiles(program: Program) -> None:
    stream = program.source("a")
    for number in range(3000):
        stream = program.map(str(number), partition(stream, Rebalance()))

    graph = build_stream_graph([stream], program.settings)

    assert len(graph.nodes) == 3001


class TestTypesOnTheWire:
    def test_a_declared_type_is_used_also_behind_a_reduce_that_hands_it_on(
        self, program: Program
    ) -> None:
        pairs = Types.TUPLE([Types.STRING(), Types.LONG()])
        declared = program.map("m", program.source("a"), output_type=pairs)
        declared.enforce_type = True
        reduced = program.add(ReduceSpec(max), "r", declared, output_type=pairs)
        program.map("end", reduced)

        graph = program.stream_graph()

        assert [edge.type_info for edge in graph.out_edges(declared.id)] == [pairs]
        assert [edge.type_info for edge in graph.out_edges(reduced.id)] == [pairs]

    def test_an_inferred_type_is_used_where_columns_are_cheaper_than_pickle(
        self, program: Program
    ) -> None:
        rows = Types.ROW([Types.LONG()])
        as_rows = program.map("rows", program.source("a"), output_type=rows)
        as_pairs = program.map(
            "pairs", as_rows, output_type=Types.TUPLE([Types.LONG(), Types.LONG()])
        )
        program.map("end", as_pairs)

        graph = program.stream_graph()

        assert [edge.type_info for edge in graph.out_edges(as_rows.id)] == [rows]
        assert [edge.type_info for edge in graph.out_edges(as_pairs.id)] == [None]

    def test_an_edge_knows_whether_its_reader_would_rather_have_columns(
        self, program: Program
    ) -> None:
        rows = Types.ROW([Types.LONG()])
        typed = program.map("rows", program.source("a"), output_type=rows)
        program.map("records", typed)
        program.add(MapBatchesSpec(same, rows, BatchFormat.ARROW), "columns", typed)
        program.add(SinkSpec(DiscardingSink()), "all the same", typed)
        program.sink("a sink of records", typed)

        graph = program.stream_graph()

        found = [edge.takes_columns for edge in graph.out_edges(typed.id)]
        assert found == [False, True, True, False]
