"""``stateless``, ``keyed``, ``state`` and ``skewed`` on riverrun."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final

from benchmarks.programs.program import Program
from benchmarks.workloads import (
    Transaction,
    add_amounts,
    customer_of,
    is_large,
    skewed_transaction,
    transaction,
    with_fee,
)
from riverrun import (
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
    Types,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from riverrun.connectors.datagen import DataGeneratorSource


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


def _transactions(
    environment: StreamExecutionEnvironment,
    records: int,
    make: Callable[[int], Transaction] = transaction,
) -> DataStream:
    source = DataGeneratorSource(make, records)
    return environment.from_source(source, WatermarkStrategy.no_watermarks(), "transactions")


def stateless(environment: StreamExecutionEnvironment, records: int) -> DataStream:
    """The large ones, with their fee."""
    return _transactions(environment, records).map(with_fee).filter(is_large)


def keyed(environment: StreamExecutionEnvironment, records: int) -> DataStream:
    """Each customer's running sum, by a reduce function."""
    return _transactions(environment, records).key_by(customer_of).reduce(add_amounts)


def state(environment: StreamExecutionEnvironment, records: int) -> DataStream:
    """Each customer's running sum, in a value state."""
    return _transactions(environment, records).key_by(customer_of).process(Totals())


def skewed(environment: StreamExecutionEnvironment, records: int) -> DataStream:
    """The same with half of the records of one customer."""
    transactions = _transactions(environment, records, skewed_transaction)
    return transactions.key_by(customer_of).process(Totals())


def _kept(records: int) -> list[Transaction]:
    return [
        record for record in map(with_fee, map(transaction, range(records))) if is_large(record)
    ]


def _sums(make: Callable[[int], Transaction], records: int) -> list[Transaction]:
    sums: dict[int, int] = {}
    for customer, amount in map(make, range(records)):
        sums[customer] = sums.get(customer, 0) + amount
    return list(sums.items())


def _highest(updates: Iterable[Transaction]) -> dict[int, int]:
    """The sum of each customer after the last update; sums only grow."""
    sums: dict[int, int] = {}
    for customer, amount in updates:
        sums[customer] = max(amount, sums.get(customer, 0))
    return sums


STATELESS_PROGRAM: Final = Program(stateless, _kept)
KEYED_PROGRAM: Final = Program(keyed, partial(_sums, transaction), _highest)
STATE_PROGRAM: Final = Program(state, partial(_sums, transaction), _highest)
SKEWED_PROGRAM: Final = Program(skewed, partial(_sums, skewed_transaction), _highest)
