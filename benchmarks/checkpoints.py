"""What checkpoints cost and give: ``python -m benchmarks.checkpoints [--quick] [--part NAME]``.

* ``throughput``: records/s with a checkpoint every second against none; see ``benchmarks.checkpoint_cost``.
* ``size``: a million keys, one per cent of them changed between two checkpoints: what an incremental
  checkpoint writes against the first one, which writes everything.
* ``duration``: how long aligned checkpoints take while the sources run at full speed.
* ``recovery``: a million keys; from SIGKILL of a worker until every keyed subtask has records again.

All parts share one Spark session on this machine; checkpoints go to a temporary folder. Other options of
the jobs can be set from outside: ``RIVERRUN_CONF='{"riverrun.mailbox.frames": "4"}'``.
"""

import argparse
import json
import os
import signal
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from benchmarks import engine
from benchmarks.big_state import BigStateJob, records_into
from benchmarks.checkpoint_cost import ALLOWED, cost
from benchmarks.latency import quantile
from benchmarks.measurement import PARALLELISM
from benchmarks.programs.transactions import Totals
from benchmarks.setup_peers import CACHE
from benchmarks.workloads import STATE, customer_of, transaction
from riverrun import JobClient, StreamExecutionEnvironment, WatermarkStrategy
from riverrun.checkpoint.statistics import CheckpointStatistics, CheckpointStatus
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.connectors.discard import DiscardingSink

_INTERVAL_MS: Final = 1_000
_OFTEN_MS: Final = 250
_WARM_UP_MS: Final = 4_000
_TOTALS: Final = "totals"
_FEW_KEYS: Final = 10_000
_NEVER: Final = "1 d"
"""Checkpoints are on, and none of them comes by itself."""
_CHANGED: Final = 0.01
_RESTART_DELAY: Final = "1 s"
"""The default's first one; the default grows from failure to failure, which is not measured here."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much of each part is run."""

    small: int
    records: int
    rounds: int
    keys: int
    checkpoints: int
    seconds: int
    kills: int


