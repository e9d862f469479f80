"""Write a stream to a Delta table, exactly once, and read the table with another tool.

Each checkpoint of the job is one version of the table. Needs riverrun[delta].
Run it: python examples/delta_table.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow.compute as pc
from deltalake import DeltaTable

from riverrun import (
    DataGeneratorSource,
    DeltaSink,
    Row,
    StreamExecutionEnvironment,
    Types,
    WatermarkStrategy,
)

ORDERS = Types.ROW_NAMED(["id", "shop", "price"], [Types.LONG(), Types.STRING(), Types.DOUBLE()])
SHOPS = ("books", "food", "travel")


def order(number: int) -> Row:
    return Row(id=number, shop=SHOPS[number % 3], price=number % 200 / 4)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        table = str(Path(folder) / "orders")
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2)
        env.enable_checkpointing(100)
        source = DataGeneratorSource(order, 6000, rate_per_second=10_000, output_type=ORDERS)
        orders = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders")
        orders.sink_to(DeltaSink(table, ORDERS, partition_by=["shop"])).name("orders table")
        env.execute("orders to a Delta table")

        found = DeltaTable(table).to_pyarrow_table()
        for shop in SHOPS:
            rows = found.filter(pc.field("shop") == shop)
            print(f"{shop:6}  {rows.num_rows} orders, {pc.sum(rows['price']).as_py():,.2f}")


if __name__ == "__main__":
    main()
