"""The demo's data and functions: card transactions out of order, and what a window makes of them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from riverrun.api.functions import AggregateFunction, MapFunction, ProcessWindowFunction
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.watermark_strategy import TimestampAssigner
from riverrun.api.windows import TimeWindow

WINDOW_MS: Final = 5 * 60_000
OUT_OF_ORDER_MS: Final = 30_000
"""How much later than others most transactions come at most."""
START_MS: Final = 1_767_607_200_000
"""When the first transaction is made: 2026-01-05 10:00 UTC."""
_CUSTOMERS: Final = (
    *("Aino", "Bao", "Chidi", "Dana", "Emre", "Freya", "Goro", "Hana", "Ines", "Juma"),
    *("Kaia", "Luca", "Mira", "Noor", "Olu", "Pema", "Quin", "Rosa", "Sana", "Tomo"),
)
_MS_PER_SECOND: Final = 180_000
"""Event time runs faster than the clock: three minutes a second."""
_STRAGGLER_IN: Final = 499
_STRAGGLER_MS: Final = 20 * 60_000

Spend: TypeAlias = tuple[str, int, int]
"""Customer, amount in cents, when the transaction was made (milliseconds since the epoch)."""
Place: TypeAlias = tuple[int, int, int]
"""Where a result was made: attempt of the job, subtask, process id."""
Sum: TypeAlias = tuple[int, int]
"""How many transactions, and how many cents."""
Result: TypeAlias = tuple[int, str, Sum, int, Place]
"""Start of the window, customer, sum, when the result was ready (nanoseconds), where."""


@dataclass(frozen=True, slots=True)
class Transactions:
    """Card transaction number ``index``, which depends on the index alone.

    A transaction arrives up to half a minute (of event time) after it was made. A straggler, one in
    499, comes up to twenty minutes later: its window may be over by then.
    """

    rate: float

    def __call__(self, index: int) -> Spend:
        """Transaction number ``index``, in the order in which they arrive."""
        mixed = index * 2_654_435_761 & 0xFFFFFFFF
        customer = _CUSTOMERS[(mixed >> 20) * (mixed & 0xFF) % len(_CUSTOMERS)]
        delay = (mixed >> 4) % OUT_OF_ORDER_MS
        if index % _STRAGGLER_IN == _STRAGGLER_IN - 1:
            delay += (mixed >> 6) % _STRAGGLER_MS
        arrives = START_MS + OUT_OF_ORDER_MS + int(index * _MS_PER_SECOND / self.rate)
        return customer, 100 + (mixed >> 8) % 20_000, arrives - delay

    def expected(self, count: int) -> dict[tuple[int, str], Sum]:
        """What the first ``count`` transactions come to, by start of window and customer."""
        sums: dict[tuple[int, str], Sum] = {}
        for index in range(count):
            customer, cents, made = self(index)
            place = made - made % WINDOW_MS, customer
            transactions, total = sums.get(place, (0, 0))
            sums[place] = transactions + 1, total + cents
        return sums


def customer_of(spend: Spend) -> str:
    """The key: whose money it is."""
    return spend[0]


class MadeAt(TimestampAssigner):
    """Event time: when the transaction was made."""

    def extract_timestamp(self, value: Spend, record_timestamp: int) -> int:
        """The time in the record."""
        del record_timestamp
        return value[2]


class TotalSpend(AggregateFunction):
    """Counts transactions and adds their amounts, one accumulator for each customer and window."""

    def create_accumulator(self) -> Sum:
        """Nothing yet."""
        return 0, 0

    def add(self, value: Spend, accumulator: Sum) -> Sum:
        """One transaction more."""
        return accumulator[0] + 1, accumulator[1] + value[1]

    def get_result(self, accumulator: Sum) -> Sum:
        """The sum so far."""
        return accumulator

    def merge(self, acc_a: Sum, acc_b: Sum) -> Sum:
        """Both together."""
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class WithWindow(ProcessWindowFunction[Sum, Result, str, TimeWindow]):
    """Writes on each sum whose it is, of which window, and where and when it was ready."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Find out where this is."""
        self._place = _place(runtime_context)

    def process(
        self,
        key: str,
        context: ProcessWindowFunction.Context[TimeWindow],
        elements: Iterable[Sum],
    ) -> Iterable[Result]:
        """The window's sum with its notes."""
        for each in elements:
            yield context.window().start, key, each, time.time_ns(), self._place


class Late(MapFunction):
    """A transaction that came after its window was over, as a result of its own."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Find out where this is."""
        self._place = _place(runtime_context)

    def map(self, value: Spend) -> Result:
        """The transaction as the sum of one."""
        customer, cents, made = value
        return made - made % WINDOW_MS, customer, (1, cents), time.time_ns(), self._place


def _place(runtime_context: RuntimeContext) -> Place:
    return (
        runtime_context.get_attempt_number(),
        runtime_context.get_index_of_this_subtask(),
        os.getpid(),
    )
