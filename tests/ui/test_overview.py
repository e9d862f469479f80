"""The overview: what runs, what is wrong with it, what has ended; without a reload."""

from __future__ import annotations

import re
from typing import Final

from playwright.sync_api import Locator, Page, expect

from tests.ui.conftest import JobIds, PageAt, Screenshot, Submit
from tests.ui.job_managers import JobManager

BUSY_MS: Final = 120_000
"""How long a job may take to run, to fail and run again, or to be held up, on a busy machine."""


def row(page: Page, table: str, job: str) -> Locator:
    """The row of a job, by its id, in a list of jobs."""
    name = page.locator(f"a[href='#/jobs/{job}']")
    return page.get_by_role("table", name=table).get_by_role("row").filter(has=name)


def test_jobs_come_and_go_by_themselves(
    page_at: PageAt, job_manager: JobManager, job_id: JobIds, submit: Submit, screenshot: Screenshot
) -> None:
    page = page_at("/")
    shop = row(page, "Running jobs", job_id("shop"))
    expect(shop.get_by_text("8 running", exact=True)).to_be_visible()
    expect(shop.get_by_role("cell").nth(4)).to_have_text(re.compile(r"^\d.*/s$"))
    expect(shop.get_by_text(re.compile("took"))).to_be_visible()
    expect(page.get_by_text(re.compile(r"of [\d,]+ free"))).to_be_visible()
    page.evaluate("globalThis.sameDocument = true")

    job = submit("late shop")
    late = row(page, "Running jobs", job)
    expect(late).to_be_visible()
    job_manager.cancel(job)
    expect(late).to_have_count(0)
    ended = row(page, "Ended jobs", job)
    expect(ended.get_by_text("canceled", exact=True)).to_be_visible()
    screenshot("overview")
    assert page.evaluate("globalThis.sameDocument")

    ended.get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("late shop")
    expect(page.get_by_text("The job has ended")).to_be_visible()
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)


def test_what_is_wrong_with_a_job_is_told(
    page_at: PageAt, submit: Submit, job_id: JobIds, screenshot: Screenshot
) -> None:
    page = page_at("/")
    slow = row(page, "Running jobs", job_id("slow shop"))
    stumbling = row(page, "Running jobs", submit("stumbling shop", "--fail-at", 10))

    hint = stumbling.get_by_text("restarted once")
    expect(hint).to_be_visible(timeout=BUSY_MS)
    expect(hint).to_have_attribute("title", re.compile("order 10 has no address"))
    expect(slow.get_by_text(re.compile("back-pressured"))).to_be_visible(timeout=BUSY_MS)
    page.set_viewport_size({"width": 390, "height": 844})
    expect(slow.get_by_role("link")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    screenshot("overview-phone")
