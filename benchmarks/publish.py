"""The page and the charts of a run, written to ``docs/benchmarks``."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.measurement import PARALLELISM
from benchmarks.plots import plots
from benchmarks.report import GROUPS, LIMIT, OURS, Row, Verdict, cpu_of, rate_of, rows, times
from benchmarks.results import Results
from benchmarks.setup_peers import ROOT
from benchmarks.systems import SYSTEMS, System

FOLDER: Final = ROOT / "docs" / "benchmarks"
_CHARTS: Final = {
    "records-per-second.svg": "Records a second by workload and system",
    "ratio-to-pyflink.svg": "Times the records/s of PyFlink, by workload",
    "cpu-per-million.svg": "CPU seconds per million records",
    "peak-memory.svg": "Peak memory",
    "subtasks.svg": "Records a second by number of subtasks",
    "latency.svg": "Latency by quantile",
}
_HEADINGS: Final = (
    "workload",
    "system",
    "records/s",
    "spread",
    "of the limit",
    "riverrun is",
    "wanted",
    "CPU s per million",
    "peak MB",
)


def publish(results: Results, folder: Path = FOLDER) -> list[Path]:
    """Write the page, the figures and the charts; charts of an earlier run go."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = plots(results)
    for old in folder.glob("*.svg"):
        old.unlink()
    for name, drawing in drawn.items():
        (folder / name).write_text(drawing)
    results.save(folder / "results.json")
    (folder / "README.md").write_text(page(results, list(drawn)))
    return [folder / name for name in ("README.md", "results.json", *drawn)]


def page(
    results: Results, charts: Sequence[str] = (), systems: Mapping[str, System] = SYSTEMS
) -> str:
    """The page in Markdown."""
    found = rows(results.measurements)
    parts = [
        "<!-- written by benchmarks/publish.py; do not edit -->",
        "# Measured",
        _how(results),
        "## Where riverrun is not ahead",
        _behind(found),
        *(_failures(results)),
        *(f"![{_CHARTS[name]}]({name})" for name in charts),
        *(_tables(found, results, systems)),
        *(_beside(results)),
        "## Machine, versions, commands",
        _provenance(results),
    ]
    return "\n\n".join(parts) + "\n"


def _how(results: Results) -> str:
    counts = Counter((each.workload, each.system) for each in results.measurements)
    fewest, rounds = min(counts.values(), default=0), max(counts.values(), default=0)
    each = "one round" if rounds == 1 else f"medians of {rounds} rounds"
    if fewest < rounds:
        each += f" ({fewest} where no spread is given)" if fewest == 1 else f" (at least {fewest})"
    rough = " **A quick run on fewer records: not to be quoted.**" if results.plan.quick else ""
    return (
        f"Every system runs the same functions on the same records, at parallelism {PARALLELISM} where a workload "
        f"does not say otherwise; {each}, in which the systems take turns, each in processes of its own.{rough} "
        "What the workloads are and how to read them: [benchmarks](../reference/benchmarks.md).\n\n"
        "- *records/s*: of a large run less a small one, so without the start of a system; *spread*: "
        "from the slowest round to the fastest, as a share of the median.\n"
        f"- *of the limit*: beside `{LIMIT}`, the same functions in a bare Python loop, one process a core.\n"
        "- Ratios are medians of those within single rounds: a machine whose speed changes from one round to the next "
        "changes both sides of each. So they need not be those of the medians beside them.\n"
        "- *riverrun is*: riverrun's records/s in units of that line's; **bold** where it misses what is wanted, "
        "or is behind where nothing was.\n"
        "- *CPU s per million*: CPU time of all processes per million records, without the start; *peak MB*: "
        "the most memory that all of them held together, looked at up to three times a second. A JVM takes what heap "
        "it is given.\n"
        "- `flink-sql` and `spark-sql` run no Python: what they do is declared, on the JVM."
    )


