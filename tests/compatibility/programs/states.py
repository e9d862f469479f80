"""Every kind of keyed state, with types and without, with a time to live, and timers of both times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from riverrun.api.functions import AggregateFunction
from riverrun.api.process_functions import KeyedProcessFunction
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from riverrun.api.timer_service import TimeDomain
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.core.time import Time
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.serde.row import Row
from riverrun.serde.types import Types
from tests.compatibility.held_source import HeldSource

KEYS: Final = 5
PER_KEY: Final = 30
SPLITS: Final = KEYS
MINUTE_MS: Final = 60_000
_LATER: Final = 24_500
"""Event time of a timer that is set before the snapshot and fires after it."""


class Mean(AggregateFunction):
    """Its accumulator is a pair of count and sum."""

    def create_accumulator(self) -> Any:
        return (0, 0)

    def add(self, value: int, accumulator: Any) -> Any:
        return (accumulator[0] + 1, accumulator[1] + value)

    def get_result(self, accumulator: Any) -> float:
        return float(accumulator[1]) / float(accumulator[0])

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return (acc_a[0] + acc_b[0], acc_a[1] + acc_b[1])


class Visit(NamedTuple):
    """A value that is pickled in the corpus: keep it here as it is."""

    number: int
    label: str


_PROFILE: Final = Types.ROW_NAMED(
    ["name", "visits", "share"], [Types.STRING(), Types.LONG(), Types.DOUBLE()]
)
_PAIR: Final = Types.TUPLE([Types.LONG(), Types.LONG()])


def _living(descriptor: Any, lives: Time) -> Any:
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(lives).build())
    return descriptor


class Everything(KeyedProcessFunction):
    """Puts each record into each state, and tells what is in them at the last record of its key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        context = runtime_context
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.last = context.get_state(ValueStateDescriptor("last"))
        self.profile = context.get_state(ValueStateDescriptor("profile", _PROFILE))
        self.names = context.get_list_state(ListStateDescriptor("names", Types.STRING()))
        self.things = context.get_list_state(ListStateDescriptor("things"))
        self.by_parity = context.get_map_state(
            MapStateDescriptor("by parity", Types.STRING(), Types.LONG())
        )
        self.seen = context.get_map_state(MapStateDescriptor("seen"))
        self.sum = context.get_reducing_state(_sum("sum", Types.LONG()))
        self.untyped_sum = context.get_reducing_state(_sum("untyped sum", None))
        self.mean = context.get_aggregating_state(AggregatingStateDescriptor("mean", Mean(), None))
        self.typed_mean = context.get_aggregating_state(
            AggregatingStateDescriptor("typed mean", Mean(), _PAIR)
        )
        century, moment = Time.days(36_500), Time.seconds(30)
        self.aging = context.get_state(
            _living(ValueStateDescriptor("aging", Types.LONG()), century)
        )
        self.aging_list = context.get_list_state(
            _living(ListStateDescriptor("aging list", Types.INT()), century)
        )
        self.aging_map = context.get_map_state(_living(MapStateDescriptor("aging map"), century))
        self.fleeting = context.get_state(_living(ValueStateDescriptor("fleeting"), moment))

    def process_element(
        self, value: tuple[int, int], ctx: KeyedProcessFunction.Context
    ) -> Iterator[Any]:
        key, number = value
        if number == 0:
            timers = ctx.timer_service()
            timers.register_event_time_timer(2_500)
            timers.register_event_time_timer(_LATER + key)
            timers.register_processing_time_timer(timers.current_processing_time() + MINUTE_MS)
        if number == PER_KEY - 1:
            fleeting = self.fleeting.value()
            yield ["fleeting", key, fleeting]
        self._update(key, number)
        if number == PER_KEY - 1:
            yield ["states", key, *self._contents()]

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        is_event = ctx.time_domain() is TimeDomain.EVENT_TIME
        yield ["timer", ctx.get_current_key(), timestamp if is_event else "wall clock"]

    def _update(self, key: int, number: int) -> None:
        self.count.update((self.count.value() or 0) + 1)
        self.last.update(Visit(number, f"visit {number}"))
        self.profile.update(Row(name=f"key {key}", visits=number, share=number / 4))
        if number % 4 == 0:
            self.names.add(f"n{number}")
            self.things.add(Visit(number, "thing"))
            self.aging_list.add(number)
        parity = "odd" if number % 2 else "even"
        self.by_parity[parity] = (self.by_parity.get(parity) or 0) + 1
        self.seen[number % 3, "third"] = number
        self.sum.add(number)
        self.untyped_sum.add(number)
        self.mean.add(number)
        self.typed_mean.add(number)
        self.aging.update((self.aging.value() or 0) + number)
        self.aging_map[number % 5] = number
        self.fleeting.update(number)

    def _contents(self) -> list[Any]:
        profile: Any = self.profile.value()
        last: Any = self.last.value()
        return [
            self.count.value(),
            list(last),
            [profile.name, profile.visits, profile.share],
            list(self.names),
            [list(each) for each in self.things],
            sorted(self.by_parity.items()),
            sorted([*key, value] for key, value in self.seen.items()),
            self.sum.get(),
            self.untyped_sum.get(),
            self.mean.get(),
            self.typed_mean.get(),
            self.aging.value(),
            list(self.aging_list),
            sorted(self.aging_map.items()),
        ]


def _sum(name: str, type_info: Any) -> ReducingStateDescriptor:
    return ReducingStateDescriptor(name, lambda left, right: left + right, type_info)


def rows(env: StreamExecutionEnvironment) -> DataStream:
    """Define the program; gives the stream of its rows."""
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    records = env.from_source(HeldSource("records", KEYS, PER_KEY), strategy, "records")
    keyed = records.uid("records").key_by(lambda record: record[0], Types.INT())
    everything = keyed.process(Everything()).uid("everything").name("everything")
    rolling = records.key_by(lambda record: f"key {record[0]}").reduce(
        lambda left, right: (left[0], left[1] + right[1])
    )
    sums = rolling.uid("rolling").filter(lambda pair: pair[1] == sum(range(PER_KEY)))
    return everything.union(sums.map(lambda pair: ["rolling", *pair]))
