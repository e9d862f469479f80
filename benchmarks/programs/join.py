"""``join`` on riverrun: orders with the shipments that follow them."""

from collections.abc import Callable, Iterator
from typing import Final

from benchmarks.orders import (
    BOUND_MS,
    WITHIN_MS,
    Order,
    Shipment,
    number_of,
    order,
    sent,
    shipment,
    time_of,
)
from benchmarks.programs.program import Program
from riverrun import (
    DataStream,
    Duration,
    ProcessJoinFunction,
    StreamExecutionEnvironment,
    Time,
    WatermarkStrategy,
)
from riverrun.connectors.datagen import DataGeneratorSource


class Sent(ProcessJoinFunction[Order, Shipment, tuple[int, int, int]]):
    """The pair for riverrun."""

    def process_element(
        self, left: Order, right: Shipment, ctx: ProcessJoinFunction.Context
    ) -> Iterator[tuple[int, int, int]]:
        """One result a pair."""
        del ctx
        yield sent(left, right)


def join(environment: StreamExecutionEnvironment, records: int) -> DataStream:
    """Each order that is sent in time."""

    def stream(make: Callable[[int], Order | Shipment], name: str) -> DataStream:
        bounded = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(BOUND_MS))
        strategy = bounded.with_timestamp_assigner(time_of)
        return environment.from_source(DataGeneratorSource(make, records // 2), strategy, name)

    orders = stream(order, "orders").key_by(number_of)
    shipments = stream(shipment, "shipments").key_by(number_of)
    joined = orders.interval_join(shipments)
    return joined.between(Time.milliseconds(0), Time.milliseconds(WITHIN_MS)).process(Sent())


def expected(records: int) -> list[tuple[int, int, int]]:
    """The same by number, with no regard to time but the bounds."""
    pairs = [(order(number), shipment(number)) for number in range(records // 2)]
    return [sent(*pair) for pair in pairs if 0 <= time_of(pair[1]) - time_of(pair[0]) <= WITHIN_MS]


JOIN_PROGRAM: Final = Program(join, expected)
