"""The demo: what customers spend in windows of five minutes, over card transactions out of order, live.

    source (generator)  --key_by(customer)-->  5-minute event-time windows  -->  this terminal
                                                          +--late ones-->  this terminal

A checkpoint is taken every second, and in the middle one of the job's processes is killed. At the end
the sums are compared with the generator's own, window by window and customer by customer.
"""

from __future__ import annotations

import sys
import time
from typing import Final

from rich.console import Console
from rich.live import Live

from riverrun.api.output_tag import OutputTag
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.api.window_assigners import TumblingEventTimeWindows
from riverrun.cli.demo_board import Scoreboard
from riverrun.cli.demo_screen import screen, summary
from riverrun.cli.demo_story import Story
from riverrun.cli.demo_transactions import (
    OUT_OF_ORDER_MS,
    WINDOW_MS,
    Late,
    MadeAt,
    TotalSpend,
    Transactions,
    WithWindow,
    customer_of,
)
from riverrun.connectors.callback import CallbackSink
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.core import cluster_options, options
from riverrun.core.configuration import Configuration
from riverrun.core.time import Duration, Time
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.ui.opening import PORTS

_RATE: Final = 20_000.0
_CHECKPOINT_MS: Final = 1_000
_REFRESH_S: Final = 0.25
_LATE: Final = OutputTag("late")


def run_demo(
    *, seconds: float, rate: float | None, parallelism: int, master: str | None, ui: bool = False
) -> bool:
    """Run the demo; False when the sums are not the generator's own."""
    console = Console()
    rate = _RATE if rate is None else rate
    transactions = Transactions(rate)
    board = Scoreboard(int(rate * seconds))
    configuration = _configuration(master, ui=ui)
    with StreamExecutionEnvironment.get_execution_environment(configuration) as env:
        env.set_parallelism(parallelism)
        env.enable_checkpointing(_CHECKPOINT_MS)
        _define(env, board, transactions)
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
        if ui and sys.stdin.isatty():
            console.input("The page stays until you press Enter ...")
    expected = transactions.expected(board.expected)
    return summary(console, board, story.recovery(), first, expected)


def _configuration(master: str | None, *, ui: bool) -> Configuration:
    """The demo's job can be watched on the web page, too."""
    configuration = Configuration()
    if master is not None:
        configuration.set_string(options.MASTER.key, master)
    configuration.set_string(cluster_options.REST_ENABLED.key, "true")
    configuration.set_string(cluster_options.REST_BIND_PORT.key, PORTS)
    configuration.set_string(cluster_options.OPEN_PAGE.key, str(ui).lower())
    return configuration


def _define(env: StreamExecutionEnvironment, board: Scoreboard, made: Transactions) -> None:
    in_order = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(OUT_OF_ORDER_MS))
    spend = (
        env.from_source(
            DataGeneratorSource(made, board.expected, made.rate),
            in_order.with_timestamp_assigner(MadeAt()),
            "card transactions",
        )
        .key_by(customer_of)
        .window(TumblingEventTimeWindows.of(Time.milliseconds(WINDOW_MS)))
        .side_output_late_data(_LATE)
        .aggregate(TotalSpend(), WithWindow())
        .name("spend per customer and window")
    )
    spend.sink_to(CallbackSink(board.take)).name("this terminal")
    late = spend.get_side_output(_LATE).map(Late()).name("late transactions")
    late.sink_to(CallbackSink(board.take_late)).name("this terminal, late")
