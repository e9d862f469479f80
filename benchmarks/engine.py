"""The workloads on riverrun, on a local Spark, as ``python -m benchmarks.engine``.

All runs of one process share its session. The small run comes first, so the session is warm for
the large one, and what a job costs to start drops out as it does for every other system.
"""

import argparse
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

from benchmarks.measurement import PARALLELISM, measure
from benchmarks.workloads import (
    KEYED,
    STATE,
    Transaction,
    add_amounts,
    customer_of,
    is_large,
    transaction,
    with_fee,
)
from riverrun import (
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
    Types,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.connectors.discard import DiscardingSink

SETTINGS: Final[Mapping[str, str]] = {
    "buffer_timeout": "10",
    "backend": "hashmap",
    "checkpoint_interval": "0",
    "checkpoint_folder": "",
    "incremental": "false",
}


class Totals(KeyedProcessFunction):
    """The customer's sum so far, in a value state."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Ask for the state."""
        self._total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(
        self, value: Transaction, ctx: KeyedProcessFunction.Context
    ) -> Iterator[Transaction]:
        """One read, one write."""
        del ctx
        total = self._total.value()
        total = value[1] if total is None else total + value[1]
        self._total.update(total)
        yield value[0], total


def configuration(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options of a job; an interval of 0 takes no checkpoints."""
    config = {
        "state.backend.type": arguments.backend,
        "execution.checkpointing.incremental": arguments.incremental,
    }
    if int(arguments.checkpoint_interval):
        config["execution.checkpointing.interval"] = f"{arguments.checkpoint_interval} ms"
        config["execution.checkpointing.dir"] = arguments.checkpoint_folder
    return config


def run(arguments: argparse.Namespace, records: int) -> float:
    """Seconds that ``execute`` takes, the start of the job included."""
    environment = StreamExecutionEnvironment.get_execution_environment(configuration(arguments))
    environment.set_parallelism(PARALLELISM)
    environment.set_buffer_timeout(int(arguments.buffer_timeout))
    transactions = environment.from_source(
        DataGeneratorSource(transaction, records), WatermarkStrategy.no_watermarks(), "transactions"
    )
    if arguments.workload == KEYED:
        result = transactions.key_by(customer_of).reduce(add_amounts)
    elif arguments.workload == STATE:
        result = transactions.key_by(customer_of).process(Totals())
    else:
        result = transactions.map(with_fee).filter(is_large)
    result.sink_to(DiscardingSink())
    started = time.perf_counter()
    environment.execute(arguments.workload)
    return time.perf_counter() - started


def check(records: int) -> None:
    """Fail unless the keyed totals of ``records`` records are the generator's own."""
    environment = StreamExecutionEnvironment.get_execution_environment()
    environment.set_parallelism(PARALLELISM)
    transactions = environment.from_source(
        DataGeneratorSource(transaction, records), WatermarkStrategy.no_watermarks(), "transactions"
    )
    seen: dict[int, int] = {}
    with transactions.key_by(customer_of).reduce(add_amounts).execute_and_collect() as updates:
        for customer, amount in updates:
            seen[customer] = max(amount, seen.get(customer, 0))
    expected: dict[int, Transaction] = {}
    for record in map(transaction, range(records)):
        known = expected.get(record[0])
        expected[record[0]] = record if known is None else add_amounts(known, record)
    if seen != dict(expected.values()):
        raise SystemExit(f"riverrun: the totals of {records} records are not the generator's")


if __name__ == "__main__":
    measure("riverrun", run, SETTINGS)
