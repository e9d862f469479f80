"""The demo: spend per customer over a generated stream of card transactions, live in the terminal.

    source (generator)  --key_by(customer)-->  reduce (running spend)  -->  this terminal

A checkpoint is taken every second, and in the middle one of the job's processes is killed. At the end
the totals are compared with the generator's own, customer by customer.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Final

from rich.console import Console
from rich.live import Live

from riverrun.api.functions import MapFunction
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.cli.demo_board import Place, Scoreboard, Update
from riverrun.cli.demo_screen import screen, summary
from riverrun.cli.demo_story import Story
from riverrun.connectors.callback import CallbackSink
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.core import options
from riverrun.core.configuration import Configuration
from riverrun.datastream.environment import StreamExecutionEnvironment

_CUSTOMERS: Final = (
    *("Aino", "Bao", "Chidi", "Dana", "Emre", "Freya", "Goro", "Hana", "Ines", "Juma"),
    *("Kaia", "Luca", "Mira", "Noor", "Olu", "Pema", "Quin", "Rosa", "Sana", "Tomo"),
)
_RATE: Final = 20_000.0
_CHECKPOINT_MS: Final = 1_000
_REFRESH_S: Final = 0.25

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


class Stamp(MapFunction):
    """Notes on each updated total when and where it was ready."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Find out where this is."""
        self._place: Place = (
            runtime_context.get_attempt_number(),
            runtime_context.get_index_of_this_subtask(),
            os.getpid(),
        )

    def map(self, value: Spend) -> Update:
        """The total with its notes."""
        customer, cents, made_ns = value
        return customer, cents, made_ns, time.time_ns(), self._place


def run_demo(*, seconds: float, rate: float | None, parallelism: int, master: str | None) -> bool:
    """Run the demo; False when the totals are not the generator's own."""
    console = Console()
    rate = _RATE if rate is None else rate
    board = Scoreboard(int(rate * seconds))
    configuration = Configuration()
    if master is not None:
        configuration.set_string(options.MASTER.key, master)
    with StreamExecutionEnvironment.get_execution_environment(configuration) as env:
        env.set_parallelism(parallelism)
        env.enable_checkpointing(_CHECKPOINT_MS)
        (
            env.from_source(
                DataGeneratorSource(transaction, board.expected, rate),
                WatermarkStrategy.no_watermarks(),
                "card transactions",
            )
            .key_by(customer_of)
            .reduce(add)
            .name("spend per customer")
            .map(Stamp())
            .name("stamp")
            .sink_to(CallbackSink(board.take))
            .name("this terminal")
        )
        console.print("Starting Spark in this machine's own JVM (takes a few seconds) ...")
        started = time.monotonic()
        client = env.execute_async("customer spend")
        kills = options.MASTER.get(env.get_configuration()).startswith("local")
        story = Story(client, board, console, kills=kills)
        job = client.get_job_execution_result()
        with Live(
            screen(board, parallelism, story.checkpoints), console=console, auto_refresh=False
        ) as live:
            while not job.done():
                time.sleep(_REFRESH_S)
                story.look()
                live.update(
                    screen(board, parallelism, story.checkpoints), refresh=sys.stdout.isatty()
                )
            live.update(screen(board, parallelism, story.checkpoints), refresh=True)
        job.result()
        first = (board.first_at or started) - started
    return summary(console, board, story.recovery(), first, _expected(board.expected))


def _expected(transactions: int) -> dict[str, int]:
    totals: dict[str, int] = {}
    for index in range(transactions):
        customer, cents, _ = transaction(index)
        totals[customer] = totals.get(customer, 0) + cents
    return totals
