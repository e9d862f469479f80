"""The frame around all pages: finding one's way, colours, tokens, and what it says in trouble."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.ui.conftest import JobIds, PageAt, Screenshot

pytestmark = pytest.mark.spark


def test_the_jobs_of_a_session_are_found(
    page_at: PageAt, job_id: JobIds, screenshot: Screenshot
) -> None:
    page = page_at(f"/jobs/{job_id('shop')}")

    expect(page.get_by_role("heading", name="shop", level=1)).to_be_visible()
    screenshot("frame-job")
