"""Submitting from the page: a program becomes a job, and one that is none says why in its own words."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from playwright.sync_api import Page, expect

from tests.ui.conftest import AllowErrors, PageAt, Screenshot
from tests.ui.job_managers import JOBS, JobManager

PROGRAM_MS: Final = 150_000
"""How long a program may take on a busy machine."""


def upload(page: Page, program: Path) -> None:
    page.get_by_label("Upload a program").set_input_files(program)
    expect(page.get_by_role("heading", name=f"Run {program.name}")).to_be_visible()


def test_a_program_is_uploaded_shown_as_a_plan_and_run(
    page_at: PageAt, job_manager: JobManager, screenshot: Screenshot
) -> None:
    page = page_at("/submit")
    upload(page, JOBS / "shop.py")

    page.get_by_label("Arguments").fill('--rate 20 --name "uploaded shop')
    expect(page.get_by_text('A quote (") is not closed.')).to_be_visible()
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_disabled()
    page.get_by_label("Arguments").fill('--rate 20 --name "uploaded shop"')
    expect(page.get_by_text("uploaded shop", exact=True)).to_be_visible()
    page.get_by_role("button", name="Show plan").click()
    plan = page.get_by_role("region", name="Plan")
    expect(plan.get_by_text("total per customer").first).to_be_visible(timeout=PROGRAM_MS)
    screenshot("submit")

    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(
        "uploaded shop", timeout=PROGRAM_MS
    )
    found = re.search("[0-9a-f]{32}", page.url)
    assert found
    job_manager.await_state(found[0])
    job_manager.cancel(found[0])


def test_a_program_that_is_none_says_why(
    page_at: PageAt, tmp_path: Path, allow_errors: AllowErrors, screenshot: Screenshot
) -> None:
    allow_errors("status of 400")
    broken = tmp_path / "broken.py"
    broken.write_text("orders = [1, 2\nprint(orders)\n")
    page = page_at("/submit")
    upload(page, broken)

    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text(
        "SyntaxError: '[' was never closed", timeout=PROGRAM_MS
    )
    screenshot("submit-broken")
    page.get_by_role("button", name="Delete broken.py …").click()
    page.get_by_role("button", name="Delete the program").click()
    expect(page.get_by_role("heading", name="Run broken.py")).to_have_count(0)
