"""The page in a real Chromium, in front of a real JobManager on Spark with jobs that run for ever.

A test takes what it needs:

    def test_the_graph_is_drawn(page_at, job_id, screenshot):
        page = page_at(f"/jobs/{job_id('shop')}")
        expect(page.get_by_role("heading", name="shop")).to_be_visible()
        screenshot("graph")

``job_id`` gives jobs that all tests share, so they are only looked at; ``submit`` gives a job of the test's
own. A test fails on errors that the page does not handle, on errors in the console and on requests that go
anywhere but to the JobManager; ``allow_errors`` names those that a test provokes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.ui.browser import MISSING, find_browser, running_browser
from tests.ui.job_managers import ROOT, JobManager

PageAt = Callable[[str], Page]
JobIds = Callable[[str], str]
Submit = Callable[..., str]
Screenshot = Callable[[str], Path]
AllowErrors = Callable[[str], None]

CACHE: Final = ROOT / ".cache" / "ui"
_FAILED: Final = CACHE / "failed"
_REPORT: Final = pytest.StashKey[pytest.TestReport]()
_PATIENCE_MS: Final = 30_000
_WIDE: Final = {"width": 1280, "height": 900}
SHARED_JOBS: Final[dict[str, tuple[int, tuple[object, ...]]]] = {
    "shop": (2, ("--rate", 40)),
    "slow shop": (1, ("--rate", 60, "--slow", 20, "--padding", 20_000)),
    "failing shop": (1, ("--rate", 5, "--fail-at", 60)),
}
"""Shops by name: their parallelism and arguments."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder, before they are selected by their marks."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker("spark")
            item.add_marker("ui")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep how the test went, for what is done after it."""
    report = yield
    if report.when == "call":
        item.stash[_REPORT] = report
    return report


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A Chromium; without one, tests are skipped unless RIVERRUN_REQUIRE_BROWSER is set."""
    path = find_browser()
    if path is None:
        if os.environ.get("RIVERRUN_REQUIRE_BROWSER"):
            pytest.fail(MISSING)
        pytest.skip(MISSING)
    expect.set_options(timeout=_PATIENCE_MS)
    with running_browser(path) as browser:
        yield browser


@pytest.fixture(scope="session")
def job_manager(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JobManager]:
    """A JobManager on Spark with eight slots, for all tests; ``get`` asks its REST interface."""
    job_manager = JobManager(tmp_path_factory.mktemp("job-manager"), "local[8]")
    yield job_manager
    job_manager.end()


@pytest.fixture(scope="session")
def job_id(job_manager: JobManager) -> JobIds:
    """``job_id("shop")``: one of SHARED_JOBS, submitted by the first who asks; all its subtasks run."""
    known: dict[str, str] = {}

    def find(name: str) -> str:
        if name not in known:
            parallelism, arguments = SHARED_JOBS[name]
            failed = job_manager.folder / f"failed {name}"
            named = ("--name", name, "--failed", failed)
            job = job_manager.submit("shop.py", *arguments, *named, parallelism=parallelism)
            job_manager.await_running(job)
            known[name] = job
        return known[name]

    return find


@pytest.fixture
def submit(job_manager: JobManager, tmp_path: Path) -> Iterator[Submit]:
    """``submit("my shop", "--rate", 20, parallelism=1)``: a shop of the test's own, ended after it."""
    jobs: list[str] = []

    def run(name: str, *arguments: object, parallelism: int = 1, program: str = "shop.py") -> str:
        if program == "shop.py":
            failed = tmp_path / f"failed {name}"
            arguments = ("--rate", 20, "--name", name, "--failed", failed, *arguments)
        jobs.append(job_manager.submit(program, *arguments, parallelism=parallelism))
        job_manager.await_state(jobs[-1])
        return jobs[-1]

    yield run
    for job in jobs:
        job_manager.cancel(job)


class Watch:
    """What happens on a page that must not."""

    def __init__(self, context: BrowserContext, home: str) -> None:
        self._home = home
        self._found: list[str] = []
        self._allowed: list[str] = []
        context.on("weberror", lambda error: self._found.append(f"uncaught: {error.error}"))
        context.on("console", lambda message: self._said(message.type, message))
        context.on("request", lambda request: self._asked(request.url))

    def _said(self, kind: str, message: Any) -> None:
        if kind == "error":
            self._found.append(f"console: {message.text} ({message.location['url']})")

    def _asked(self, url: str) -> None:
        if not url.startswith((self._home + "/", "data:", "blob:")):
            self._found.append(f"request to another server: {url}")

    def allow(self, pattern: str) -> None:
        self._allowed.append(pattern)

    def found(self) -> list[str]:
        allowed = self._allowed
        return [each for each in self._found if not any(re.search(p, each) for p in allowed)]


@pytest.fixture
def home(job_manager: JobManager) -> str:
    """Where the page is served; a test module with a JobManager of its own gives that one's address."""
    return job_manager.url


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser as if it was just installed: nothing is remembered from other tests."""
    context = browser.new_context(viewport=_WIDE, reduced_motion="reduce")  # type: ignore[arg-type]
    context.set_default_timeout(_PATIENCE_MS)
    yield context
    context.close()


@pytest.fixture
def watch(context: BrowserContext, home: str) -> Watch:
    """What happened on the page that must not."""
    return Watch(context, home)


@pytest.fixture
def allow_errors(watch: Watch) -> AllowErrors:
    """``allow_errors("404")``: messages with this pattern do not fail the test; it provokes them."""
    return watch.allow


@pytest.fixture
def page(context: BrowserContext, watch: Watch, request: pytest.FixtureRequest) -> Iterator[Page]:
    """An empty page of the browser; after the test, nothing may have gone wrong on it."""
    page = context.new_page()
    yield page
    report = request.node.stash.get(_REPORT, None)
    wrong = watch.found()
    if wrong or report is None or report.failed:
        _FAILED.mkdir(parents=True, exist_ok=True)
        name = re.sub(r"[^\w.-]+", "-", request.node.name)
        page.screenshot(path=_FAILED / f"{name}.png", full_page=True)
        (_FAILED / f"{name}.html").write_text(page.content())
    assert wrong == []


@pytest.fixture
def page_at(page: Page, home: str) -> PageAt:
    """``page_at("/jobs/...")``: the page at this address, after '#'."""

    def open_at(path: str) -> Page:
        page.goto(f"{home}/#{path}")
        return page

    return open_at


@pytest.fixture
def screenshot(page: Page) -> Screenshot:
    """``screenshot("graph")``: keep a picture of the whole page as .cache/ui/screenshots/graph.png."""
    folder = Path(os.environ.get("RIVERRUN_SCREENSHOTS") or CACHE / "screenshots")

    def take(name: str) -> Path:
        path = folder / f"{name}.png"
        page.screenshot(path=path, full_page=True)
        return path

    return take
