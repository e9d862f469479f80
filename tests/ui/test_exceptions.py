"""The page of a job's failures, and that of its settings."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from riverrun.testing.waiting import wait_until
from tests.ui.conftest import JobIds, PageAt, Screenshot, Submit
from tests.ui.job_managers import JobManager

pytestmark = pytest.mark.spark
UNTIL_IT_FAILED_MS = 120_000


def fact(page: Page, name: str) -> str:
    """The value beside a name."""
    term = page.get_by_role("term").get_by_text(name, exact=True).first
    return term.locator("xpath=following-sibling::dd[1]").inner_text()


def test_a_failure_shows_the_users_code_the_operator_the_record_and_what_came_after(
    page_at: PageAt, job_id: JobIds, context: BrowserContext, screenshot: Screenshot
) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = page_at(f"/jobs/{job_id('failing shop')}/exceptions")

    heading = page.get_by_role("heading", name="ValueError: order 60 has no address")
    expect(heading).to_be_visible(timeout=UNTIL_IT_FAILED_MS)
    frame = page.get_by_role("listitem").filter(has_text="process_element")
    expect(frame).to_contain_text("shop.py")
    expect(frame).to_contain_text('raise ValueError(f"order {value[0]} has no address")')
    assert fact(page, "Operator") == "check"
    assert fact(page, "Record").startswith("(60, 'customer-10', 60.0,")
    assert fact(page, "Task").endswith("subtask 0")
    after = page.get_by_text(re.compile("restarted once since; running for"))
    expect(after).to_be_visible(timeout=UNTIL_IT_FAILED_MS)
    screenshot("exceptions")

    page.get_by_role("button", name="Copy the failure").click()
    expect(page.get_by_text("Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert "operator: check" in copied
    assert "Traceback (most recent call last):" in copied

    page.get_by_role("link", name="Link to this cause").click()
    expect(page).to_have_url(re.compile(r"exceptions\?cause=[0-9a-f]{8}$"))
    expect(frame).to_be_visible()


def test_a_killed_worker_is_told_with_its_process_and_that_the_job_goes_on(
    page_at: PageAt, submit: Submit, job_manager: JobManager, screenshot: Screenshot
) -> None:
    job = submit("killed shop")
    page = page_at(f"/jobs/{job}/exceptions")
    expect(page.get_by_text("Nothing has failed since this job began.")).to_be_visible()
    checkpoints = f"/jobs/{job}/checkpoints"
    wait_until(lambda: job_manager.get(checkpoints)["counts"]["completed"], what="a checkpoint")

    pid = worker_of(job_manager, job, "total per customer")
    os.kill(pid, signal.SIGKILL)

    heading = page.get_by_role("heading", name=re.compile(f"^WorkerLost: .*{pid}"))
    expect(heading).to_be_visible(timeout=UNTIL_IT_FAILED_MS)
    assert fact(page, "Task") == "total per customer, subtask 0"
    expect(page.get_by_text(re.compile("restarted once since; running for"))).to_be_visible(
        timeout=UNTIL_IT_FAILED_MS
    )
    page.get_by_role("link", name="total per customer, subtask 0").click()
    expect(page).to_have_url(re.compile(r"/vertices/[0-9a-f]{32}$"))
    page.go_back()
    page.get_by_role("link", name="Checkpoints").click()
    expect(page.get_by_text(re.compile(r"^from checkpoint \d+, "))).to_be_visible()
    screenshot("exceptions-killed")


def worker_of(job_manager: JobManager, job: str, task: str) -> int:
    """The process of a task of the job."""

    def found() -> list[int]:
        managers = job_manager.get("/taskmanagers")["taskmanagers"]
        details = [job_manager.get(f"/taskmanagers/{each['id']}") for each in managers]
        running = [each for detail in details for each in detail["subtasks"]]
        mine = [each for each in running if (each["jobId"], each["vertexName"]) == (job, task)]
        return [each["pid"] for each in mine if each["pid"]]

    return int(wait_until(found, what=f"a process of {task!r}")[0])


def test_the_settings_of_a_job_are_searched_and_its_plan_is_kept(
    page_at: PageAt, job_id: JobIds, tmp_path: Path, screenshot: Screenshot
) -> None:
    page = page_at(f"/jobs/{job_id('shop')}/configuration")

    settings = page.get_by_role("table", name="Settings").get_by_role("row")
    expect(settings.filter(has_text="execution.checkpointing.savepoint-dir")).to_be_visible()
    expect(page.get_by_text("exactly once")).to_be_visible()
    expect(page.get_by_text("The functions of this job have none.")).to_be_visible()
    screenshot("configuration")
    page.get_by_role("searchbox", name="Search the settings").fill("PARALLELISM")
    expect(settings).to_have_count(2)
    expect(settings.nth(1)).to_contain_text("parallelism.default")
    page.get_by_role("searchbox").fill("no such thing")
    expect(page.get_by_text("No setting has these letters.")).to_be_visible()

    with page.expect_download() as download:
        page.get_by_role("button", name="Download the plan").click()
    kept = tmp_path / "plan.json"
    download.value.save_as(kept)
    assert json.loads(kept.read_text())["plan"]["name"] == "shop"
