"""The charts of a run: what each shows of the figures, and how each system looks in all of them."""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from benchmarks.blobs import SIZE
from benchmarks.charts import CurveChart, Dot, DotChart, Look, Words, nines
from benchmarks.report import GROUPS, LIMIT, OURS, Measurements, Row, cpu_of, rows, times
from benchmarks.results import Results
from benchmarks.workloads import LARGE_RECORDS, SUBTASKS

REFERENCE: Final = "pyflink"
_WANTED_OF_REFERENCE: Final = 10.0

LOOKS: Final[Mapping[str, Look]] = {
    "riverrun": Look("#f76707", "diamond"),
    "riverrun-columns": Look("#f2a900", "diamond"),
    "rocksdb": Look("#a8591c", "diamond"),
    "baseline": Look("#8a939d", "bar"),
    "bytewax": Look("#2f9e44"),
    "pathway": Look("#12b5a5"),
    "structured": Look("#1c7ed6"),
    "pyflink": Look("#d6336c"),
    "pyflink-thread": Look("#ee8fb4"),
    "flink-sql": Look("#9c4bd0", "square"),
    "spark-sql": Look("#5fa8e8", "square"),
}
"""Diamonds are riverrun, circles run Python functions, squares run no Python; the bar is the limit."""
_MORE: Final = ("#4263eb", "#74b816", "#e8a33d", "#0b7285", "#b197fc", "#868e96")
"""For names that have no look of their own."""
_KIB_A_BLOB: Final = SIZE / 1024
_LARGE_IN_KIB: Final = f"{LARGE_RECORDS} (per KiB)"
_LINES: Final = {
    name: (*workloads, _LARGE_IN_KIB) if LARGE_RECORDS in workloads else workloads
    for name, workloads in GROUPS.items()
}
_SCALED: Final = (OURS, LIMIT, REFERENCE, "pyflink-thread")
_QUANTILES: Final = (0.0, 0.5, 0.9, 0.99, 0.999)


def plots(results: Results) -> dict[str, str]:
    """The drawings by the names of their files; a chart without figures is left out."""
    found = rows(results.measurements)
    caption = caption_of(results.provenance, quick=results.plan.quick)
    makers: dict[str, Callable[[], str | None]] = {
        "records-per-second.svg": lambda: rates_chart(found, caption),
        "ratio-to-pyflink.svg": lambda: ratios_chart(found, caption),
        "cpu-per-million.svg": lambda: cpu_chart(results.measurements, caption),
        "peak-memory.svg": lambda: memory_chart(results.measurements, caption),
        "subtasks.svg": lambda: subtasks_chart(found, caption),
        "latency.svg": lambda: latency_chart(results.latency, caption),
    }
    drawn = {name: make() for name, make in makers.items()}
    return {name: drawing for name, drawing in drawn.items() if drawing is not None}


def rates_chart(found: Sequence[Row], caption: Sequence[str]) -> str | None:
    """Records/s."""
    dots = [(row.workload, Dot(row.system, row.rate, row.low, row.high)) for row in found]
    words = Words(
        "Records a second",
        "more is better; medians of the rounds, lines from the slowest to the fastest; log scale",
        caption,
    )
    return _dots(words, _in_kib(dots, _KIB_A_BLOB), short)


def ratios_chart(found: Sequence[Row], caption: Sequence[str]) -> str | None:
    """How many times PyFlink's rate each system reaches."""
    units = {row.workload: row.rate for row in found if row.system == REFERENCE}
    dots = [
        (row.workload, Dot(row.system, row.rate / unit, row.low / unit, row.high / unit))
        for row in found
        if (unit := units.get(row.workload)) is not None
    ]
    words = Words(
        "Times the records/s of PyFlink in process mode",
        "more is better; medians of the rounds, lines from the slowest to the fastest; log scale",
        caption,
    )
    marks = {_WANTED_OF_REFERENCE: "wanted of riverrun"}
    return _dots(words, dots, lambda value: f"{value:g} x", times, marks)


def cpu_chart(measurements: Measurements, caption: Sequence[str]) -> str | None:
    """CPU seconds of all processes per million records."""
    words = Words(
        "CPU seconds per million records",
        "less is better; all processes together, net of start-up; log scale",
        caption,
    )
    dots = _spans(measurements, [each.cpu_per_million for each in measurements])
    return _dots(words, _in_kib(dots, 1 / _KIB_A_BLOB), short, cpu_of)


def memory_chart(measurements: Measurements, caption: Sequence[str]) -> str | None:
    """The peak of memory."""
    words = Words(
        "Peak memory in MB",
        "less is better; all processes together, a shared page once; a JVM takes what heap it is "
        "given; log scale",
        caption,
    )
    peaks = [each.peak_bytes and each.peak_bytes / 1e6 for each in measurements]
    return _dots(words, _spans(measurements, peaks), short, lambda value: f"{value:,.0f}")


def _spans(measurements: Measurements, values: Sequence[float | None]) -> list[tuple[str, Dot]]:
    known: dict[tuple[str, str], list[float]] = {}
    for each, value in zip(measurements, values, strict=True):
        if value:
            known.setdefault((each.workload, each.system), []).append(value)
    return [
        (workload, Dot(system, statistics.median(several), min(several), max(several)))
        for (workload, system), several in known.items()
    ]