_FULL: Final = Sizes(1_000_000, 31_000_000, 3, 1_000_000, 20, 40, 5)
_QUICK: Final = Sizes(500_000, 3_500_000, 1, 100_000, 5, 10, 1)


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the table."""

    part: str
    backend: str
    found: str
    wanted: str
    is_met: bool
    figures: Mapping[str, Any]


def throughput(sizes: Sizes, backend: str, console: Console) -> Finding:
    """The rates with and without checkpoints take turns; over few keys and over many."""
    found = [
        cost(backend, keys, sizes.small, sizes.records, sizes.rounds, console)
        for keys in (_FEW_KEYS, sizes.keys)
    ]
    said = [
        f"{each.keys:,} keys: {each.lost:.1%} less; one takes {each.checkpoint_cpu * 1000:.0f} ms "
        f"of CPU, {each.share:.1%} of the job's"
        for each in found
    ]
    return Finding(
        "throughput",
        backend,
        "; ".join(said),
        f"at most {ALLOWED:.0%} less",
        all(each.lost <= ALLOWED for each in found),
        {"costs": [asdict(each) for each in found]},
    )


def _arguments_of(backend: str, interval: int, folder: str) -> argparse.Namespace:
    values = {
        **engine.SETTINGS,
        "workload": STATE,
        "backend": backend,
        "checkpoint_interval": str(interval),
        "checkpoint_folder": folder,
    }
    return argparse.Namespace(**values)


def size(sizes: Sizes, backend: str, console: Console) -> Finding:
    """Checkpoints on demand, once a second, of a state that was filled before the first of them."""
    config = {
        "state.backend.type": backend,
        "execution.checkpointing.incremental": "true",
        "execution.checkpointing.interval": _NEVER,
    }
    written: list[int] = []
    with _big_state(config, sizes.keys) as job:
        job.await_filled()
        due = time.monotonic()
        for _ in range(sizes.checkpoints + 1):
            job.client.trigger_checkpoint(timeout=60)
            written.append(job.client.get_checkpoints().latest.completed.totals.checkpointed_size)
            due += _INTERVAL_MS / 1000
            time.sleep(max(0.0, due - time.monotonic()))
    full, *parts = written
    shares = [part / full for part in parts]
    console.print(f"  full: {full:,} bytes; then {', '.join(f'{s:.2%}' for s in shares)}")
    median, mean = statistics.median(shares), statistics.mean(shares)
    return Finding(
        "size",
        backend,
        f"{median:.2%} of {full / 1e6:.1f} MB (mean {mean:.2%}, most {max(shares):.2%})",
        "at most 5 %",
        median <= 0.05,  # noqa: PLR2004
        {"full_bytes": full, "incremental_bytes": parts},
    )


def duration(sizes: Sizes, backend: str, console: Console) -> Finding:
    """Sources at full speed, a checkpoint four times a second; the first seconds do not count."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = _arguments_of(backend, _OFTEN_MS, folder)
        client = _saturated(engine.configuration(arguments))
        began = time.monotonic()
        counted = _watched(client, sizes.seconds)
        rate = records_into(client, _TOTALS) / (time.monotonic() - began)
        client.cancel().result()
    console.print(f"  about {rate:,.0f} records/s", highlight=False)
    took = sorted(float(each.totals.end_to_end_duration) for each in counted)
    _print_longest(max(counted, key=lambda each: each.totals.end_to_end_duration), console)
    p50, p99 = quantile(took, 0.5), quantile(took, 0.99)
    return Finding(
        "duration",
        backend,
        f"p99 {p99:.0f} ms (p50 {p50:.0f}, most {took[-1]:.0f}, {len(took)} checkpoints)",
        "p99 at most 1,000 ms",
        p99 <= 1_000,  # noqa: PLR2004
        {"milliseconds": took},
    )


def _print_longest(longest: CheckpointStatistics, console: Console) -> None:
    """Where its time went, subtask by subtask."""
    console.print(f"  the longest took {longest.totals.end_to_end_duration} ms:", highlight=False)
    for task in longest.tasks.values():
        for subtask in task.subtasks:
            times = subtask.times
            console.print(
                f"    {task.vertex[:8]} {subtask.index}: barrier after {times.start_delay_ms:.0f} ms, "
                f"alignment {times.alignment_ms:.0f} ms ({times.aligned_bytes:,} bytes), "
                f"sync {times.sync_ms:.1f} ms, async {times.async_ms:.0f} ms, "
                f"done after {subtask.end_to_end_duration} ms",
                highlight=False,
            )


def _saturated(config: Mapping[str, Any]) -> JobClient:
    environment = StreamExecutionEnvironment.get_execution_environment(dict(config))
    environment.set_parallelism(PARALLELISM)
    transactions = environment.from_source(
        DataGeneratorSource(transaction), WatermarkStrategy.no_watermarks(), "transactions"
    )
    transactions.key_by(customer_of).process(Totals()).name(_TOTALS).sink_to(DiscardingSink())
    return environment.execute_async("saturated")


def _watched(client: JobClient, seconds: int) -> list[CheckpointStatistics]:
    """The checkpoints triggered in so many seconds after the warm-up, which the first one begins.

    Read often, because the history is short.
    """
    done: dict[int, CheckpointStatistics] = {}
    end = _WARM_UP_MS + 1_000 * seconds
    while not done or time.time() * 1000 < min(map(_triggered, done.values())) + end:
        time.sleep(2 * _OFTEN_MS / 1000)
        if client.get_job_execution_result().done():
            client.get_job_execution_result().result()
            raise SystemExit("the job ended while its checkpoints were watched")
        for each in client.get_checkpoints().history:
            if each.status is CheckpointStatus.FAILED:
                raise SystemExit(f"checkpoint {each.id} failed: {each.failure_message}")
            if each.status is CheckpointStatus.COMPLETED:
                done[each.id] = each
    first = min(map(_triggered, done.values()))
    return [each for each in done.values() if _triggered(each) >= first + _WARM_UP_MS]


