"""Begin a job with state from history: what each customer has spent so far comes out of a table.

The savepoint that is written here is like one that the job has taken itself: the job goes on from it, at any
parallelism. Run it: python examples/bootstrap_state.py
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from riverrun import (
    KeyedProcessFunction,
    RuntimeContext,
    SavepointWriter,
    StreamExecutionEnvironment,
    Types,
    ValueStateDescriptor,
)

SPENT = ValueStateDescriptor("spent", Types.LONG())
HISTORY = pa.table({"customer": ["ada", "bob", "cy"], "cents": [12_000, 850, 40_000]})


class Spend(KeyedProcessFunction):
    """Adds up what each customer spends."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.spent = runtime_context.get_state(SPENT)

    def process_element(
        self, value: tuple[str, int], ctx: KeyedProcessFunction.Context
    ) -> Iterator[tuple[str, int]]:
        cents = (self.spent.value() or 0) + value[1]
        self.spent.update(cents)
        yield ctx.get_current_key(), cents


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        writer = SavepointWriter.new_savepoint()
        writer.with_keyed_state("spend", SPENT, HISTORY, key="customer", value="cents")
        savepoint = writer.write(Path(folder) / "history")

        config = {"execution.state-recovery.path": savepoint}
        with StreamExecutionEnvironment.get_execution_environment(config) as env:
            env.set_parallelism(2)
            payments = env.from_collection([("ada", 500), ("bob", 150), ("dan", 75)])
            totals = payments.key_by(lambda payment: payment[0]).process(Spend()).uid("spend")
            with totals.execute_and_collect("spend") as results:
                for customer, cents in sorted(results):
                    print(f"{customer}: {cents / 100:.2f}")


if __name__ == "__main__":
    main()
