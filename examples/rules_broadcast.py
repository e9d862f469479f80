"""Check payments against rules that arrive as a stream: broadcast state beside keyed state.

Two streams have no order between them: a payment that comes before its rule waits in its customer's state.
Run it: python examples/rules_broadcast.py
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from riverrun import (
    DataGeneratorSource,
    KeyedBroadcastProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    RuntimeContext,
    StreamExecutionEnvironment,
    Types,
)

LIMITS = MapStateDescriptor("limits", Types.STRING(), Types.LONG())
RULES = [("books", 40), ("food", 80), ("travel", 300)]
Payment = tuple[str, str, int]


def payment(index: int) -> Payment:
    return f"customer {index % 4}", RULES[index % len(RULES)][0], index * 37 % 500


class Check(KeyedBroadcastProcessFunction[str, Payment, tuple[str, int], Payment]):
    """Gives the payments that are above the limit of their kind."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.early = runtime_context.get_list_state(ListStateDescriptor("early"))

    def process_element(self, value: Payment, ctx: Check.ReadOnlyContext) -> Iterator[Payment]:
        limits = ctx.get_broadcast_state(LIMITS)
        due = [*self.early, value]
        self.early.update([each for each in due if each[1] not in limits])
        yield from (each for each in due if each[1] in limits and each[2] > limits[each[1]])

    def process_broadcast_element(self, value: tuple[str, int], ctx: Check.Context) -> None:
        ctx.get_broadcast_state(LIMITS)[value[0]] = value[1]


def main() -> None:
    with StreamExecutionEnvironment.get_execution_environment() as env:
        env.set_parallelism(2).enable_checkpointing(200)
        rules = env.from_collection(RULES).broadcast(LIMITS)
        source = DataGeneratorSource(payment, count=240, rate_per_second=120)
        payments = env.from_source(source, None, "payments").key_by(lambda each: each[0])
        with payments.connect(rules).process(Check()).execute_and_collect("rules") as above:
            for kind, count in sorted(Counter(kind for _, kind, _ in above).items()):
                print(f"{kind}: {count} payments above the limit")


if __name__ == "__main__":
    main()
