"""What can be done with a job, through its buttons; the JobManager is asked what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect

from riverrun.testing.waiting import wait_until
from tests.ui.conftest import PageAt, Screenshot, Submit
from tests.ui.job_managers import JobManager


def ask(page: Page, button: str) -> Locator:
    """Open the dialog behind a button of the job's head."""
    page.get_by_role("button", name=button, exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    return dialog


def told_path(page: Page, words: str) -> Path:
    """The path in the notice that an action leaves."""
    notice = page.get_by_role("status").filter(has_text=words)
    expect(notice.get_by_role("button", name="Copy the path")).to_be_visible()
    return Path(notice.locator("code").inner_text())


def test_a_job_is_cancelled_only_when_it_is_confirmed(
    page_at: PageAt, job_manager: JobManager, submit: Submit, screenshot: Screenshot
) -> None:
    job = submit("unwanted shop")
    page = page_at(f"/jobs/{job}")

    dialog = ask(page, "Cancel …")
    screenshot("cancel")
    dialog.get_by_role("button", name="Back").click()
    expect(dialog).to_have_count(0)
    assert job_manager.state(job) == "RUNNING"

    ask(page, "Cancel …").get_by_role("button", name="Cancel the job").click()
    expect(page.get_by_role("status").filter(has_text="The job is canceled.")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_contain_text("canceled")
    assert job_manager.state(job) == "CANCELED"


def test_savepoints_are_taken_and_a_job_starts_again_from_the_last(
    page_at: PageAt, job_manager: JobManager, submit: Submit, tmp_path: Path, screenshot: Screenshot
) -> None:
    job = submit("kept shop")
    job_manager.await_running(job)
    page = page_at(f"/jobs/{job}")

    ask(page, "Savepoint …").get_by_role("button", name="Take a savepoint").click()
    assert (told_path(page, "Savepoint taken:") / "_metadata").is_file()
    assert job_manager.state(job) == "RUNNING"
    page.get_by_role("link", name="Checkpoints", exact=True).click()
    page.get_by_role("button", name="Dismiss").click()
    expect(page.get_by_role("status").filter(has_text="Savepoint taken:")).to_have_count(0)

    dialog = ask(page, "Stop with savepoint …")
    dialog.get_by_label("Folder").fill(str(tmp_path / "last"))
    dialog.get_by_role("button", name="Stop the job").click()
    last = told_path(page, "The job stopped.")
    screenshot("stopped")
    assert last.is_relative_to(tmp_path / "last")
    assert (last / "_metadata").is_file()
    assert job_manager.state(job) == "FINISHED"

    page.get_by_role("link", name="Start again from its savepoint …").click()
    expect(page.get_by_role("heading", name="Submit a program")).to_be_visible()
    assert str(last) in page.url.replace("%2F", "/")


def test_a_job_is_rescaled_and_counts_on(
    page_at: PageAt, job_manager: JobManager, submit: Submit, screenshot: Screenshot
) -> None:
    job = submit("growing shop")
    job_manager.await_running(job)
    wait_until(lambda: checkpoints(job_manager, job) > 0, what="a checkpoint", timeout_s=60)
    page = page_at(f"/jobs/{job}")

    dialog = ask(page, "Rescale …")
    slider = dialog.get_by_role("slider", name="Parallelism")
    slider.focus()
    slider.press("ArrowRight")
    expect(dialog.get_by_label("Parallelism as a number")).to_have_value("2")
    expect(dialog.get_by_text("4 slots more")).to_be_visible()
    screenshot("rescale")
    dialog.get_by_role("button", name="Rescale").click()
    told = page.get_by_role("status").filter(has_text="rescaled to parallelism 2")
    expect(told).to_be_visible(timeout=120_000)

    job_manager.await_running(job)
    assert {each["parallelism"] for each in vertices(job_manager, job)} == {2}
    before = written(job_manager, job)
    wait_until(lambda: written(job_manager, job) > before, what="more orders", timeout_s=60)
    assert job_manager.get(f"/jobs/{job}/checkpoints")["counts"]["restored"] == 1


def vertices(job_manager: JobManager, job: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = job_manager.get(f"/jobs/{job}")["vertices"]
    return found


def written(job_manager: JobManager, job: str) -> int:
    """How many records all vertices have given on."""
    return sum(each["metrics"]["write-records"] for each in vertices(job_manager, job))


def checkpoints(job_manager: JobManager, job: str) -> int:
    return int(job_manager.get(f"/jobs/{job}/checkpoints")["counts"]["completed"])
