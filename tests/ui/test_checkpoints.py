"""The page of a job's checkpoints: is all well, who holds one up, where did the time go, savepoints by hand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.ui.conftest import JobIds, PageAt, Screenshot, Submit

pytestmark = pytest.mark.spark
PHASES = re.compile("^start delay .+, alignment .+, sync .+, async .+, other ")


def table(page: Page, name: str) -> Locator:
    return page.get_by_role("table", name=name, exact=True)


def newest(page: Page) -> int:
    """The number of the newest checkpoint that is shown as completed."""
    row = table(page, "Checkpoints").get_by_role("row").filter(has_text="completed").first
    return int(row.get_by_role("link").first.inner_text())


def test_the_history_fills_while_one_looks_and_one_is_looked_into(
    page_at: PageAt, job_id: JobIds, screenshot: Screenshot
) -> None:
    page = page_at(f"/jobs/{job_id('shop')}/checkpoints")
    seen = newest(page)

    later = table(page, "Checkpoints").get_by_role("link", name=str(seen + 2), exact=True)
    expect(later).to_be_visible(timeout=120_000)
    expect(page.get_by_role("group", name=re.compile("^Duration of the last"))).to_be_visible()
    expect(page.get_by_text("every 1.0 s", exact=True)).to_be_visible()
    screenshot("checkpoints")

    later.click()
    expect(page.get_by_role("heading", name=f"Checkpoint {seen + 2} completed")).to_be_visible()
    vertices = table(page, "Vertices in this checkpoint")
    expect(vertices.get_by_role("row")).to_have_count(1 + 4)
    vertices.get_by_role("link", name="spend per second").click()
    expect(page.get_by_role("heading", name="Subtasks of 'spend per second'")).to_be_visible()
    subtasks = table(page, "Subtasks in this checkpoint").get_by_role("row")
    expect(subtasks).to_have_count(1 + 2)
    for index in (0, 1):
        row = subtasks.nth(1 + index)
        expect(row.get_by_role("cell").first).to_have_text(str(index))
        expect(row.get_by_role("img", name=PHASES)).to_be_visible()
        expect(row).to_contain_text("aligned")
    page.get_by_text("Least, mean and most over the subtasks").click()
    spread = table(page, "Figures over the subtasks that acknowledged")
    expect(spread.get_by_role("row", name=re.compile("^Start delay"))).to_be_visible()
    screenshot("checkpoint")

    page.get_by_role("link", name="All checkpoints").click()
    expect(page.get_by_role("region", name="Savepoints")).to_be_visible()


def test_one_that_is_held_up_tells_by_whom(
    page_at: PageAt, job_id: JobIds, screenshot: Screenshot
) -> None:
    page = page_at(f"/jobs/{job_id('slow shop')}/checkpoints")

    waiting = page.get_by_role("listitem").filter(has_text="deliver ->")
    expect(waiting).to_contain_text("1 of 1, subtask 0", timeout=120_000)
    panel = page.get_by_role("region", name=re.compile("is in progress$"))
    expect(panel).to_contain_text(re.compile("[0-3] of 4 subtasks have acknowledged"))
    health = page.get_by_role("status").filter(has_text="'deliver'")
    expect(health).to_contain_text(re.compile("the usual|between two"), timeout=120_000)
    screenshot("checkpoints-slow")


def test_a_savepoint_is_taken_and_deleted_by_its_buttons(
    page_at: PageAt, submit: Submit, screenshot: Screenshot
) -> None:
    page = page_at(f"/jobs/{submit('saved shop')}/checkpoints")

    page.get_by_role("button", name="Trigger checkpoint").click()
    page.get_by_role("dialog").get_by_role("button", name="Take it").click()
    expect(page.get_by_text(re.compile(r"^Checkpoint \d+ is complete"))).to_be_visible()

    panel = page.get_by_role("region", name="Savepoints")
    expect(panel).to_contain_text("None was taken since the job began.")
    panel.get_by_role("button", name="Take a savepoint").click()
    page.get_by_role("dialog").get_by_role("button", name="Take it").click()
    expect(panel.get_by_text("Savepoint taken")).to_be_visible()
    row = table(page, "Savepoints").get_by_role("row").nth(1)
    expect(row).to_contain_text("completed")
    place = Path(panel.get_by_role("status").get_by_role("link").inner_text())
    assert place.exists()
    expect(row.get_by_role("link", name=re.compile("savepoint"))).to_have_attribute(
        "href", re.compile(r"^#/state\?path=.*savepoint")
    )
    screenshot("savepoints")

    row.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog", name="Delete this savepoint?")
    expect(dialog).to_contain_text(place.name)
    dialog.get_by_role("button", name="Delete it").click()
    expect(dialog).to_have_count(0)
    expect(row).to_contain_text("deleted")
    assert not place.exists()


def test_a_savepoint_that_cannot_be_written_says_why(page_at: PageAt, submit: Submit) -> None:
    page = page_at(f"/jobs/{submit('unsaved shop')}/checkpoints")

    page.get_by_role("region", name="Savepoints").get_by_role("button").first.click()
    dialog = page.get_by_role("dialog", name="Take a savepoint")
    dialog.get_by_role("textbox", name="Folder").fill("/proc/nowhere")
    dialog.get_by_role("button", name="Take it").click()

    expect(dialog.get_by_role("alert")).to_contain_text("/proc/nowhere")
