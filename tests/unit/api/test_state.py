"""State: what descriptors say, what is refused, and what the interfaces do by themselves."""

import pickle
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pytest

from riverrun.api.checkpointed import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from riverrun.api.functions import AggregateFunction, MapFunction, ReduceFunction
from riverrun.api.state import (
    AggregatingStateDescriptor,
    BroadcastState,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from riverrun.api.state_ttl import StateTtlConfig
from riverrun.core.time import Duration, Time
from riverrun.protocol.snapshots import StateKind
from riverrun.serde.types import Types

HOUR = StateTtlConfig.new_builder(Time.hours(1)).build()


class Adding(ReduceFunction):
    def reduce(self, value1: int, value2: int) -> int:
        return value1 + value2


class Average(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


PAIR = Types.TUPLE([Types.LONG(), Types.LONG()])
DESCRIPTORS: list[tuple[StateDescriptor, StateKind, str]] = [
    (
        ValueStateDescriptor("seen", Types.INT()),
        StateKind.VALUE,
        "ValueStateDescriptor('seen', value=Types.INT())",
    ),
    (
        ListStateDescriptor("seen", Types.INT()),
        StateKind.LIST,
        "ListStateDescriptor('seen', value=Types.INT())",
    ),
    (
        MapStateDescriptor("seen", Types.STRING(), Types.INT()),
        StateKind.MAP,
        "MapStateDescriptor('seen', map_key=Types.STRING(), value=Types.INT())",
    ),
    (
        ReducingStateDescriptor("seen", Adding(), Types.INT()),
        StateKind.REDUCING,
        "ReducingStateDescriptor('seen', value=Types.INT())",
    ),
    (
        AggregatingStateDescriptor("seen", Average(), PAIR),
        StateKind.AGGREGATING,
        "AggregatingStateDescriptor('seen', value=Types.TUPLE([Types.LONG(), Types.LONG()]))",
    ),
]


@pytest.mark.parametrize(("descriptor", "kind", "shown"), DESCRIPTORS)
def test_a_descriptor_says_what_it_describes(
    descriptor: StateDescriptor, kind: StateKind, shown: str
) -> None:
    assert descriptor.get_name() == descriptor.name == "seen"
    assert descriptor.kind is kind
    assert repr(descriptor) == shown


@pytest.mark.parametrize(("descriptor", "kind", "shown"), DESCRIPTORS)
def test_a_descriptor_can_be_pickled_with_its_time_to_live(
    descriptor: StateDescriptor, kind: StateKind, shown: str
) -> None:
    copy = pickle.loads(pickle.dumps(descriptor))
    copy.enable_time_to_live(HOUR)
    again = pickle.loads(pickle.dumps(copy))

    assert again.kind is kind
    assert again.ttl_config == HOUR
    assert repr(again) == shown[:-1] + ", ttl=3600000 ms)"


def test_types_of_a_state_are_those_of_its_parts() -> None:
    listed = ListStateDescriptor("s", Types.INT())
    mapped = MapStateDescriptor("s", Types.STRING(), Types.INT())

    assert (listed.type_info, listed.types()) == (Types.LIST(Types.INT()), {"value": Types.INT()})
    assert mapped.type_info == Types.MAP(Types.STRING(), Types.INT())
    assert mapped.types() == {"map_key": Types.STRING(), "value": Types.INT()}
    assert (mapped.key_type_info, mapped.value_type_info) == (Types.STRING(), Types.INT())


def test_a_state_without_types_is_pickled() -> None:
    half = MapStateDescriptor("s", Types.STRING())

    assert ValueStateDescriptor("s").types() == {}
    assert ListStateDescriptor("s").type_info is None
    assert (half.type_info, half.types()) == (None, {"map_key": Types.STRING()})


@pytest.mark.parametrize("reduce", [Adding(), lambda a, b: a + b, max, np.add])
def test_a_reducing_state_takes_function_objects_and_callables(reduce: Any) -> None:
    descriptor = ReducingStateDescriptor("s", reduce)

    assert descriptor.get_reduce_function() is reduce
    assert descriptor.reduce(0, 5) == 5


def test_an_aggregating_state_gives_its_function_back() -> None:
    average = Average()

    assert AggregatingStateDescriptor("s", average).get_agg_function() is average


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ValueStateDescriptor(""), "the name of the state is ''; expected a str"),
        (lambda: ValueStateDescriptor(3), "the name of the state is 3; expected a str"),  # type: ignore[arg-type]
        (lambda: ValueStateDescriptor("s", Types.INT), "expected a type such as Types.STRING()"),  # type: ignore[arg-type]
        (lambda: ListStateDescriptor("s", int), "the type of its elements is <class 'int'>"),  # type: ignore[arg-type]
        (lambda: MapStateDescriptor("s", int), "the type of its keys is <class 'int'>"),  # type: ignore[arg-type]
        (lambda: ReducingStateDescriptor("s", Adding), "expected a ReduceFunction object"),  # type: ignore[arg-type]
        (lambda: ReducingStateDescriptor("s", 3), "its reduce function is 3"),  # type: ignore[arg-type]
        (lambda: AggregatingStateDescriptor("s", max), "expected an AggregateFunction object"),  # type: ignore[arg-type]
        (
            lambda: ValueStateDescriptor("s").enable_time_to_live(Time.hours(1)),  # type: ignore[arg-type]
            "expected a StateTtlConfig",
        ),
    ],
)
def test_a_descriptor_refuses_what_cannot_be(make: Any, said: str) -> None:
    with pytest.raises(TypeError) as caught:
        make()

    assert said in str(caught.value)


