"""Orders of a shop, for ever: two branches that meet again, a side output, windows, a sink that can be slow.

Arguments: --rate R (orders a second), --slow MS (what an order costs the sink), --padding BYTES (of each
customer's name, so that buffers are soon full), --fail-at N (this order fails once, on the first attempt of
the job), --name NAME.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from riverrun import (
    DataGeneratorSource,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
    Time,
    TumblingEventTimeWindows,
    WatermarkStrategy,
)

Order = tuple[int, str, float, int]
ODD = OutputTag("odd orders")
CUSTOMERS = 50


def order(n: int, padding: int) -> Order:
    """Its number, customer, amount and time; half of the orders are of one customer."""
    customer = 0 if n % 2 else n % CUSTOMERS
    return n, f"customer-{customer}{'.' * padding}", float(n % 97), int(time.time() * 1000)


class Check(ProcessFunction):
    """Sends orders without an amount aside, and fails where it is told to."""

    def __init__(self, fail_at: int | None, failed: Path) -> None:
        self.fail_at = fail_at
        self.failed = failed

    def process_element(self, value: Order, ctx: ProcessFunction.Context) -> Iterator[Any]:
        del ctx
        if value[0] == self.fail_at and not self.failed.exists():
            self.failed.touch()
            raise ValueError(f"order {value[0]} has no address")
        yield value if value[2] else (ODD, value)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float, default=1000)
    parser.add_argument("--slow", type=float, default=0)
    parser.add_argument("--padding", type=int, default=0)
    parser.add_argument("--fail-at", type=int)
    parser.add_argument("--failed", type=Path, default=Path("failed"))
    parser.add_argument("--name", default="shop")
    arguments = parser.parse_args()

    def deliver(value: Any) -> Any:
        if arguments.slow:
            time.sleep(arguments.slow / 1000)
        return value

    env = StreamExecutionEnvironment.get_execution_environment()
    env.enable_checkpointing(1000)
    event_time = WatermarkStrategy.for_monotonous_timestamps()
    orders = env.from_source(
        DataGeneratorSource(lambda n: order(n, arguments.padding), rate_per_second=arguments.rate),
        event_time.with_timestamp_assigner(lambda value, _: value[3]),
        "orders",
    ).uid("orders")
    checked = orders.process(Check(arguments.fail_at, arguments.failed)).name("check").uid("check")
    checked.get_side_output(ODD).map(str).name("odd").print().name("odd orders")
    by_customer = checked.key_by(lambda value: value[1])
    totals = (
        by_customer.reduce(lambda a, b: (b[0], b[1], a[2] + b[2], b[3]))
        .name("total per customer")
        .uid("totals")
    )
    windows = (
        by_customer.window(TumblingEventTimeWindows.of(Time.seconds(1)))
        .reduce(lambda a, b: (b[0], b[1], a[2] + b[2], b[3]))
        .name("spend per second")
        .uid("windows")
    )
    both = totals.union(windows).rebalance().map(deliver).name("deliver").uid("deliver")
    both.filter(lambda value: value[0] < 0).name("failed deliveries").print().name("failures")
    env.execute(arguments.name)


if __name__ == "__main__":
    main()
