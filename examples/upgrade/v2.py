"""Version 2 of the job: an account has a field more, and large payments are counted, too.

    river run -p 3 -s /tmp/savepoints/savepoint-... examples/upgrade/v2.py

goes on where version 1 stopped. docs/guide/upgrades.md tells the story.
"""

from collections.abc import Iterator
from typing import Any

import riverrun as rr

PAYMENTS, CUSTOMERS, LARGE = 12_000, 4, 800
ACCOUNT = rr.Types.ROW_NAMED(["cents", "payments"], [rr.Types.LONG(), rr.Types.LONG()])


class Spend(rr.KeyedProcessFunction):
    """Keeps an account for each customer; since version 2 also how many payments there were."""

    def open(self, runtime_context: rr.RuntimeContext) -> None:
        self.account = runtime_context.get_state(rr.ValueStateDescriptor("account", ACCOUNT))

    def process_element(self, value: int, ctx: rr.KeyedProcessFunction.Context) -> Iterator[Any]:
        before = self.account.value() or rr.Row(cents=0, payments=0)
        # An account of version 1 has no such field: it comes as None.
        account = rr.Row(cents=before.cents + value % 900, payments=(before.payments or 0) + 1)
        self.account.update(account)
        yield "spent", ctx.get_current_key(), account.cents, account.payments


def main() -> None:
    found: dict[Any, Any] = {}

    def show(result: tuple[Any, ...]) -> None:
        found[result[:2]] = result[2:]

    with rr.StreamExecutionEnvironment.get_execution_environment() as env:
        source = rr.DataGeneratorSource(lambda n: n, PAYMENTS, rate_per_second=4_000)
        payments = env.from_source(source, None, "payments").uid("payments")
        spend = payments.key_by(lambda n: n % CUSTOMERS).process(Spend()).uid("spend")
        large = payments.filter(lambda n: n % 900 >= LARGE).map(
            lambda n: ("large", n % CUSTOMERS, 1)
        )
        counted = large.key_by(lambda row: row[1]).reduce(lambda a, b: (*a[:2], a[2] + b[2]))
        spend.union(counted.uid("large payments")).sink_to(rr.CallbackSink(show)).uid("show")
        env.execute("spend, version 2")
    cents = [found["spent", customer][0] for customer in range(CUSTOMERS)]
    seen = sum(found["spent", customer][1] for customer in range(CUSTOMERS))
    print(*(f"customer {n}: {spent / 100:,.2f}" for n, spent in enumerate(cents)), sep="\n")
    print("every cent is there:", sum(cents) == sum(n % 900 for n in range(PAYMENTS)))
    print("version 1 did its part:", 0 < seen < PAYMENTS)
    print("large payments since then:", any(kind == "large" for kind, _ in found))


if __name__ == "__main__":
    main()
