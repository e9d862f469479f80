"""Task managers, logs and the JobManager's own page, as someone looks into them who is on call."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from riverrun.testing.waiting import wait_until
from tests.ui.conftest import JobIds, PageAt, Screenshot
from tests.ui.job_managers import JobManager

pytestmark = pytest.mark.spark

_AT_END = "box => box.scrollTop + box.clientHeight >= box.scrollHeight - 2"
_LINES = 100_000
_ENDS_WITHIN_MS = 60_000


def manager_id(job_manager: JobManager) -> str:
    (manager,) = job_manager.get("/taskmanagers")["taskmanagers"]
    return str(manager["id"])


def lines_of(page: Page, file: str) -> Locator:
    return page.get_by_role("region", name=f"Lines of {file}")


def next_line(file: Path) -> str:
    """A line that is written from now on."""
    known = len(file.read_text().splitlines())
    wait_until(lambda: len(file.read_text().splitlines()) > known, what=f"a line in {file.name}")
    return file.read_text().splitlines()[known]


def test_an_executor_leads_to_the_subtasks_that_run_in_it(
    page_at: PageAt, job_manager: JobManager, job_id: JobIds, screenshot: Screenshot
) -> None:
    shop = job_id("shop")
    page = page_at("/taskmanagers")

    row = page.get_by_role("table", name="Task managers").get_by_role("row").nth(1)
    expect(row).to_contain_text("takes tasks")
    expect(row.get_by_role("img", name=re.compile(r"^[1-9]\d* used, [\d,]+ free$"))).to_be_visible()
    screenshot("task-managers")
    row.get_by_role("link", name="driver").click()

    subtasks = page.get_by_role("table", name="Subtasks that run here")
    mine = subtasks.get_by_role("row").filter(has=page.get_by_role("link", name="shop", exact=True))
    tasks = job_manager.get(f"/jobs/{shop}")["vertices"]
    expect(mine).to_have_count(sum(vertex["parallelism"] for vertex in tasks))
    expect(mine.filter(has_text="running")).to_have_count(mine.count())
    screenshot("task-manager")

    page.get_by_role("link", name="Metrics").click()
    metrics = page.get_by_role("table", name="Metrics now and since this page was opened")
    memory = metrics.get_by_role("row", name=re.compile("Status.JVM.Memory.Heap.Max"))
    expect(memory).to_contain_text(re.compile(r"[\d.]+ [KMG]iB"))
    expect(memory.get_by_role("img", name=re.compile("^always "))).to_be_visible()
    page.get_by_text("Choose metrics").click()
    page.get_by_role("checkbox", name="taskSlotsTotal").uncheck()
    expect(metrics).not_to_contain_text("taskSlotsTotal")

    page.get_by_role("link", name="Overview").click()
    vertex = tasks[0]
    mine.first.get_by_role("link", name=vertex["name"]).click()
    expect(page).to_have_url(re.compile(f"#/jobs/{shop}/vertices/{vertex['id']}$"))


def test_a_thread_dump_names_the_threads_of_tasks(
    page_at: PageAt, job_manager: JobManager, job_id: JobIds, screenshot: Screenshot
) -> None:
    job_id("shop")
    page = page_at(f"/taskmanagers/{manager_id(job_manager)}?tab=threads")
    threads = page.get_by_role("list", name="Threads")

    expect(threads.get_by_text("Source: orders -> check").first).to_be_visible()
    page.get_by_role("searchbox", name="Find a thread").fill("source orders task_shell.py")
    expect(page.get_by_text(re.compile(r"^\d+ of \d+ threads$"))).to_be_visible()
    threads.locator("summary").first.press("Enter")
    expect(threads.get_by_text(re.compile(r"task_shell\.py:\d+")).first).to_be_visible()
    screenshot("threads")

    page.get_by_role("button", name="Take again").click()
    expect(page.get_by_text(re.compile(r"^taken at \d\d:\d\d:\d\d$"))).to_be_visible()
    page.get_by_role("searchbox", name="Find a thread").fill("no such thread")
    expect(page.get_by_text(re.compile(r"^0 of \d+ threads$"))).to_be_visible()


def test_a_log_is_followed_and_searched(
    page_at: PageAt, job_manager: JobManager, job_id: JobIds, screenshot: Screenshot
) -> None:
    shop = job_id("shop")
    printed = job_manager.folder / "logs" / f"job-{shop}.out"
    page = page_at("/jobmanager?tab=logs")
    expect(lines_of(page, "jobmanager.log")).to_contain_text("INFO")
    page.get_by_role("searchbox", name="Search for words").fill(f"job is RUNNING job={shop}")
    expect(page.locator("mark.current")).to_be_visible()

    wait_until(printed.exists, what=f"the file {printed.name}")
    files = page.get_by_role("table", name="Log files")
    line = files.get_by_role("row").filter(has_text="what the job shop printed")
    line.get_by_role("link").click()
    box = lines_of(page, printed.name)
    expect(box).to_contain_text(next_line(printed))
    expect(box).to_contain_text(next_line(printed))
    assert box.evaluate(_AT_END)

    page.get_by_role("checkbox", name="Follow").uncheck()
    box.press("/")
    page.keyboard.type("CUSTOMER")
    count = page.get_by_role("search").get_by_role("status")
    expect(count).to_contain_text(re.compile(r"^[\d,]+ of [\d,]+$"))
    first = int(count.inner_text().split()[0].replace(",", ""))
    expect(box.locator("mark.current")).to_have_text("customer")
    page.keyboard.press("Enter")
    expect(count).to_contain_text(re.compile(rf"^{first + 1:,} of "))
    page.keyboard.press("Shift+Enter")
    expect(count).to_contain_text(re.compile(rf"^{first:,} of "))
    screenshot("log")

    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    assert "customer" in Path(download.value.path()).read_text()


@pytest.fixture
def large_log(job_manager: JobManager) -> Iterator[Path]:
    file = job_manager.folder / "logs" / "jobmanager-large.log"
    with file.open("w") as out:
        out.write("2026-01-01 00:00:00,000 INFO  the first words\n")
        out.writelines(
            f"2026-01-01 00:00:01,000 {'ERROR' if n % 1000 == 999 else 'INFO '} line {n} {'.' * 60}\n"
            for n in range(_LINES)
        )
    yield file
    file.unlink()


def test_a_large_log_is_read_in_parts_and_a_new_one_is_noticed(
    page_at: PageAt, large_log: Path
) -> None:
    page = page_at(f"/jobmanager?tab=logs&file={large_log.name}")
    box = lines_of(page, large_log.name)
    rows = box.locator(".log-line")
    expect(box).to_contain_text(f"line {_LINES - 1} ")
    assert rows.count() < 150
    expect(box.locator(".log-error").last).to_contain_text(f"ERROR line {_LINES - 1}")

    box.press("Home")
    room_above = box.locator("> div > div").first
    expect(room_above).to_have_css("height", "0px")
    first = rows.first.inner_text()
    page.get_by_role("button", name="Load earlier lines").click()
    expect(page.get_by_text(re.compile("^The last 768 KiB of"))).to_be_visible()
    expect(box).to_contain_text(first)

    with large_log.open("a") as out:
        out.write("2026-01-01 00:00:02,000 WARN  written later\n")
    page.get_by_role("button", name="New lines below").click()
    expect(box.locator(".log-warn")).to_contain_text("written later")
    assert box.evaluate(_AT_END)
    box.press("Home")
    assert box.evaluate("box => box.scrollTop") == 0
    box.press("End")
    assert box.evaluate(_AT_END)

    page.get_by_role("searchbox", name="Search for words").fill("the first words")
    expect(page.get_by_text("nothing found in the loaded part")).to_be_visible()
    page.get_by_role("button", name="Search further up").click()
    expect(box.locator("mark.current")).to_have_text("the first words")
    assert rows.count() < 150
    page.get_by_role("button", name="To the end").click()
    expect(box).to_contain_text("written later")

    large_log.write_text("2026-01-02 00:00:00,000 INFO  begun again\n")
    expect(page.get_by_text("began anew")).to_be_visible()
    expect(rows).to_have_text(["2026-01-02 00:00:00,000 INFO  begun again"])


def test_the_job_manager_shows_its_settings_packages_and_threads(
    page_at: PageAt, job_manager: JobManager, job_id: JobIds, screenshot: Screenshot
) -> None:
    job_id("shop")
    page = page_at("/jobmanager")
    settings = page.get_by_role("table", name="Settings of the JobManager")
    expect(settings.get_by_role("row", name="riverrun.master local[8]")).to_be_visible()
    page.get_by_role("searchbox", name="Find a setting").fill("savepoint dir")
    expect(settings.locator("tbody tr")).to_have_count(1)
    expect(settings).to_contain_text(str(job_manager.folder / "savepoints"))
    screenshot("job-manager")

    parts = page.get_by_role("navigation", name="Parts of the JobManager")
    parts.get_by_role("link", name="Environment").click()
    expect(page.get_by_text("CPython")).to_be_visible()
    page.get_by_role("searchbox", name="Find a package").fill("pyspark")
    packages = page.get_by_role("table", name="Packages that are installed")
    expect(packages.get_by_role("row", name=re.compile(r"^pyspark 4\."))).to_be_visible()

    parts.get_by_role("link", name="Metrics").click()
    running = page.get_by_role("row", name=re.compile("numRunningJobs"))
    expect(running.locator("strong")).to_have_text(re.compile(r"^[1-9]"))
    expect(page.get_by_text(re.compile(r"\d+ % of a core lately"))).to_be_visible()

    parts.get_by_role("link", name="Threads").click()
    threads = page.get_by_role("list", name="Threads")
    expect(threads.get_by_text("MainThread")).to_be_visible()

    page.get_by_role("button", name="End the cluster").click()
    asked = page.get_by_role("dialog", name="End the cluster?")
    expect(asked).to_contain_text(re.compile(r"\d+ running jobs? (is|are) cancelled"))
    expect(asked.get_by_role("listitem").filter(has_text=re.compile("^shop$"))).to_be_visible()
    asked.get_by_role("button", name="Back").click()
    assert job_manager.state(job_id("shop")) == "RUNNING"


def test_the_cluster_is_ended_from_the_page(browser: Browser, tmp_path: Path) -> None:
    job_manager = JobManager(tmp_path / "job-manager", "local[2]")
    page = browser.new_page()
    page.goto(f"{job_manager.url}/#/jobmanager")

    page.get_by_role("button", name="End the cluster").click()
    asked = page.get_by_role("dialog", name="End the cluster?")
    expect(asked).to_contain_text("No job runs.")
    asked.get_by_role("button", name="End the cluster").click()

    expect(page.get_by_text("The JobManager is ending.")).to_be_visible(timeout=_ENDS_WITHIN_MS)
    expect(page.get_by_text("The JobManager has not answered")).to_be_visible(
        timeout=_ENDS_WITHIN_MS
    )
    page.close()
    job_manager.end()
