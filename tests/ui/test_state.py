"""The state browser: what a job's checkpoints hold, where it is, and the value of one key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from riverrun.testing.waiting import wait_until
from tests.ui.conftest import AllowErrors, JobIds, PageAt, Screenshot, Submit
from tests.ui.job_managers import JobManager

pytestmark = pytest.mark.spark

BUSY = "customer-0"
"""Half of all orders are of this customer."""
STARTS_MS = 120_000
"""The first who asks waits for the process that reads."""


def choose_state(page: Page, operator: str, state: str) -> None:
    """Open a state in the table; it is marked then."""
    row = page.get_by_role("row").filter(has_text=operator).filter(has_text=state)
    row.get_by_role("link", name=state, exact=True).click()
    expect(row.get_by_role("link", name=state)).to_have_attribute("aria-current", "true")


def panel(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name)


def savepoint_of(job_manager: JobManager, job: str) -> Path:
    """The folder of a new savepoint."""
    request = job_manager.call("POST", f"/jobs/{job}/savepoints", {})["request-id"]
    path = f"/jobs/{job}/savepoints/{request}"
    wait_until(lambda: job_manager.get(path)["status"]["id"] == "COMPLETED", what="the savepoint")
    return Path(job_manager.get(path)["operation"]["location"])


def test_the_value_of_a_customer_is_found_in_a_savepoint(
    page_at: PageAt, submit: Submit, screenshot: Screenshot, allow_errors: AllowErrors
) -> None:
    # The latest checkpoint may be replaced while it is read; the page then takes the next.
    allow_errors("404")
    job = submit("shop with state", parallelism=2)
    page = page_at(f"/jobs/{job}/state")
    latest = page.get_by_role("heading", name=re.compile(r"Checkpoint \d+ of shop"))
    expect(latest).to_be_visible(timeout=STARTS_MS)

    page.get_by_role("button", name="Take a savepoint to look into").click()
    page.get_by_role("button", name="Take it").click()
    expect(page.get_by_role("heading", name=re.compile(r"Savepoint \d+ of shop"))).to_be_visible()
    expect(page.get_by_label("Look into")).to_have_value(re.compile("savepoint-"))

    choose_state(page, "total per customer", "_reduced")
    groups = panel(page, "Key groups of _reduced")
    drawing = groups.get_by_role("img", name=re.compile("128 key groups by bytes"))
    expect(drawing).to_be_visible()
    expect(drawing.locator("rect[data-cell]")).to_have_count(128)
    subtasks = groups.get_by_role("table", name="What each subtask holds")
    expect(subtasks.get_by_role("row")).to_have_count(3)
    expect(subtasks).to_contain_text("64 to 127")

    keys = panel(page, "Look up a key of _reduced")
    keys.get_by_label("Key", exact=True).fill(BUSY)
    keys.get_by_role("button", name="Look up").click()
    expect(keys.locator(".found")).to_contain_text("Key group")
    expect(keys.locator(".found pre")).to_contain_text(f'"{BUSY}"')
    screenshot("state")

    keys.locator(".found").get_by_role("link").click()
    expect(keys.get_by_role("heading", name=re.compile(r"Keys of key group \d+"))).to_be_visible()
    expect(keys.get_by_role("link", name=BUSY, exact=True)).to_be_visible()
    groups.get_by_role("button", name="entries").click()
    expect(groups.get_by_role("img", name=re.compile("128 key groups by entries"))).to_be_visible()

    keys.get_by_label("Key", exact=True).fill("nobody")
    keys.get_by_label("Key", exact=True).press("Enter")
    expect(keys).to_contain_text("The state holds nothing for the key nobody")

    choose_state(page, "orders", "riverrun.splits")
    expect(panel(page, "Entries of riverrun.splits").get_by_role("row")).not_to_have_count(0)


def test_a_folder_is_searched_and_trouble_is_told(
    page_at: PageAt,
    job_manager: JobManager,
    job_id: JobIds,
    tmp_path: Path,
    screenshot: Screenshot,
    allow_errors: AllowErrors,
) -> None:
    allow_errors("404|409|400")
    job_id("shop")
    page = page_at("/state")
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.get_by_role("link", name="shop", exact=True)).to_be_visible()

    def look_into(path: str) -> None:
        field = page.get_by_label("Folder of a savepoint or checkpoint, or one above it")
        field.fill(path)
        page.get_by_role("button", name="Open").click()

    look_into(str(tmp_path / "nowhere"))
    expect(page.get_by_role("main")).to_contain_text("there is no checkpoint or savepoint")
    look_into("not/absolute")
    expect(page.get_by_role("alert")).to_contain_text("path")
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "_metadata").write_bytes(b"none of ours")
    look_into(str(broken))
    expect(page.get_by_role("alert")).to_contain_text(str(broken))

    look_into(str(savepoint_of(job_manager, job_id("shop")).parent))
    page.get_by_role("link", name=re.compile(r"Savepoint \d+")).first.click()
    choose_state(page, "total per customer", "_reduced")
    page.get_by_role("link", name=BUSY, exact=True).click()
    expect(page.locator(".found pre")).to_contain_text(f'"{BUSY}"')
    page.get_by_text("All key groups as a table").click()
    table = page.get_by_role("table", name="Entries and bytes by key group")
    table.get_by_role("link", name="Keys of key group 0", exact=True).click()
    expect(page.get_by_role("heading", name="Keys of key group 0")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.emulate_media(color_scheme="dark")
    screenshot("state-phone-dark")
