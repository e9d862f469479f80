"""Spend per customer over generated card payments: a typed keyed reduce.

The dataclass gives the stream its type by itself, so records travel as Arrow columns between tasks.
Run it: python examples/customer_totals.py
"""

from __future__ import annotations

from dataclasses import dataclass

from riverrun import CallbackSink, DataGeneratorSource, StreamExecutionEnvironment

PAYMENTS = 10_000
CUSTOMERS = 5


@dataclass(frozen=True)
class Spend:
    """What a customer has spent so far."""

    customer: str
    payments: int
    cents: int


def payment(index: int) -> Spend:
    """Payment number ``index``: always the same for the same index."""
    return Spend(f"customer {index % CUSTOMERS}", payments=1, cents=100 + index * 7919 % 10_000)


def add(total: Spend, more: Spend) -> Spend:
    return Spend(total.customer, total.payments + more.payments, total.cents + more.cents)


def main() -> None:
    totals: dict[str, Spend] = {}

    def keep(total: Spend) -> None:
        totals[total.customer] = total

    with StreamExecutionEnvironment.get_execution_environment() as env:
        env.set_parallelism(2)
        payments = env.from_source(DataGeneratorSource(payment, PAYMENTS), None, "payments")
        spend = payments.key_by(lambda each: each.customer).reduce(add).name("spend")
        # Called in this process, while the job runs.
        spend.sink_to(CallbackSink(keep))
        env.execute("customer totals")
    for _, total in sorted(totals.items()):
        print(f"{total.customer}: {total.payments} payments, {total.cents / 100:,.2f}")


if __name__ == "__main__":
    main()
