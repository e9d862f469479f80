"""The graph of a job: how it is put together, what its vertices do, and what holds it up."""

from __future__ import annotations

import json
import re
from itertools import combinations

import pytest
from playwright.sync_api import FloatRect, Locator, Page, Route, expect

from tests.ui.conftest import AllowErrors, JobIds, PageAt, Screenshot, Submit
from tests.ui.job_managers import JobManager

pytestmark = pytest.mark.spark

FIGURES = re.compile(r"(busy|idle|back-pressured) \d+ %")


def drawing(page: Page) -> Locator:
    return page.get_by_role("region", name="Graph", exact=True)


def box_of(page: Page, name: str) -> Locator:
    """The box whose first operator has this name."""
    first = page.locator(".node-head").get_by_text(name, exact=True)
    return drawing(page).get_by_role("link").filter(has=first)


def bounds(boxes: Locator) -> list[FloatRect]:
    found = [each.bounding_box() for each in boxes.all()]
    return [each for each in found if each is not None]


def overlap(a: FloatRect, b: FloatRect) -> bool:
    return (
        a["x"] < b["x"] + b["width"]
        and b["x"] < a["x"] + a["width"]
        and a["y"] < b["y"] + b["height"]
        and b["y"] < a["y"] + a["height"]
    )


def test_a_diamond_is_drawn_with_what_its_vertices_do(
    page_at: PageAt, job_id: JobIds, screenshot: Screenshot
) -> None:
    job = job_id("shop")
    page = page_at(f"/jobs/{job}")
    boxes = drawing(page).get_by_role("link")
    expect(boxes).to_have_count(4)
    for box in boxes.all():
        expect(box).to_contain_text(FIGURES)
        expect(box).to_contain_text("2 subtasks")
        expect(box).to_contain_text("all 2 running")

    source = box_of(page, "orders")
    for operator in ("check", "odd", "odd orders"):
        expect(source.get_by_text(operator, exact=True)).to_be_visible()
    expect(source.get_by_title("reads the side output 'odd orders'")).to_be_visible()
    expect(source).to_contain_text(re.compile(r"reads [\d.]+/s, out [\d.]+/s"))
    expect(source).to_contain_text(re.compile(r"watermark: .+ behind"))
    expect(box_of(page, "deliver")).to_contain_text(re.compile(r"in [\d.]+/s"))

    edges = drawing(page).locator(".edge")
    expect(edges).to_have_text(["hash", "hash", "rebalance", "rebalance"])
    places = [
        bounds(box_of(page, name))[0]
        for name in ("orders", "total per customer", "spend per second", "deliver")
    ]
    assert places[0]["x"] < places[1]["x"] == places[2]["x"] < places[3]["x"]
    assert not any(overlap(a, b) for a, b in combinations(places, 2))

    table = page.get_by_role("table", name="Vertices of the job")
    row = table.get_by_role("row").filter(has_text="total per customer").first
    expect(row).to_contain_text("orders (hash)")
    expect(row).to_contain_text(FIGURES)
    screenshot("graph")

    source.focus()
    page.keyboard.press("Tab")
    expect(boxes.nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"#/jobs/{job}/vertices/[0-9a-f]{{32}}$"))


def test_a_slow_sink_is_pointed_out_in_words_and_in_the_drawing(
    page_at: PageAt, job_id: JobIds, screenshot: Screenshot
) -> None:
    page = page_at(f"/jobs/{job_id('slow shop')}")
    words = page.get_by_role("region", name="What holds the job up")

    expect(words).to_contain_text(re.compile(r"'deliver' is busy \d+ %; .+ upstream waits? for it"))
    slow = box_of(page, "deliver")
    expect(slow).to_contain_text("holds others up")
    expect(slow).to_contain_text(re.compile(r"busy \d+ %"))
    screenshot("graph-back-pressure")

    words.get_by_role("button", name="Show in the graph").first.click()
    expect(slow).to_be_focused()
    words.get_by_role("link", name="'deliver'").first.click()
    expect(page).to_have_url(re.compile("/vertices/[0-9a-f]{32}$"))


