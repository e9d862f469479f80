"""What each customer spent, from PostgreSQL to PostgreSQL, exactly once; names are looked up on the way.

Run it: python examples/postgres_orders.py jdbc:postgresql://localhost/shop user password
Tables: orders (id, customer, amount), customers (id, name), spent (name PRIMARY KEY, orders, total).
RIVERRUN_MASTER says where the job runs: local[*] (Spark, the default), in-process, ...
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from riverrun import (
    AsyncDataStream,
    JdbcConnectionOptions,
    JdbcLookupFunction,
    JdbcSink,
    JdbcSource,
    Row,
    StreamExecutionEnvironment,
    Time,
    WatermarkStrategy,
)


def named(order: Row, customers: Sequence[Row]) -> list[Any]:
    """A customer's name, one order, and its amount."""
    return [(customer.name, 1, order.amount) for customer in customers]


def main(url: str, user: str, password: str) -> None:
    shop = (
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        .with_url(url)
        .with_user_name(user)
        .with_password(password)
        .build()
    )
    source = JdbcSource.builder().set_connection_options(shop).set_table("orders").build()
    lookup = JdbcLookupFunction(
        shop, "customers", ["name"], ["id"], lambda order: order.customer, join=named
    )
    sink = JdbcSink.upsert("spent", ["name", "orders", "total"], ["name"], shop).exactly_once()
    with StreamExecutionEnvironment.get_execution_environment() as env:
        env.set_parallelism(2).enable_checkpointing(1000)
        orders = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders")
        spent = AsyncDataStream.unordered_wait(orders, lookup, Time.seconds(30), 100)
        totals = spent.key_by(lambda each: each[0]).reduce(
            lambda a, b: (a[0], a[1] + b[1], a[2] + b[2])
        )
        totals.sink_to(sink)
        env.execute("postgres orders")


if __name__ == "__main__":
    main(*sys.argv[1:])
