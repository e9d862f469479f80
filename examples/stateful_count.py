"""Add up payments in keyed state, with checkpoints, and fail once on the way: every total is exact.

The first attempt raises in the middle. The job goes back to its latest checkpoint, with the state of each
customer and the position of the source as they were; what came after it is done again, and counts once.
Run it: python examples/stateful_count.py
"""

from __future__ import annotations

from collections.abc import Iterator

from riverrun import (
    CallbackSink,
    DataGeneratorSource,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
    Types,
    ValueStateDescriptor,
)

PAYMENTS = 2_000
CUSTOMERS = 4


class Spend(KeyedProcessFunction):
    """Keeps what each customer has spent, and breaks once."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.cents = runtime_context.get_state(ValueStateDescriptor("cents", Types.LONG()))
        self.breaks = runtime_context.get_attempt_number() == 0

    def process_element(
        self, value: int, ctx: KeyedProcessFunction.Context
    ) -> Iterator[tuple[int, int]]:
        if self.breaks and value > PAYMENTS // 2:
            raise RuntimeError("the reader is out of paper")
        cents = (self.cents.value() or 0) + 100 + value % 900
        self.cents.update(cents)
        yield ctx.get_current_key(), cents


def main() -> None:
    results: list[tuple[int, int]] = []
    with StreamExecutionEnvironment.get_execution_environment() as env:
        env.set_parallelism(2).enable_checkpointing(100)
        source = DataGeneratorSource(lambda index: index, PAYMENTS, rate_per_second=2_000)
        payments = env.from_source(source, None, "payments").key_by(lambda n: n % CUSTOMERS)
        payments.process(Spend()).name("spend").sink_to(CallbackSink(results.append))
        job = env.execute_async("stateful count")
        job.get_job_execution_result().result()
    print("survived:", *(record.failure.message for record in job.get_failures()))
    print("results: ", len(results))
    for customer, cents in sorted(dict(results).items()):
        print(f"customer {customer}: {cents / 100:,.2f}")


if __name__ == "__main__":
    main()