def _behind(found: Sequence[Row]) -> str:
    marked = [row for row in found if row.verdict.marked]
    if not marked:
        return "Nowhere in this run: every goal is met, and no system is faster."
    lines = []
    for row in marked:
        wanted = f", wanted {row.goal}" if row.goal is not None else ", nothing was wanted"
        lines.append(f"- {row.workload}, `{row.system}`: riverrun is {_times(row)}{wanted}.")
    return "\n".join(lines)


def _failures(results: Results) -> list[str]:
    if not results.failed:
        return []
    lines = [f"- round {cell.turn}: {why}" for cell, why in results.failed.items()]
    return ["## What could not be measured", "\n".join(lines)]


def _tables(found: Sequence[Row], results: Results, systems: Mapping[str, System]) -> list[str]:
    parts = []
    for group, workloads in GROUPS.items():
        shown = [row for row in found if row.workload in workloads]
        if not shown:
            continue
        lines = ["| " + " | ".join(_HEADINGS) + " |", "|---|---|" + "---:|" * (len(_HEADINGS) - 2)]
        lines += ["| " + " | ".join(_cells(row)) + " |" for row in shown]
        parts += [f"## {group}", "\n".join(lines)]
        measured = {row.workload for row in shown}
        if notes := _left_out(measured, results.plan.systems, systems):
            parts.append("Left out:\n\n" + "\n".join(notes))
    return parts


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.workload,
        f"**{row.system}**" if row.system == OURS else row.system,
        rate_of(row.rate),
        f"{row.spread:.0%}" if row.rounds > 1 else "",
        "" if row.of_limit is None else f"{row.of_limit:.2f}",
        _ratio(row),
        "" if row.goal is None else str(row.goal),
        cpu_of(row.cpu),
        "" if row.peak_mb is None else f"{row.peak_mb:,.0f}",
    )


def _ratio(row: Row) -> str:
    if row.ratio is None or row.system == OURS:
        return ""
    words = times(row.ratio)
    if row.verdict is Verdict.MISSED:
        return f"**{words}: missed**"
    return f"**{words}: behind**" if row.verdict is Verdict.BEHIND else words


def _times(row: Row) -> str:
    return "" if row.ratio is None else times(row.ratio)


def _left_out(
    workloads: set[str], names: Sequence[str], systems: Mapping[str, System]
) -> list[str]:
    """What a system says of the workloads that it has no case for, the same words once."""
    lines = []
    for name in names:
        if name not in systems:
            continue
        by_reason: dict[str, list[str]] = {}
        for workload, why in systems[name].left_out.items():
            if workload in workloads:
                by_reason.setdefault(why, []).append(workload)
        lines += [f"- `{name}`, {', '.join(those)}: {why}" for why, those in by_reason.items()]
    return lines


def _beside(results: Results) -> list[str]:
    parts = []
    for module, said in results.beside.items():
        heading = module.removeprefix("benchmarks.").replace("_", " ").capitalize()
        failed = "" if said.succeeded else " **It failed.**"
        parts += [
            f"## {heading}",
            f"`{said.command}`:{failed}",
            f"```text\n{said.output.strip()}\n```",
        ]
    return parts


def _provenance(results: Results) -> str:
    found = results.provenance
    machine = found["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    size = f", {machine['memory_gb']} GB" if machine.get("memory_gb") else ""
    revision = found.get("revision") or "unknown"
    if revision.endswith("+"):
        revision = f"{revision.removesuffix('+')} with changes"
    lines = [
        f"- machine: {machine['processor']}, {machine['cores']} cores{size}; {machine['system']}",
        f"- versions: Python {machine['python']}, {versions}",
        f"- measured: {found['date'][:16].replace('T', ' ')} UTC, at revision {revision}",
        f"- command: `{found['command']}`",
        "- one cell of it again: `python -m benchmarks.run --only SYSTEM --workload WORKLOAD`",
        "- this page again: `python -m benchmarks.run --report docs/benchmarks/results.json --publish`",
    ]
    return "\n".join(lines)
