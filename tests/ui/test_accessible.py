"""Every page can be used by everybody: judged by axe-core in light and dark, and by its width on a phone."""

from __future__ import annotations

import re
from typing import Any, Final

import pytest
from playwright.sync_api import Page, expect

from scripts.ui.vendor import install
from tests.ui.conftest import AllowErrors, JobIds, PageAt, Screenshot
from tests.ui.job_managers import JobManager

pytestmark = pytest.mark.spark

PAGES: Final = {
    "jobs": "/",
    "submit": "/submit",
    "task-managers": "/taskmanagers",
    "task-manager": "/taskmanagers/{manager}",
    "job-manager": "/jobmanager",
    "state": "/state",
    "job": "/jobs/{job}",
    "job-time-lines": "/jobs/{job}/timelines",
    "job-checkpoints": "/jobs/{job}/checkpoints",
    "job-exceptions": "/jobs/{job}/exceptions",
    "job-state": "/jobs/{job}/state",
    "job-configuration": "/jobs/{job}/configuration",
    "vertex": "/jobs/{job}/vertices/{vertex}",
    "flame-graph": "/jobs/{job}/vertices/{vertex}/flame",
}
PHONE: Final = {"width": 390, "height": 844}
_JUDGE: Final = """async () => {
  const { violations } = await axe.run(document, { resultTypes: ['violations'] });
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id}: ${target} ${failureSummary}`));
}"""


@pytest.fixture(scope="module")
def axe() -> str:
    return (install() / "axe-core" / "axe.min.js").read_text()


@pytest.fixture
def places(job_manager: JobManager, job_id: JobIds) -> dict[str, str]:
    job = job_id("shop")
    vertices = job_manager.get(f"/jobs/{job}")["vertices"]
    managers = job_manager.get("/taskmanagers")["taskmanagers"]
    return {"job": job, "vertex": vertices[0]["id"], "manager": managers[0]["id"]}


def judged(page: Page, axe: str) -> Any:
    # Evaluated, not loaded: the page's own rules forbid scripts from elsewhere.
    page.evaluate(axe)
    return page.evaluate(_JUDGE)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_can_be_used_by_everybody(
    name: str,
    page_at: PageAt,
    places: dict[str, str],
    axe: str,
    screenshot: Screenshot,
    allow_errors: AllowErrors,
) -> None:
    # A job with a checkpoint a second may have deleted the latest one before it is read.
    allow_errors(r"404.*/snapshots/")
    page = page_at(PAGES[name].format(**places))
    main = page.get_by_role("main")
    expect(main.get_by_role("heading", level=1).first).to_be_visible()
    expect(main.get_by_text("Asking for")).to_have_count(0)

    for colours in ("light", "dark"):
        page.emulate_media(color_scheme=colours)
        screenshot(f"page-{name}-{colours}")
        assert judged(page, axe) == []

    assert re.findall(r"\b(?:NaN|undefined|\[object \w+\])", main.inner_text()) == []

    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    screenshot(f"page-{name}-phone")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
