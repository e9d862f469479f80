"""The demo: spend per customer over a generated stream of card transactions, live in the terminal.

    source (generator)  --key_by(customer)-->  reduce (running spend)  -->  this terminal

At the end the totals are compared with the generator's own, customer by customer.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.connectors.callback import CallbackSink
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.core.configuration import Configuration
from riverrun.datastream.environment import StreamExecutionEnvironment

_CUSTOMERS: Final = (
    *("Aino", "Bao", "Chidi", "Dana", "Emre", "Freya", "Goro", "Hana", "Ines", "Juma"),
    *("Kaia", "Luca", "Mira", "Noor", "Olu", "Pema", "Quin", "Rosa", "Sana", "Tomo"),
)
_SHOWN: Final = 8
_RATE: Final = 20_000.0
_WINDOW: Final = 20_000
_REFRESH_S: Final = 0.25
_WIDTH: Final = 75

Spend = tuple[str, int, int]
"""Customer, amount in cents, when the transaction was made (nanoseconds since the epoch)."""


def transaction(index: int) -> Spend:
    """Card transaction number ``index``; customer and amount depend on the index alone."""
    mixed = index * 2_654_435_761 & 0xFFFFFFFF
    customer = _CUSTOMERS[(mixed >> 20) * (mixed & 0xFF) % len(_CUSTOMERS)]
    return customer, 100 + (mixed >> 8) % 20_000, time.time_ns()


def customer_of(spend: Spend) -> str:
    """The key: whose money it is."""
    return spend[0]


def add(total: Spend, spend: Spend) -> Spend:
    """The customer's running spend; keeps the time of the newest transaction."""
    return total[0], total[1] + spend[1], spend[2]


class Scoreboard:
    """What arrived so far: fed by the job's thread, read by the screen."""

    def __init__(self, expected: int) -> None:
        self.expected = expected
        self.updates = 0
        self.totals: dict[str, int] = {}
        self.counts: dict[str, int] = {}
        self._latencies: deque[float] = deque(maxlen=_WINDOW)
        self._marks: deque[tuple[float, int]] = deque(maxlen=12)
        self.first_at: float | None = None

    def take(self, update: Spend) -> None:
        """One updated total has arrived."""
        customer, cents, made_ns = update
        self.totals[customer] = cents
        self.counts[customer] = self.counts.get(customer, 0) + 1
        self.updates += 1
        self._latencies.append((time.time_ns() - made_ns) / 1e6)
        if self.first_at is None:
            self.first_at = time.monotonic()

    def rate(self) -> float:
        """Updates per second over the last few seconds."""
        self._marks.append((time.monotonic(), self.updates))
        (then, before), (now, after) = self._marks[0], self._marks[-1]
        return (after - before) / (now - then) if now > then else 0.0

    def latency(self, quantile: float) -> float:
        """Milliseconds from a transaction being made to its total being here."""
        ordered = sorted(self._latencies.copy())
        return ordered[min(len(ordered) - 1, int(quantile * len(ordered)))] if ordered else 0.0


def run_demo(*, seconds: float, rate: float | None, parallelism: int, master: str | None) -> bool:
    """Run the demo; False when the totals are not the generator's own."""
    console = Console()
    rate = _RATE if rate is None else rate
    board = Scoreboard(int(rate * seconds))
    configuration = Configuration()
    if master is not None:
        configuration.set_string("riverrun.master", master)
    with StreamExecutionEnvironment.get_execution_environment(configuration) as env:
        env.set_parallelism(parallelism)
        (
            env.from_source(
                DataGeneratorSource(transaction, board.expected, rate),
                WatermarkStrategy.no_watermarks(),
                "card transactions",
            )
            .key_by(customer_of)
            .reduce(add)
            .name("spend per customer")
            .sink_to(CallbackSink(board.take))
            .name("this terminal")
        )
        console.print("Starting Spark in this machine's own JVM (takes a few seconds) ...")
        started = time.monotonic()
        client = env.execute_async("customer spend")
        job = client.get_job_execution_result()
        with Live(_screen(board, parallelism), console=console, auto_refresh=False) as live:
            while not job.done():
                time.sleep(_REFRESH_S)
                live.update(_screen(board, parallelism), refresh=sys.stdout.isatty())
            live.update(_screen(board, parallelism), refresh=True)
        job.result()
        first = (board.first_at or started) - started
        return _summary(console, board, first)


def _screen(board: Scoreboard, parallelism: int) -> RenderableType:
    table = Table(title=f"Spend per customer, parallelism {parallelism}")
    table.add_column("customer")
    table.add_column("transactions", justify="right")
    table.add_column("spend", justify="right")
    table.add_column("", width=30)
    ranking = sorted(board.totals.items(), key=lambda item: -item[1])[:_SHOWN]
    most = ranking[0][1] if ranking else 1
    for customer, cents in ranking:
        bar = ProgressBar(total=most, completed=cents, width=30)
        table.add_row(customer, f"{board.counts[customer]:,}", f"{cents / 100:,.2f}", bar)
    figures = Text(
        f"{board.updates:,} of {board.expected:,} records   {board.rate():,.0f} records/s\n"
        f"end-to-end latency   p50 {board.latency(0.5):.1f} ms   p99 {board.latency(0.99):.1f} ms",
        style="bold",
    )
    progress = Table.grid()
    progress.add_row(
        ProgressBar(total=max(1, board.expected), completed=board.updates, width=_WIDTH)
    )
    return Group(table, progress, figures)


def _summary(console: Console, board: Scoreboard, first_s: float) -> bool:
    expected: dict[str, int] = {}
    for index in range(board.expected):
        customer, cents, _ = transaction(index)
        expected[customer] = expected.get(customer, 0) + cents
    right = board.updates == board.expected and board.totals == expected
    total = sum(board.totals.values()) / 100
    console.print(
        f"\n{board.updates:,} transactions of {len(board.totals)} customers, {total:,.2f} in all; "
        f"first result {first_s:.1f} s after the start"
    )
    if right:
        console.print("[green]Every customer's total is the generator's own, to the cent.[/green]")
    else:
        wrong = sorted(c for c in expected if board.totals.get(c) != expected[c])
        console.print(
            f"[red]The totals differ from the generator's: {board.updates} of {board.expected} "
            f"records, wrong customers: {', '.join(wrong)}[/red]"
        )
    return right
