"""Charts of made-up figures."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from benchmarks.plots import (
    NoFigures,
    caption_of,
    charts,
    latencies_of,
    main,
    rates_of,
    ratios_chart,
)
from benchmarks.provenance import provenance

SVG = "{http://www.w3.org/2000/svg}"


def document(**changes: Any) -> dict[str, Any]:
    """A saved file of rates; riverrun is ten times as fast as PyFlink."""
    rates = [("riverrun", 900.0), ("riverrun", 1100.0), ("riverrun", 1000.0), ("pyflink", 100.0)]
    return {
        "date": "2026-01-02T03:04:05+00:00",
        "machine": {
            "cores": 2,
            "processor": "Made <Up> 1",
            "memory_gb": 8.0,
            "python": "3.11.0",
            "system": "Linux",
        },
        "versions": {"riverrun": "0.1", "pyflink": "2.3.0"},
        "command": "python -m benchmarks.run",
        "measurements": [
            {"workload": "keyed", "system": system, "rate": rate} for system, rate in rates
        ],
        **changes,
    }


LATENCY = document(
    measurements=[],
    latency_ms={"10,000 records/s": {"0.5": 3.0, "0.9": 5.0, "0.99": 12.0, "0.999": 30.0}},
)


def texts(drawing: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(drawing).iter(f"{SVG}text")]


def bars(drawing: str) -> list[float]:
    sheet, *boxes = ET.fromstring(drawing).iter(f"{SVG}rect")
    del sheet
    return [float(box.attrib["width"]) for box in boxes]


def test_bars_are_as_long_as_their_medians_and_the_fastest_comes_first() -> None:
    drawing = charts([document()])["records-per-second.svg"]
    ours, theirs = bars(drawing)

    assert ours / theirs == pytest.approx(10, rel=0.01)
    shown = texts(drawing)
    assert shown.index("riverrun") < shown.index("pyflink")
    assert "1,000/s" in shown
    assert "100/s" in shown


def test_ratios_are_to_pyflink_in_the_same_workload() -> None:
    drawing = charts([document()])["ratio-to-pyflink.svg"]

    assert "10 x" in texts(drawing)
    assert "1 x" in texts(drawing)


def test_without_pyflink_there_are_no_ratios() -> None:
    assert ratios_chart({"keyed": {"riverrun": [1.0]}}, []) is None


def test_a_later_file_replaces_what_it_measured_again() -> None:
    again = document(measurements=[{"workload": "keyed", "system": "pyflink", "rate": 50.0}])

    rates = rates_of([document(), again])

    assert rates["keyed"]["pyflink"] == [50.0]
    assert rates["keyed"]["riverrun"] == [900.0, 1100.0, 1000.0]


def test_the_caption_has_the_machine_the_versions_and_the_command() -> None:
    shown = " ".join(texts(charts([document()])["records-per-second.svg"]))

    for part in ("Made <Up> 1", "2 cores", "8.0 GB", "Python 3.11.0", "pyflink 2.3.0"):
        assert part in shown
    assert "Measured 2026-01-02: python -m benchmarks.run" in shown


def test_the_caption_says_once_what_files_share_and_marks_quick_runs() -> None:
    lines = caption_of([document(), document(command="python -m benchmarks.windows", quick=True)])

    assert [line.partition(":")[0] for line in lines] == [
        "Machine",
        "Versions",
        "Measured 2026-01-02",
        "Measured 2026-01-02",
    ]
    assert lines[-1].endswith("a quick run, not to be quoted")


def test_latencies_are_a_curve_over_their_quantiles() -> None:
    drawing = charts([LATENCY])["latency.svg"]
    curves = [
        line.attrib["points"].split()
        for line in ET.fromstring(drawing).iter(f"{SVG}polyline")
        if line.attrib["stroke-width"] == "2"
    ]

    assert latencies_of([LATENCY]) == {
        "10,000 records/s": {0.5: 3.0, 0.9: 5.0, 0.99: 12.0, 0.999: 30.0}
    }
    assert [len(curve) for curve in curves] == [4]
    assert {"p50", "p99.9", "30 ms", "10,000 records/s"} <= set(texts(drawing))


def test_files_without_figures_are_refused() -> None:
    with pytest.raises(NoFigures, match="no 'measurements'"):
        charts([{"date": "2026-01-02"}])


def test_the_command_writes_every_chart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / "rates.json", tmp_path / "latency.json"]
    for file, content in zip(files, (document(), LATENCY), strict=True):
        file.write_text(json.dumps(content))

    main([*map(str, files), "--to", str(tmp_path / "charts")])

    written = sorted(path.name for path in (tmp_path / "charts").iterdir())
    assert written == ["latency.svg", "ratio-to-pyflink.svg", "records-per-second.svg"]
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_the_provenance_of_this_run_is_what_captions_are_made_of() -> None:
    found = provenance()

    assert found["versions"]["pyspark"]
    assert found["machine"]["cores"]
    assert len(caption_of([found])) == 3
