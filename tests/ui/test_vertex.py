"""The page of a vertex and its flame graph: skew, lag and attempts are seen, and where the time goes."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.ui.conftest import JobIds, PageAt, Screenshot
from tests.ui.job_managers import JobManager

pytestmark = pytest.mark.spark

_CLOCK = re.compile(r"^\d\d:\d\d:\d\d$")


def vertex_id(job_manager: JobManager, job: str, name: str) -> str:
    found = [each for each in job_manager.get(f"/jobs/{job}")["vertices"] if name in each["name"]]
    assert len(found) == 1, f"job {job}: vertices with {name!r} are {found}"
    return str(found[0]["id"])


def cells(table: Locator, column: str) -> list[str]:
    titles = [each.rstrip("▾▴") for each in table.locator("thead th").all_inner_texts()]
    place = titles.index(column) + 1
    return table.locator(f"tbody tr td:nth-child({place})").all_inner_texts()


def test_skew_is_told_and_seen_and_subtasks_are_sorted_by_keyboard(
    page_at: PageAt, job_manager: JobManager, job_id: JobIds, screenshot: Screenshot
) -> None:
    job = job_id("shop")
    vertex = vertex_id(job_manager, job, "total per customer")
    page = page_at(f"/jobs/{job}/vertices/{vertex}")

    told = page.get_by_text(re.compile(r"Subtask [01] got \d\d % of the records of 2 subtasks"))
    expect(told).to_contain_text("even would be 50 %.")
    subtasks = job_manager.get(f"/jobs/{job}/vertices/{vertex}")["subtasks"]
    most = max(subtasks, key=lambda each: each["metrics"]["read-records"])["subtask"]
    expect(told).to_contain_text(f"Subtask {most} got")

    table = page.get_by_role("table", name="Subtasks of the vertex")
    head = table.get_by_role("columnheader", name="Records in")
    head.get_by_role("button").focus()
    page.keyboard.press("Enter")
    expect(head).to_have_attribute("aria-sort", "descending")
    assert cells(table, "Subtask") == [str(most), str(1 - most)]
    bars = [
        each["width"] for bar in table.locator(".bar > span").all() if (each := bar.bounding_box())
    ]
    assert bars[0] > bars[2] > 0, "the bar of the subtask with fewer records is shorter"
    page.keyboard.press("Enter")
    expect(head).to_have_attribute("aria-sort", "ascending")
    assert cells(table, "Subtask") == [str(1 - most), str(most)]

    expect(table.get_by_role("cell", name=_CLOCK)).to_have_count(4)  # watermarks, and since when
    assert all(_CLOCK.match(each) for each in cells(table, "Watermark"))
    assert all(re.match(r"^[\d.]+ (ms|s|m|h)", each) for each in cells(table, "Lag"))

    page.get_by_label("Show a metric").select_option("numBytesIn")
    chosen = page.get_by_role("table", name="Chosen metrics of each subtask")
    expect(chosen.get_by_text(re.compile(r"[KM]iB$"))).to_have_count(2)
    expect(page.get_by_text("NaN")).to_have_count(0)
    screenshot("vertex")


def test_the_operators_of_a_chain_and_earlier_attempts_are_found(
    page_at: PageAt, job_manager: JobManager, job_id: JobIds
) -> None:
    job = job_id("failing shop")
    vertex = vertex_id(job_manager, job, "check")
    page = page_at(f"/jobs/{job}/vertices/{vertex}")

    operators = page.get_by_role("table", name="Operators of the vertex")
    expect(operators.locator("tbody tr td:first-child")).to_have_text(
        ["Source: orders", "check", "odd", "Sink: odd orders"]
    )
    expect(operators.get_by_role("row", name="check").get_by_text("\N{EN DASH}")).to_have_count(0)

    table = page.get_by_role("table", name="Subtasks of the vertex")
    expect(table.get_by_role("cell", name="2", exact=True)).to_be_visible()  # it failed once
    table.get_by_role("link", name="0", exact=True).click()
    attempts = page.get_by_role("table", name="Attempts of the subtask")
    expect(attempts.locator("tbody tr td:first-child")).to_have_text(["2", "1"])
    expect(attempts.get_by_text("failed", exact=True)).to_be_visible()


def test_a_flame_graph_shows_where_the_program_waits_and_is_looked_into(
    page_at: PageAt, job_manager: JobManager, job_id: JobIds, screenshot: Screenshot
) -> None:
    job = job_id("slow shop")
    vertex = vertex_id(job_manager, job, "deliver")
    page = page_at(f"/jobs/{job}/vertices/{vertex}")
    page.get_by_role("link", name="Flame graph", exact=True).click()
    expect(page.get_by_role("tree")).to_have_count(0)  # nothing is taken unasked
    page.get_by_role("button", name="Take a profile").click()

    graph = page.get_by_role("tree")
    program = graph.get_by_role("treeitem", name=re.compile(r"^__main__.*\bdeliver:\d+: "))
    expect(program.first).to_be_visible()
    functions = page.get_by_role("table", name="Functions by own time")
    costly = functions.get_by_role("row").filter(has_text="deliver").filter(has_text="your program")
    expect(costly).to_be_visible()

    page.get_by_role("searchbox", name="Search functions").fill("deliver")
    expect(page.get_by_text(re.compile(r"^matches [\d.]+ %$"))).to_be_visible()
    screenshot("flame-graph")

    calls = graph.get_by_role("treeitem")
    before = calls.count()
    graph.focus()
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    crumbs = page.get_by_role("navigation", name="What is looked at")
    expect(crumbs.get_by_role("button", name="Show all")).to_be_visible()
    program.first.click()
    expect(crumbs.locator("[aria-current]")).to_have_text(re.compile(r"^deliver:\d+$"))
    crumbs.get_by_role("button", name="Show all").click()
    expect(calls).to_have_count(before)

    taken = page.get_by_text(re.compile(r"^taken at "))
    first = taken.inner_text().split(",")[0]
    page.get_by_role("button", name="Take another profile").click()
    expect(taken).not_to_contain_text(first)
    page.get_by_role("combobox", name="Samples").select_option("OFF_CPU")
    expect(program.first).to_be_visible()


def test_a_flame_graph_that_is_switched_off_says_how_to_switch_it_on(
    page_at: PageAt, job_manager: JobManager, job_id: JobIds
) -> None:
    job = job_id("shop")
    vertex = vertex_id(job_manager, job, "spend per second")
    page = page_at(f"/jobs/{job}/vertices/{vertex}/flame?subtask=1")
    page.route(
        "**/flamegraph?*subtaskindex=1*", lambda route: route.fulfill(json={"endTimestamp": -2})
    )

    page.get_by_role("button", name="Take a profile").click()

    expect(page.get_by_text("-D rest.flamegraph.enabled=true")).to_be_visible()