class Listed(ListState[int]):
    def __init__(self) -> None:
        self.kept: list[int] = []

    def clear(self) -> None:
        self.kept = []

    def get(self) -> Iterable[int]:
        return iter(self.kept)

    def add(self, value: int) -> None:
        self.kept.append(value)

    def update(self, values: Iterable[int]) -> None:
        self.kept = list(values)

    def add_all(self, values: Iterable[int]) -> None:
        self.kept += values


class Dict(MapState[str, int | None], BroadcastState[str, int | None]):
    def __init__(self) -> None:
        self.kept: dict[str, int | None] = {}

    def clear(self) -> None:
        self.kept = {}

    def get(self, key: str) -> int | None:
        return self.kept.get(key)

    def put(self, key: str, value: int | None) -> None:
        self.kept[key] = value

    def put_all(self, dict_value: Mapping[str, int | None]) -> None:
        self.kept |= dict_value

    def remove(self, key: str) -> None:
        self.kept.pop(key, None)

    def contains(self, key: str) -> bool:
        return key in self.kept

    def items(self) -> Iterable[tuple[str, int | None]]:
        return self.kept.items()

    def keys(self) -> Iterable[str]:
        return self.kept.keys()

    def values(self) -> Iterable[int | None]:
        return self.kept.values()

    def is_empty(self) -> bool:
        return not self.kept


def test_a_list_state_can_be_walked() -> None:
    state = Listed()
    state.update([1, 2])

    assert list(state) == [1, 2]


def test_a_map_state_is_used_like_a_dict_and_tells_none_from_nothing() -> None:
    state = Dict()
    state["a"] = None
    state["b"] = 2
    del state["b"]

    assert (state["a"], state["b"]) == (None, None)
    assert "a" in state
    assert "b" not in state
    assert list(state) == ["a"]


def test_the_time_to_live_has_flinks_defaults() -> None:
    config = StateTtlConfig.new_builder(Duration.of_seconds(5)).build()

    assert config.is_enabled()
    assert config.get_ttl() == Time.seconds(5)
    assert config.get_update_type() is StateTtlConfig.UpdateType.OnCreateAndWrite
    assert config.get_state_visibility() is StateTtlConfig.StateVisibility.NeverReturnExpired
    assert (
        config.get_ttl_time_characteristic() is StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
    )
    cleanup = config.get_cleanup_strategies()
    assert cleanup.is_cleanup_in_background()
    assert not cleanup.in_full_snapshot()
    incremental = cleanup.get_incremental_cleanup_strategy()
    assert incremental is not None
    assert incremental.get_cleanup_size() == 5
    assert not incremental.run_cleanup_for_every_record()
    compaction = cleanup.get_rocksdb_compact_filter_cleanup_strategy()
    assert compaction is not None
    assert compaction.get_query_time_after_num_entries() == 1000
    assert compaction.get_periodic_compaction_time() == Duration.of_days(30)


