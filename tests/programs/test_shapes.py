"""Programs of every shape give the same results on both shells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from riverrun.api.functions import ProcessFunction
from riverrun.api.output_tag import OutputTag
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.connectors.number_sequence import NumberSequenceSource
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from tests.programs.conftest import MakeEnv


def numbers(env: StreamExecutionEnvironment, count: int, name: str = "numbers") -> DataStream:
    return env.from_source(
        NumberSequenceSource(0, count - 1), WatermarkStrategy.no_watermarks(), name
    )


def collected(stream: DataStream) -> list[Any]:
    with stream.execute_and_collect() as results:
        return list(results)


def test_map_filter_flat_map_in_one_chain(make_env: MakeEnv) -> None:
    env = make_env(parallelism=2)

    stream = (
        numbers(env, 100)
        .map(lambda x: x * 3)
        .filter(lambda x: x % 2 == 0)
        .flat_map(lambda x: [x, -x])
    )

    expected = Counter(y for x in range(100) if x * 3 % 2 == 0 for y in (x * 3, -x * 3))
    assert Counter(collected(stream)) == expected


def test_keyed_reduce_emits_each_update_in_order_per_key(make_env: MakeEnv) -> None:
    env = make_env(parallelism=2)

    stream = (
        env.from_collection([("a", 1), ("b", 10), ("a", 2), ("b", 20), ("a", 3)])
        .key_by(lambda v: v[0])
        .reduce(lambda x, y: (x[0], x[1] + y[1]))
    )

    results = collected(stream)
    assert [v for k, v in results if k == "a"] == [1, 3, 6]
    assert [v for k, v in results if k == "b"] == [10, 30]


def test_parallelism_one_three_two(make_env: MakeEnv) -> None:
    env = make_env(parallelism=1)

    stream = (
        numbers(env, 500)
        .map(lambda x: x + 1)
        .set_parallelism(3)
        .key_by(lambda x: x % 7)
        .reduce(max)
        .set_parallelism(2)
    )

    results = collected(stream)
    assert len(results) == 500
    assert {max(r for r in results if r % 7 == k) for k in range(7)} == set(range(494, 501))


def test_diamond_with_an_edge_that_skips_layers(make_env: MakeEnv) -> None:
    env = make_env(parallelism=2)
    source = numbers(env, 200)

    long = source.rebalance().map(lambda x: ("long", x)).rebalance().map(lambda v: v)
    short = source.map(lambda x: ("short", x))
    joined = long.union(short).key_by(lambda v: v[1]).reduce(lambda a, b: ("both", a[1]))

    results = collected(joined)
    assert len(results) == 400
    assert sorted(v for kind, v in results if kind == "both") == list(range(200))


def test_union_of_three_sources_and_with_itself(make_env: MakeEnv) -> None:
    env = make_env(parallelism=2)
    a, b, c = (numbers(env, n, f"s{n}") for n in (10, 20, 30))

    everything = a.union(b, c)
    stream = everything.union(everything).map(lambda x: x)

    expected = Counter(x for n in (10, 20, 30) for x in range(n))
    assert Counter(collected(stream)) == expected + expected


def test_broadcast_reaches_every_subtask(make_env: MakeEnv) -> None:
    env = make_env(parallelism=1)

    stream = numbers(env, 10).broadcast().map(lambda x: x).set_parallelism(3)

    assert Counter(collected(stream)) == Counter(dict.fromkeys(range(10), 3))


def test_every_partitioning_delivers_each_record_once(make_env: MakeEnv) -> None:
    env = make_env(parallelism=2)
    stream = numbers(env, 50)
    for name in ("shuffle", "rebalance", "rescale", "global"):
        stream = getattr(stream, name)().map(lambda x: x + 1)
    stream = stream.partition_custom(lambda key, n: key % n, lambda x: x).map(lambda x: x)

    assert sorted(collected(stream)) == list(range(4, 54))


class Split(ProcessFunction):
    """Even numbers go on, odd ones to the side."""

    def __init__(self, tag: OutputTag) -> None:
        self._tag = tag

    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
        if value % 2:
            yield self._tag, ("odd", value)
        else:
            yield value


def test_side_outputs_are_apart_from_the_main_output(make_env: MakeEnv) -> None:
    env = make_env(parallelism=2)
    tag = OutputTag("odd")

    main = numbers(env, 20).process(Split(tag))
    side = main.get_side_output(tag)
    both = side.map(lambda v: v[1]).union(main.map(lambda v: -v))

    assert sorted(collected(both)) == sorted([-x for x in range(0, 20, 2)] + list(range(1, 20, 2)))


def test_fan_out_to_several_consumers(make_env: MakeEnv) -> None:
    env = make_env(parallelism=2)
    source = numbers(env, 30)

    def tagged(k: int) -> Callable[[int], tuple[int, int]]:
        return lambda x: (k, x)

    branches = [source.rebalance().map(tagged(k)) for k in range(3)]
    stream = branches[0].union(*branches[1:])

    assert sorted(collected(stream)) == [(k, x) for k in range(3) for x in range(30)]


def test_no_records_at_all(make_env: MakeEnv) -> None:
    env = make_env(parallelism=2)

    stream = env.from_collection([]).key_by(lambda x: x).reduce(lambda a, b: a)

    assert collected(stream) == []


def test_unicode_and_none_values_pass(make_env: MakeEnv) -> None:
    env = make_env(parallelism=2)
    values = [None, "", "zażółć", "🌊", None, b"\x00\xff"]

    stream = env.from_collection(values).rebalance().map(lambda v: (v,))

    assert Counter(collected(stream)) == Counter((v,) for v in values)


def test_two_hundred_operators_in_one_chain(make_env: MakeEnv) -> None:
    env = make_env(parallelism=1)
    stream = numbers(env, 20)

    for _ in range(200):
        stream = stream.map(lambda x: x + 1)

    assert sorted(collected(stream)) == list(range(200, 220))


def test_a_generator_source_makes_each_index_once(make_env: MakeEnv) -> None:
    env = make_env(parallelism=3)

    stream = env.from_source(
        DataGeneratorSource(lambda i: i * i, 1000), WatermarkStrategy.no_watermarks(), "squares"
    )

    assert sorted(collected(stream)) == [i * i for i in range(1000)]