def _triggered(checkpoint: CheckpointStatistics) -> int:
    return checkpoint.trigger_timestamp


def recovery(sizes: Sizes, backend: str, console: Console) -> Finding:
    """Kill the worker of a keyed subtask again and again; each time after a fresh checkpoint."""
    config = {
        "state.backend.type": backend,
        "execution.checkpointing.incremental": "true",
        "execution.checkpointing.interval": f"{_INTERVAL_MS} ms",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": str(sizes.kills),
        "restart-strategy.fixed-delay.delay": _RESTART_DELAY,
    }
    took = []
    with _big_state(config, sizes.keys) as job:
        job.await_filled()
        for kill in range(sizes.kills):
            job.await_checkpoint(after_ms=time.time() * 1000)
            victim = max(job.flows(), key=lambda flow: (flow.attempt, flow.subtask == kill % 2))
            killed_at = time.monotonic()
            os.kill(victim.pid, signal.SIGKILL)
            flows = job.await_flow(victim.attempt)
            took.append(max(flow.at for flow in flows) - killed_at)
            console.print(f"  kill {kill + 1}: {took[-1]:.2f} s", highlight=False)
    median = statistics.median(took)
    return Finding(
        "recovery",
        backend,
        f"median {median:.2f} s (most {max(took):.2f}, {len(took)} kills, {sizes.keys:,} keys)",
        "median at most 5 s",
        median <= 5,  # noqa: PLR2004
        {"seconds": took, "restart_delay": _RESTART_DELAY},
    )


@contextmanager
def _big_state(config: Mapping[str, str], keys: int) -> Iterator[BigStateJob]:
    with tempfile.TemporaryDirectory() as folder:
        job = BigStateJob(
            Path(folder, "notes"),
            {**config, "execution.checkpointing.dir": f"{folder}/checkpoints"},
            keys=keys,
            changes_per_second=keys * _CHANGED * 1000 / _INTERVAL_MS,
        )
        try:
            yield job
        finally:
            job.cancel()


PARTS: Final[Mapping[str, Callable[[Sizes, str, Console], Finding]]] = {
    "throughput": throughput,
    "size": size,
    "duration": duration,
    "recovery": recovery,
}


def main() -> int:
    """Measure, print the table, save the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.checkpoints", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller and shorter; not to quote")
    parser.add_argument("--part", action="append", choices=PARTS, help="may be repeated")
    parser.add_argument("--backend", action="append", choices=("hashmap", "rocksdb"))
    arguments = parser.parse_args()
    console = Console(width=max(110, Console().width))
    findings = []
    for part in arguments.part or PARTS:
        for backend in arguments.backend or ("hashmap", "rocksdb"):
            console.print(f"{part}, {backend}")
            findings.append(PARTS[part](_QUICK if arguments.quick else _FULL, backend, console))
    console.print(_table(findings))
    console.print(f"figures: {_save(findings, quick=arguments.quick)}")
    return 0


def _table(findings: list[Finding]) -> Table:
    table = Table("part", "backend", "found", "wanted", "", title="checkpoints, parallelism 2")
    for finding in findings:
        verdict = "[green]met[/]" if finding.is_met else "[red]missed[/]"
        table.add_row(finding.part, finding.backend, finding.found, finding.wanted, verdict)
    return table


def _save(findings: list[Finding], *, quick: bool) -> Path:
    now = datetime.now(UTC)
    path = CACHE / "results" / f"checkpoints-{now:%Y-%m-%dT%H%M%S}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {"date": now.isoformat(), "quick": quick, "findings": list(map(asdict, findings))}
    path.write_text(json.dumps(document, indent=2))
    return path


if __name__ == "__main__":
    raise SystemExit(main())