def test_sixty_operators_are_drawn_without_overlaps(
    page_at: PageAt, submit: Submit, job_manager: JobManager, screenshot: Screenshot
) -> None:
    job = submit("long chain", program="long_chain.py")
    job_manager.await_running(job)
    nodes = job_manager.get(f"/jobs/{job}/plan")["plan"]["nodes"]
    assert sum(len(node["operators"]) for node in nodes) >= 60
    page = page_at(f"/jobs/{job}")
    boxes = drawing(page).get_by_role("link")
    expect(boxes).to_have_count(len(nodes))
    expect(drawing(page).locator(".edge")).to_have_count(sum(len(node["inputs"]) for node in nodes))

    assert not any(overlap(a, b) for a, b in combinations(bounds(boxes), 2))
    screenshot("graph-long-chain")

    last = box_of(page, "last")
    expect(last).not_to_be_in_viewport()
    last.focus()
    expect(last).to_be_in_viewport()
    drawing(page).get_by_role("button", name="Fit").click()
    for box in (boxes.first, last):
        expect(box).to_be_in_viewport()
    assert not any(overlap(a, b) for a, b in combinations(bounds(boxes), 2))


def test_a_large_graph_is_moved_and_zoomed_with_the_mouse(page_at: PageAt, job_id: JobIds) -> None:
    page = page_at(f"/jobs/{job_id('shop')}")
    boxes = drawing(page).get_by_role("link")
    expect(boxes).to_have_count(4)
    larger = drawing(page).get_by_role("button", name="Larger")
    before = bounds(boxes.first)[0]
    for _ in range(3):
        larger.click()
    expect(drawing(page)).to_contain_text("195 %")
    assert bounds(boxes.first)[0]["width"] > 1.5 * before["width"]

    view = drawing(page).get_by_role("group", name="The job, drawn")
    area = bounds(view)[0]
    left = int(view.evaluate("view => view.scrollLeft"))
    page.mouse.move(area["x"] + 300, area["y"] + 100)
    page.mouse.down()
    page.mouse.move(area["x"] + 100, area["y"] + 100, steps=4)
    page.mouse.up()
    assert view.evaluate("view => view.scrollLeft") == left + 200
    expect(page.get_by_role("region", name="What holds the job up")).to_be_visible()

    page.keyboard.down("Control")
    page.mouse.wheel(0, 2000)
    page.keyboard.up("Control")
    expect(drawing(page)).to_contain_text("8 %")


def test_without_figures_the_graph_says_so_and_names_side_outputs(
    page_at: PageAt, page: Page, job_id: JobIds, job_manager: JobManager, allow_errors: AllowErrors
) -> None:
    job = job_id("shop")
    detail = job_manager.get(f"/jobs/{job}")
    detail["plan"]["nodes"][1]["inputs"][0]["side_output"] = "late orders"

    def answer(route: Route) -> None:
        route.fulfill(content_type="application/json", body=json.dumps(detail))

    def refuse(route: Route) -> None:
        route.fulfill(status=404, body='{"errors": ["no figures here"]}')

    allow_errors("404")
    page.route(f"**/jobs/{job}", answer)
    page.route(f"**/jobs/{job}/flow", refuse)
    page_at(f"/jobs/{job}")

    expect(page.get_by_text("What the vertices do is not known: no figures here")).to_be_visible()
    expect(page.get_by_text("The tasks have not told yet what they do")).to_be_visible()
    expect(box_of(page, "orders")).to_contain_text("no figures yet")
    label = drawing(page).locator(".edge text").filter(has_text="side output: late orders")
    expect(label).to_be_visible()
    page.unroute(f"**/jobs/{job}/flow")
    expect(box_of(page, "orders")).to_contain_text(FIGURES)
