"""Version 1 of a job: what each customer has spent.

    river run -p 2 examples/upgrade/v1.py /tmp/savepoints      stops in the middle, with a savepoint there
    river run -p 2 examples/upgrade/v1.py                      runs to the end

docs/guide/upgrades.md tells the story.
"""

import sys
import threading
from collections.abc import Iterator

import riverrun as rr

PAYMENTS, CUSTOMERS = 12_000, 4
EVERYTHING = sum(n % 900 for n in range(PAYMENTS))
ACCOUNT = rr.Types.ROW_NAMED(["cents"], [rr.Types.LONG()])


class Spend(rr.KeyedProcessFunction):
    """Keeps an account for each customer."""

    def open(self, runtime_context: rr.RuntimeContext) -> None:
        self.account = runtime_context.get_state(rr.ValueStateDescriptor("account", ACCOUNT))

    def process_element(
        self, value: int, ctx: rr.KeyedProcessFunction.Context
    ) -> Iterator[tuple[int, int]]:
        before = self.account.value() or rr.Row(cents=0)
        account = rr.Row(cents=before.cents + value % 900)
        self.account.update(account)
        yield ctx.get_current_key(), account.cents


def main(folder: str | None) -> None:
    totals: dict[int, int] = {}
    halfway = threading.Event()

    def show(result: tuple[int, int]) -> None:
        totals[result[0]] = result[1]
        if sum(totals.values()) > EVERYTHING // 3:
            halfway.set()

    with rr.StreamExecutionEnvironment.get_execution_environment() as env:
        source = rr.DataGeneratorSource(lambda n: n, PAYMENTS, rate_per_second=4_000)
        payments = env.from_source(source, None, "payments").uid("payments")
        spend = payments.key_by(lambda n: n % CUSTOMERS).process(Spend()).uid("spend")
        spend.sink_to(rr.CallbackSink(show)).uid("show")
        job = env.execute_async("spend, version 1")
        if folder is None:
            job.get_job_execution_result().result()
            print(*(f"customer {n}: {totals[n] / 100:,.2f}" for n in sorted(totals)), sep="\n")
        elif halfway.wait(60):
            stopped = job.stop_with_savepoint(False, folder)  # noqa: FBT003  (PyFlink's signature)
            print(stopped.result())


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