def _in_kib(dots: Iterable[tuple[str, Dot]], factor: float) -> list[tuple[str, Dot]]:
    """The same dots, with kibibytes for records where a record is a megabyte: else all scales are its."""
    return [
        (_LARGE_IN_KIB, Dot(dot.system, dot.value * factor, dot.low * factor, dot.high * factor))
        if workload == LARGE_RECORDS
        else (workload, dot)
        for workload, dot in dots
    ]


def _dots(
    words: Words,
    dots: Sequence[tuple[str, Dot]],
    label: Callable[[float], str],
    note: Callable[[float], str] | None = None,
    marks: Mapping[float, str] | None = None,
) -> str | None:
    if not dots:
        return None
    groups = {
        name: {
            workload: several
            for workload in workloads
            if (several := [dot for where, dot in dots if where == workload])
        }
        for name, workloads in _LINES.items()
    }
    notes = {workload: (note or label)(dot.value) for workload, dot in dots if dot.system == OURS}
    looks = _looks([dot.system for _, dot in dots])
    return str(DotChart(words, looks, groups, label, notes, OURS, marks or {}))


def subtasks_chart(found: Sequence[Row], caption: Sequence[str]) -> str | None:
    """Records/s by the number of subtasks."""
    counts = {row.workload for row in found} & SUBTASKS.keys()
    if len(counts) < 2:  # noqa: PLR2004 - one point is no curve
        return None
    last = len(SUBTASKS) - 1
    places = {workload: place / last for place, workload in enumerate(SUBTASKS)}
    curves = {
        system: [
            (places[row.workload], row.rate)
            for row in found
            if row.system == system and row.workload in places
        ]
        for system in _SCALED
    }
    words = Words(
        "Records a second by number of subtasks",
        "the state workload; more subtasks than cores share the cores; log scale",
        caption,
    )
    ticks = {places[workload]: str(count) for workload, count in SUBTASKS.items()}
    chosen = {system: curve for system, curve in curves.items() if curve}
    return str(CurveChart(words, _looks(chosen), chosen, ticks, short, "subtasks of each operator"))


def latency_chart(latency: Mapping[str, Any], caption: Sequence[str]) -> str | None:
    """Milliseconds by quantile; each nine of the quantile has the same width."""
    most = nines(_QUANTILES[-1])
    curves = {
        name: [
            (nines(quantile) / most, ms)
            for quantile, ms in each["quantiles"]
            if quantile <= _QUANTILES[-1] and ms > 0
        ]
        for name, each in latency.get("systems", {}).items()
    }
    curves = {name: curve for name, curve in curves.items() if curve}
    if not curves:
        return None
    words = Words("Latency by quantile", "less is better; log scale", caption)
    ticks = {nines(each) / most: f"p{each * 100:g}" for each in _QUANTILES}
    looks = _looks(curves)
    chart = CurveChart(
        words, looks, curves, ticks, lambda ms: f"{ms:,g} ms", "share of records", dots=False
    )
    return str(chart)


def caption_of(provenance: Mapping[str, Any], *, quick: bool) -> list[str]:
    """The machine, the versions and the command."""
    machine = provenance.get("machine", {})
    parts = [
        machine.get("processor"),
        _with_unit(machine.get("cores"), "cores"),
        _with_unit(machine.get("memory_gb"), "GB"),
        machine.get("system"),
    ]
    versions = {"Python": machine.get("python"), **provenance.get("versions", {})}
    named = [f"{name} {version}" for name, version in versions.items() if version]
    rough = "; a quick run, not to be quoted" if quick else ""
    measured = f"Measured {provenance.get('date', '')[:10]}"
    if provenance.get("revision"):
        measured += f" at {provenance['revision']}"
    return [
        "Machine: " + ", ".join(part for part in parts if part),
        "Versions: " + ", ".join(named),
        f"{measured}: {provenance.get('command', 'command not noted')}{rough}",
    ]


def short(value: float) -> str:
    """A number in few letters.

    >>> [short(value) for value in (0.5, 20, 5_000, 1_234_000, 12_000_000)]
    ['0.5', '20', '5k', '1.23M', '12M']
    """
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:.3g}{letter}"
    return f"{value:.3g}"


def _looks(names: Sequence[str] | Mapping[str, Any]) -> dict[str, Look]:
    """In the order of the legend; ``riverrun, 5 ms`` looks as riverrun does, a second such one does not.

    >>> looks = _looks(["other", "pyflink", "riverrun, 5 ms"])
    >>> list(looks), looks["riverrun, 5 ms"] == LOOKS["riverrun"]
    (['riverrun, 5 ms', 'pyflink', 'other'], True)
    """
    chosen: dict[str, Look] = {}
    for system, look in LOOKS.items():
        for name in names:
            if name.partition(",")[0] == system and name not in chosen:
                chosen[name] = look
                break
    left = [name for name in dict.fromkeys(names) if name not in chosen]
    return chosen | {
        name: Look(_MORE[number % len(_MORE)], "square") for number, name in enumerate(left)
    }


def _with_unit(value: object, unit: str) -> str | None:
    return f"{value} {unit}" if value else None
