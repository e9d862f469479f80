"""``river demo``: the built-in example."""

from __future__ import annotations

import importlib
from typing import Annotated

import typer

from riverrun.cli.arguments import Master, WithPage
from riverrun.cli.exit_codes import FAILED

Seconds = Annotated[float, typer.Option(min=1, help="How long the stream of payments lasts.")]
Rate = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Payments per second; 20,000 if not set."),
]
Subtasks = Annotated[int, typer.Option("--parallelism", "-p", min=1, help="Subtasks per operator.")]


def demo(
    seconds: Seconds = 20,
    rate: Rate = None,
    parallelism: Subtasks = 2,
    master: Master = None,
    *,
    ui: WithPage = False,
) -> None:
    """Spend per customer over generated card payments, live in the terminal."""
    # The demo needs the whole engine.
    module = importlib.import_module("riverrun.cli.demo")
    correct = module.run_demo(
        seconds=seconds, rate=rate, parallelism=parallelism, master=master, ui=ui
    )
    if correct is False:
        raise typer.Exit(FAILED)
