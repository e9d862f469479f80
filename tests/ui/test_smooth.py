"""Jobs of a hundred operators and of a thousand subtasks: the page draws them, with few nodes in the document.

A browser stays smooth as long as the document is small, so its size is what is counted, not time.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.ui.conftest import JobIds, PageAt, Screenshot
from tests.ui.job_managers import JobManager
from tests.ui.large_jobs import show_many_subtasks, show_many_vertices

pytestmark = pytest.mark.spark

OPERATORS = 100
SUBTASKS = 1000


def nodes(page: Page) -> int:
    return int(page.evaluate("document.querySelectorAll('*').length"))


def test_a_hundred_operators_are_drawn(
    page: Page, page_at: PageAt, job_manager: JobManager, job_id: JobIds, screenshot: Screenshot
) -> None:
    job = job_id("shop")
    names = show_many_vertices(page, job_manager, job, OPERATORS)
    page_at(f"/jobs/{job}")
    graph = page.get_by_role("region", name="Graph", exact=True)

    for name in names:
        expect(graph.get_by_text(name, exact=True).first).to_be_attached()
    table = page.get_by_role("region", name="Vertices", exact=True)
    expect(table.get_by_role("link", name=names[-1], exact=True)).to_be_attached()
    assert nodes(page) < 80 * OPERATORS
    screenshot("smooth-operators")


def test_of_a_thousand_subtasks_those_in_sight_are_in_the_document(
    page: Page, page_at: PageAt, job_manager: JobManager, job_id: JobIds, screenshot: Screenshot
) -> None:
    job = job_id("shop")
    vertex = job_manager.get(f"/jobs/{job}")["vertices"][-1]["id"]
    show_many_subtasks(page, job_manager, job, vertex, SUBTASKS)
    page_at(f"/jobs/{job}/vertices/{vertex}")
    panel = page.get_by_role("region", name="Subtasks", exact=True)
    table = panel.get_by_role("table")

    expect(table).to_have_attribute("aria-rowcount", str(SUBTASKS + 1))
    first = table.locator("tbody tr").filter(has=page.get_by_role("link", name="0", exact=True))
    last = table.get_by_text(re.compile(rf"^{SUBTASKS - 1}$"))
    expect(first.first).to_be_visible()
    assert table.locator("tbody tr").count() < 100
    assert nodes(page) < 4000
    screenshot("smooth-subtasks")

    table.locator("xpath=..").evaluate("box => { box.scrollTop = box.scrollHeight; }")
    expect(last.first).to_be_visible()
    assert table.locator("tbody tr").count() < 100
