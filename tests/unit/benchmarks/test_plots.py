"""Charts of made-up figures."""

from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest

from benchmarks.charts import Axis, axis
from benchmarks.plots import LOOKS, caption_of, latency_chart, plots
from benchmarks.provenance import provenance
from benchmarks.results import Results
from benchmarks.svg import Drawing
from benchmarks.systems import SYSTEMS
from benchmarks.workloads import WORKLOADS
from tests.unit.benchmarks.made_up import PROVENANCE, results

SVG = "{http://www.w3.org/2000/svg}"
CURVE = [[0.0, 1.0], [0.5, 3.0], [0.9, 5.0], [0.99, 12.0], [0.999, 30.0], [1.0, 900.0]]
LATENCY = {"systems": {"riverrun": {"quantiles": CURVE}, "pyflink": {"quantiles": CURVE}}}


def everything() -> Results:
    """All workloads on all systems."""
    return results(
        [
            (workload, system, [900.0 * place, 1_000.0 * place])
            for workload in WORKLOADS
            for place, system in enumerate(SYSTEMS, 1)
        ],
        latency=LATENCY,
    )


def texts(drawing: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(drawing).iter(f"{SVG}text")]


def lines(drawing: str, colour: str) -> list[list[tuple[float, float]]]:
    """The points of the lines in a colour."""
    return [
        [(float(x), float(y)) for x, y in (pair.split(",") for pair in each.split())]
        for element in ET.fromstring(drawing).iter(f"{SVG}polyline")
        if element.get("stroke") == colour
        for each in [element.attrib["points"]]
    ]


def test_there_is_a_chart_for_each_kind_of_figure() -> None:
    assert list(plots(everything())) == [
        "records-per-second.svg",
        "ratio-to-pyflink.svg",
        "cpu-per-million.svg",
        "peak-memory.svg",
        "subtasks.svg",
        "latency.svg",
    ]


@pytest.mark.parametrize("name", plots(everything()))
def test_a_chart_is_well_formed_and_nothing_is_outside_of_it(name: str) -> None:
    root = ET.fromstring(plots(everything())[name])
    width, height = float(root.attrib["width"]), float(root.attrib["height"])

    for text in root.iter(f"{SVG}text"):
        assert 0 < float(text.attrib["x"]) < width
        assert 0 < float(text.attrib["y"]) < height
    for line in root.iter(f"{SVG}polyline"):
        for pair in line.attrib["points"].split():
            x, y = map(float, pair.split(","))
            assert 0 <= x <= width
            assert 0 <= y <= height


@pytest.mark.parametrize("name", plots(everything()))
def test_no_two_words_of_a_chart_are_at_the_same_place(name: str) -> None:
    root = ET.fromstring(plots(everything())[name])
    places = [(text.attrib["x"], text.attrib["y"]) for text in root.iter(f"{SVG}text")]

    assert len(places) == len(set(places))


def test_without_figures_charts_are_left_out() -> None:
    found = plots(results([("keyed", "riverrun", [1.0])]))

    assert set(found) == {"records-per-second.svg", "cpu-per-million.svg", "peak-memory.svg"}


def test_a_dot_spans_its_rounds_on_a_log_scale() -> None:
    run = results([("keyed", "riverrun", [100.0, 1_000.0, 10_000.0])])
    [[(left, _), (right, _)]] = lines(
        plots(run)["records-per-second.svg"], LOOKS["riverrun"].colour
    )
    run = results([("keyed", "riverrun", [100.0, 10_000.0]), ("keyed", "pyflink", [1_000.0])])
    drawing = plots(run)["records-per-second.svg"]
    [[(middle, _), _]] = lines(drawing, LOOKS["pyflink"].colour)

    assert middle == pytest.approx((left + right) / 2, abs=0.2)


def test_ratios_are_to_pyflink_and_what_is_wanted_is_a_line() -> None:
    run = results([("keyed", "riverrun", [1_000.0]), ("keyed", "pyflink", [50.0])])
    shown = texts(plots(run)["ratio-to-pyflink.svg"])

    assert "20 x" in shown
    assert "wanted of riverrun" in shown


def test_records_of_a_megabyte_are_drawn_as_kibibytes() -> None:
    found = plots(results([("large", "riverrun", [10.0])]))

    assert {"large (per KiB)", "10.2k"} <= set(texts(found["records-per-second.svg"]))
    assert {"large (per KiB)", "0.00195"} <= set(texts(found["cpu-per-million.svg"]))
    assert "large" in texts(found["peak-memory.svg"])


def test_every_system_has_a_look_of_its_own() -> None:
    assert set(SYSTEMS) <= set(LOOKS)
    assert len(set(LOOKS.values())) == len(LOOKS)


def test_the_caption_has_the_machine_the_versions_and_the_command() -> None:
    shown = " ".join(texts(plots(everything())["subtasks.svg"]))

    for part in ("Made <Up> 1", "2 cores", "8.0 GB", "Python 3.11.0", "pyflink 2.3.0"):
        assert part in shown
    assert "Measured 2026-01-02 at abcdef123456+: python -m benchmarks.run --publish" in shown
    assert caption_of(PROVENANCE, quick=True)[-1].endswith("a quick run, not to be quoted")


def test_latencies_are_a_curve_over_their_quantiles() -> None:
    drawing = latency_chart(LATENCY, [])
    assert drawing is not None
    [curve] = lines(drawing, LOOKS["pyflink"].colour)
    steps = [right[0] - left[0] for left, right in pairwise(curve)]

    assert len(curve) == 5
    assert steps[2] == pytest.approx(steps[3], abs=0.2)
    assert {"p50", "p99.9", "10 ms", "riverrun", "pyflink"} <= set(texts(drawing))
    assert latency_chart({}, []) is None


@pytest.mark.parametrize(
    "values", [(1.0,), (0.003, 0.004), (999.0, 1_000.0, 1_001.0), (1, 10**7), (2.0, 991.9)]
)
def test_an_axis_holds_its_values_and_has_ticks(values: tuple[float, ...]) -> None:
    scale = axis(values, 0, 100)

    assert all(0 < scale.place(value) < 100 for value in values)
    assert scale.ticks()
    assert Axis(1, 100, 0, 100).place(100) == 100


def test_words_are_escaped() -> None:
    drawing = Drawing(10, 10, "a < b")
    drawing.text((1, 1), "c & d")
    drawing.marker((1, 1), "diamond", "#123456")

    assert ET.fromstring(str(drawing)).findtext(f"{SVG}title") == "a < b"
    assert texts(str(drawing)) == ["c & d"]


def test_the_provenance_of_this_run_is_what_captions_are_made_of() -> None:
    found = provenance()

    assert found["versions"]["pyspark"]
    assert found["machine"]["cores"]
    assert len(caption_of(found, quick=False)) == 3
