"""Time lines: what a job did in the last minute and in all of its run, whole and vertex by vertex."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from riverrun.testing.waiting import wait_until
from tests.ui.conftest import JobIds, PageAt, Screenshot, Submit
from tests.ui.job_managers import JobManager

pytestmark = pytest.mark.spark


def plot(page: Page, title: str) -> Locator:
    """The plot in the first panel with this title; its name tells its values."""
    panel = page.get_by_role("region", name=title, exact=True).first
    return panel.get_by_role("img", name=re.compile(f"^{title}"))


def told(series: str, value: str) -> re.Pattern[str]:
    """That the latest value of a series is this one."""
    return re.compile(rf"{series}: latest {value}, least")


def times_told(page: Page) -> set[str]:
    return set(page.locator(".plot-time").all_inner_texts())


def test_throughput_is_plotted_and_all_plots_point_at_the_same_moment(
    page_at: PageAt, job_id: JobIds, screenshot: Screenshot
) -> None:
    page = page_at(f"/jobs/{job_id('shop')}/timelines?range=1m")

    # 40 records a second, which may come a little late on a machine that has much to do.
    expect(plot(page, "Throughput")).to_have_accessible_name(told("from sources", r"[1-9][\d.]*/s"))
    expect(plot(page, "Watermark lag")).to_have_accessible_name(told("lag", r"[\d.]+ (ms|s|m|h).*"))
    expect(plot(page, "State size")).to_have_accessible_name(told("state", r"[\d.]+ (B|KiB|MiB)"))
    expect(plot(page, "Restarts")).to_have_accessible_name(told("restarts", r"\d+"))
    latency = page.get_by_role("region", name="Latency")
    expect(latency).to_contain_text("Latency markers are off; metrics.latency.interval turns them")
    expect(page.locator(".plot canvas")).to_have_count(6)

    box = plot(page, "Throughput").locator(".u-over").bounding_box()
    assert box is not None
    # The newest values are at the right edge; the plot goes back a minute, the job maybe not.
    page.mouse.move(box["x"] + box["width"] - 20, box["y"] + 20)
    wait_until(lambda: "latest" not in times_told(page), what="a moment in all plots")
    assert len(times_told(page)) == 1
    screenshot("timelines")
    page.mouse.move(1, 1)
    wait_until(lambda: times_told(page) == {"latest"}, what="the latest values")


def test_the_range_and_the_vertex_are_in_the_address(
    page_at: PageAt, job_manager: JobManager, job_id: JobIds, screenshot: Screenshot
) -> None:
    job = job_id("slow shop")
    sink = job_manager.get(f"/jobs/{job}")["vertices"][-1]
    page = page_at(f"/jobs/{job}/timelines")
    ranges = page.get_by_role("navigation", name="Time range")
    expect(ranges.get_by_role("link", name="10 min")).to_have_attribute("aria-current", "true")

    ranges.get_by_role("link", name="Whole run").click()
    page.get_by_label("Vertex").select_option(sink["name"])
    expect(page).to_have_url(re.compile(rf"range=all&vertex={sink['id']}$"))
    page.reload()

    expect(page.get_by_role("heading", name=sink["name"])).to_be_visible()
    expect(page.get_by_label("Vertex")).to_have_value(sink["id"])
    # The sink of this job is too slow: it does nothing but work, and its sources wait for it.
    expect(plot(page, "Time spent")).to_have_accessible_name(told("busy", r"(100|9\d) %"))
    expect(plot(page, "Busy and back-pressured")).to_have_accessible_name(
        told("back-pressured", r"(100|[1-9]\d) %")
    )

    records = page.get_by_role("region", name="Records", exact=True)
    records.get_by_text("Values").click()
    table = records.get_by_role("table", name="Records, newest first")
    expect(table.get_by_role("columnheader")).to_have_text(["Time", "in", "out"])
    expect(table.get_by_role("row").nth(1)).to_contain_text("/s")

    page.set_viewport_size({"width": 390, "height": 844})
    expect(plot(page, "Time spent")).to_be_visible()
    page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
    screenshot("timelines-phone")


def test_a_restart_is_seen_and_all_of_it_stays_after_the_end(
    page_at: PageAt, job_manager: JobManager, submit: Submit
) -> None:
    job = submit("ended shop", "--fail-at", 100)
    page = page_at(f"/jobs/{job}/timelines?range=all")
    expect(plot(page, "Restarts")).to_have_accessible_name(
        "Restarts. restarts: latest 1, least 0, most 1."
    )
    expect(plot(page, "Throughput")).to_have_accessible_name(told("from sources", r"[1-9][\d.]*/s"))

    job_manager.cancel(job)
    page.reload()
    expect(page.get_by_role("heading", name="ended shop")).to_contain_text("canceled")
    expect(plot(page, "Restarts")).to_have_accessible_name(
        "Restarts. restarts: latest 1, least 0, most 1."
    )
    expect(plot(page, "Throughput")).to_have_accessible_name(re.compile("from sources: latest"))
