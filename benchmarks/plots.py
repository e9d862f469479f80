"""Charts of saved figures: ``python -m benchmarks.plots FILE... [--to docs/benchmarks]``.

The files are those that the benchmarks save: records/s of systems that took turns, or latencies. One
chart of the rates, one of how many times PyFlink's rate that is, one of the latencies; each says below
itself on which machine, with which versions and by which command it was measured. Where files have
measured the same, the last one named counts.
"""

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final, TypeAlias

from benchmarks.charts import Bar, bar_chart, latency_chart
from benchmarks.setup_peers import ROOT

FOLDER: Final = ROOT / "docs" / "benchmarks"
REFERENCE: Final = "pyflink"
_OURS: Final = frozenset({"riverrun", "rocksdb", "columns"})
"""The names under which riverrun takes part."""
_SHOWN_DIGITS: Final = 10

Document: TypeAlias = Mapping[str, Any]
Rates: TypeAlias = Mapping[str, Mapping[str, Sequence[float]]]
"""Records/s of each round, by workload and system."""


class NoFigures(ValueError):  # noqa: N818 - reads as the fact it reports
    """The files hold nothing to draw."""


def rates_of(documents: Iterable[Document]) -> Rates:
    """All measured rates."""
    found: dict[str, dict[str, list[float]]] = {}
    for document in documents:
        of_document: dict[tuple[str, str], list[float]] = {}
        for each in document.get("measurements", ()):
            of_document.setdefault((each["workload"], each["system"]), []).append(each["rate"])
        for (workload, system), rates in of_document.items():
            found.setdefault(workload, {})[system] = rates
    return found


def rates_chart(rates: Rates, caption: Sequence[str]) -> str:
    """Records/s, fastest first."""
    panels = {
        workload: _sorted(_bar(system, each) for system, each in systems.items())
        for workload, systems in rates.items()
    }
    title = "Records a second (median of the rounds; lines: least and most)"
    return bar_chart(title, panels, caption, lambda rate: f"{rate:,.0f}/s")


def ratios_chart(rates: Rates, caption: Sequence[str]) -> str | None:
    """How many times PyFlink's rate each system reaches; ``None`` where PyFlink was not measured."""
    panels = {}
    for workload, systems in rates.items():
        if REFERENCE in systems:
            unit = median(systems[REFERENCE])
            bars = (_bar(name, [rate / unit for rate in each]) for name, each in systems.items())
            panels[workload] = _sorted(bars)
    if not panels:
        return None
    return bar_chart("Times the rate of PyFlink in process mode", panels, caption, _times)


def latencies_of(documents: Iterable[Document]) -> Mapping[str, Mapping[float, float]]:
    """Milliseconds by quantile, by name of the measured job."""
    return {
        name: {float(quantile): ms for quantile, ms in curve.items()}
        for document in documents
        for name, curve in document.get("latency_ms", {}).items()
    }


def caption_of(documents: Iterable[Document]) -> list[str]:
    """The machine, the versions and the command of each file; what is the same is said once."""
    lines: dict[str, None] = {}
    for document in documents:
        machine = document.get("machine", {})
        parts = [
            machine.get("processor"),
            _with_unit(machine.get("cores"), "cores"),
            _with_unit(machine.get("memory_gb"), "GB"),
            machine.get("system"),
        ]
        versions = {"Python": machine.get("python"), **document.get("versions", {})}
        named = [f"{name} {version}" for name, version in versions.items() if version]
        rough = "; a quick run, not to be quoted" if document.get("quick") else ""
        lines["Machine: " + ", ".join(part for part in parts if part)] = None
        lines["Versions: " + ", ".join(named)] = None
        measured = f"Measured {document.get('date', '')[:10]}"
        lines[f"{measured}: {document.get('command', 'command not noted')}{rough}"] = None
    return list(lines)


def charts(documents: Sequence[Document]) -> dict[str, str]:
    """The drawings by the names of their files.

    Raises:
        NoFigures: If the documents hold neither rates nor latencies.
    """
    drawn = {}
    timed = [document for document in documents if document.get("measurements")]
    if timed:
        rates, caption = rates_of(timed), caption_of(timed)
        drawn["records-per-second.svg"] = rates_chart(rates, caption)
        ratios = ratios_chart(rates, caption)
        if ratios is not None:
            drawn["ratio-to-pyflink.svg"] = ratios
    late = [document for document in documents if document.get("latency_ms")]
    if late:
        title = "End-to-end latency by quantile"
        drawn["latency.svg"] = latency_chart(title, latencies_of(late), caption_of(late))
    if not drawn:
        raise NoFigures(
            "plots: the files hold no 'measurements' and no 'latency_ms', expected figures that "
            "benchmarks.run, .windows or .latency saved"
        )
    return drawn


def _bar(system: str, rates: Sequence[float]) -> Bar:
    return Bar(system, median(rates), min(rates), max(rates), system in _OURS)


def _sorted(bars: Iterable[Bar]) -> list[Bar]:
    return sorted(bars, key=lambda bar: -bar.value)


def _times(ratio: float) -> str:
    return f"{ratio:.0f} x" if ratio >= _SHOWN_DIGITS else f"{ratio:.2g} x"


def _with_unit(value: object, unit: str) -> str | None:
    return f"{value} {unit}" if value else None


def main(given: Sequence[str] | None = None) -> None:
    """Read the files, write the charts and print where they are."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plots", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, help="saved figures")
    parser.add_argument("--to", type=Path, default=FOLDER, help="folder of the charts")
    arguments = parser.parse_args(given)
    drawn = charts([json.loads(file.read_text()) for file in arguments.files])
    arguments.to.mkdir(parents=True, exist_ok=True)
    for name, drawing in drawn.items():
        path = arguments.to / name
        path.write_text(drawing)
        print(path)


if __name__ == "__main__":
    main()
