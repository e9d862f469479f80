"""What the demo shows: the live screen and the verdict at its end."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from riverrun.cli.demo_board import Scoreboard, Tally
from riverrun.cli.demo_story import Recovery
from riverrun.cli.demo_transactions import WINDOW_MS, Sum

_SHOWN: Final = 8
_WIDTH: Final = 79
_BAR: Final = 10
_NAMED: Final = 4
_NOTHING: Final = Tally()


def screen(board: Scoreboard, parallelism: int, checkpoints: str) -> RenderableType:
    """The newest windows, how far the stream is, and how fast."""
    table = Table(title=f"Spend in windows of 5 minutes (event time), parallelism {parallelism}")
    table.add_column("window", no_wrap=True)
    table.add_column("count", justify="right", no_wrap=True)
    table.add_column("spend", justify="right", no_wrap=True)
    table.add_column("", width=_BAR)
    table.add_column("spent most", no_wrap=True)
    table.add_column("late", justify="right", style="yellow", no_wrap=True)
    newest = sorted(board.windows.copy())[-_SHOWN:]
    totals = {start: board.windows[start].total() for start in newest}
    most = max((cents for _, cents in totals.values()), default=1)
    for start in newest:
        transactions, cents = totals[start]
        late, _ = board.late.get(start, _NOTHING).total()
        table.add_row(
            _hours(start),
            f"{transactions:,}",
            f"{cents / 100:,.2f}",
            ProgressBar(total=most, completed=cents, width=_BAR),
            _top(board.windows[start]),
            f"{late:,}" if late else "",
        )
    figures = Text(
        f"{board.seen:,} of {board.expected:,} transactions   {board.rate():,.0f} a second   "
        f"{board.late_count:,} late\n",
        style="bold",
    )
    figures.append(f"{checkpoints}; results show with their checkpoint", style="not bold")
    progress = Table.grid()
    progress.add_row(ProgressBar(total=max(1, board.expected), completed=board.seen, width=_WIDTH))
    return Group(table, progress, figures)


def summary(
    console: Console,
    board: Scoreboard,
    recovery: Recovery | None,
    first_s: float,
    expected: Mapping[tuple[int, str], Sum],
) -> bool:
    """Print the verdict; whether every sum is the expected one and every record came once."""
    found = board.sums()
    right = board.seen == board.expected and found == expected
    total = sum(cents for _, cents in found.values()) / 100
    console.print(
        f"\n{board.counted:,} transactions in {len(board.windows)} windows and {board.late_count:,} "
        f"late ones, {total:,.2f} in all; first result {first_s:.1f} s after the start"
    )
    if board.late_count:
        _show_late(console, board)
    if recovery is not None:
        flows = (
            "" if recovery.seconds is None else f", flowing again after {recovery.seconds:.1f} s"
        )
        console.print(
            f"Worker {recovery.pid} was killed; back to checkpoint {recovery.checkpoint}{flows}."
        )
    if right:
        console.print(
            "[green]Every transaction was counted exactly once, in its window or among the late;\n"
            "every customer's sum in every window is the generator's own, to the cent.[/green]"
        )
    else:
        wrong = sorted(place for place in expected if found.get(place) != expected[place])
        named = ", ".join(f"{customer} at {_hours(start)}" for start, customer in wrong[:_SHOWN])
        console.print(
            f"[red]The sums differ from the generator's: {board.seen:,} of {board.expected:,} "
            f"transactions, {len(wrong)} wrong sums: {named or 'none'}[/red]"
        )
    return right


def _show_late(console: Console, board: Scoreboard) -> None:
    table = Table(title="Came after their window was over (side output)")
    table.add_column("window")
    table.add_column("late", justify="right")
    table.add_column("spend", justify="right")
    table.add_column("customers")
    for start in sorted(board.late)[:_SHOWN]:
        transactions, cents = board.late[start].total()
        names = sorted(board.late[start].sums)
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        who = ", ".join(names[:_NAMED]) + more
        table.add_row(_hours(start), f"{transactions:,}", f"{cents / 100:,.2f}", who)
    console.print(table)


def _top(tally: Tally) -> str:
    customer, (_, cents) = max(tally.sums.copy().items(), key=lambda each: each[1][1])
    return f"{customer} {cents / 100:,.2f}"


def _hours(start: int) -> str:
    first, last = (datetime.fromtimestamp(at / 1000, UTC) for at in (start, start + WINDOW_MS))
    return f"{first:%H:%M}-{last:%H:%M}"
