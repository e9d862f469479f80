"""What the demo shows: the live screen and the verdict at its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from riverrun.cli.demo_board import Scoreboard
from riverrun.cli.demo_story import Recovery

_SHOWN: Final = 8
_WIDTH: Final = 75


def screen(board: Scoreboard, parallelism: int, checkpoints: str) -> RenderableType:
    """The customers who spent most, how far the stream is, and how fast."""
    table = Table(title=f"Spend per customer, parallelism {parallelism}")
    table.add_column("customer")
    table.add_column("transactions", justify="right")
    table.add_column("spend", justify="right")
    table.add_column("", width=30)
    ranking = sorted(board.totals.copy().items(), key=lambda item: -item[1])[:_SHOWN]
    most = ranking[0][1] if ranking else 1
    for customer, cents in ranking:
        bar = ProgressBar(total=most, completed=cents, width=30)
        table.add_row(customer, f"{board.counts[customer]:,}", f"{cents / 100:,.2f}", bar)
    figures = Text(
        f"{board.updates:,} of {board.expected:,} records   {board.rate():,.0f} records/s\n"
        f"latency to the sink   p50 {board.latency(0.5):.1f} ms   p99 {board.latency(0.99):.1f} ms\n",
        style="bold",
    )
    figures.append(f"{checkpoints}; totals show with their checkpoint", style="not bold")
    progress = Table.grid()
    progress.add_row(
        ProgressBar(total=max(1, board.expected), completed=board.updates, width=_WIDTH)
    )
    return Group(table, progress, figures)


def summary(
    console: Console,
    board: Scoreboard,
    recovery: Recovery | None,
    first_s: float,
    expected: Mapping[str, int],
) -> bool:
    """Print the verdict; whether every total is the expected one and every record came once."""
    right = board.updates == board.expected and board.totals == expected
    total = sum(board.totals.values()) / 100
    console.print(
        f"\n{board.updates:,} transactions of {len(board.totals)} customers, {total:,.2f} in all; "
        f"first result {first_s:.1f} s after the start"
    )
    if recovery is not None:
        flows = (
            "" if recovery.seconds is None else f", flowing again after {recovery.seconds:.1f} s"
        )
        console.print(
            f"Worker {recovery.pid} was killed; back to checkpoint {recovery.checkpoint}{flows}."
        )
    if right:
        console.print(
            "[green]Every transaction was counted exactly once;\n"
            "every customer's total is the generator's own, to the cent.[/green]"
        )
    else:
        wrong = sorted(c for c in expected if board.totals.get(c) != expected[c])
        console.print(
            f"[red]The totals differ from the generator's: {board.updates} of {board.expected} "
            f"records, wrong customers: {', '.join(wrong) or 'none'}[/red]"
        )
    return right