def test_the_time_to_live_is_what_the_builder_was_told() -> None:
    config = (
        StateTtlConfig.new_builder(Time.seconds(5))
        .set_ttl(Time.seconds(7))
        .update_ttl_on_read_and_write()
        .return_expired_if_not_cleaned_up()
        .use_processing_time()
        .cleanup_full_snapshot()
        .cleanup_incrementally(10, True)
        .cleanup_in_rocksdb_compact_filter(100, Time.hours(2))
        .disable_cleanup_in_background()
        .build()
    )
    cleanup = config.get_cleanup_strategies()
    incremental = cleanup.get_incremental_cleanup_strategy()
    compaction = cleanup.get_rocksdb_compact_filter_cleanup_strategy()

    assert config.ttl_ms == 7000
    assert config.get_update_type() is StateTtlConfig.UpdateType.OnReadAndWrite
    assert (
        config.get_state_visibility() is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
    )
    assert not cleanup.is_cleanup_in_background()
    assert cleanup.in_full_snapshot()
    assert incremental is not None
    assert (incremental.get_cleanup_size(), incremental.run_cleanup_for_every_record()) == (
        10,
        True,
    )
    assert compaction is not None
    assert compaction.get_periodic_compaction_time() == Duration.of_hours(2)
    assert pickle.loads(pickle.dumps(config)) == config
    assert hash(pickle.loads(pickle.dumps(config))) == hash(config)
    assert "ttl=7000 ms" in repr(config)


def test_nested_classes_are_known_by_the_names_that_users_write() -> None:
    kind = StateTtlConfig.UpdateType.OnReadAndWrite
    strategies = StateTtlConfig.CleanupStrategies.Strategies

    assert str(kind) == "UpdateType.OnReadAndWrite"
    assert strategies.__qualname__ == "StateTtlConfig.CleanupStrategies.Strategies"
    assert pickle.loads(pickle.dumps(kind)) is kind


def test_without_background_cleanup_nothing_is_cleaned_up_unasked() -> None:
    config = StateTtlConfig.new_builder(Time.seconds(5)).disable_cleanup_in_background().build()

    assert config.get_cleanup_strategies().get_incremental_cleanup_strategy() is None
    assert config.get_cleanup_strategies().get_rocksdb_compact_filter_cleanup_strategy() is None


def test_configurations_that_differ_are_not_equal() -> None:
    other = StateTtlConfig.new_builder(Time.hours(1)).cleanup_incrementally(7, True).build()
    never = (
        StateTtlConfig.new_builder(Time.hours(1))
        .set_update_type(StateTtlConfig.UpdateType.Disabled)
        .build()
    )

    assert len({HOUR, other, never}) == 3
    assert not never.is_enabled()


def test_a_time_to_live_must_be_a_time() -> None:
    with pytest.raises(ValueError, match="entries live for 0 ms; expected more than 0"):
        StateTtlConfig.new_builder(Time.seconds(0)).build()
    with pytest.raises(ValueError, match="looks at 0 entries at a time"):
        StateTtlConfig.new_builder(Time.seconds(1)).cleanup_incrementally(0, False)


def test_a_function_may_keep_operator_state_and_hear_of_checkpoints() -> None:
    class Counting(MapFunction, CheckpointedFunction, CheckpointListener):
        def map(self, value: int) -> int:
            return value

        def initialize_state(self, context: FunctionInitializationContext) -> None:
            context.get_operator_state_store()

        def snapshot_state(self, context: FunctionSnapshotContext) -> None:
            context.get_checkpoint_id()

        def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
            del checkpoint_id

    function = Counting()
    function.notify_checkpoint_aborted(1)

    assert isinstance(function, CheckpointedFunction)
