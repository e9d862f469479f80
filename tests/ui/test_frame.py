"""The frame around all pages: finding one's way, colours, tokens, and what it says in trouble."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.ui.conftest import AllowErrors, JobIds, PageAt, Screenshot
from tests.ui.job_managers import JobManager

pytestmark = pytest.mark.spark

AWAY = "The JobManager has not answered for"
GONE = "0" * 32


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.textContent.trim()"))


def text_colour(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.body).color"))


def test_every_page_is_reached_with_the_keyboard(page: Page, home: str) -> None:
    page.goto(home)
    main = page.get_by_role("main")
    expect(main).to_be_visible()

    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(main).to_be_focused()

    names = ("Submit", "Task managers", "JobManager", "State", "Jobs")
    for name in names:
        page.reload()
        pages = page.get_by_role("navigation", name="Pages")
        entry = pages.get_by_role("link", name=name, exact=True)
        expect(entry).to_be_visible()
        for _ in range(2 + len(names)):
            page.keyboard.press("Tab")
            if focused(page) == name:
                break
        expect(entry).to_be_focused()
        page.keyboard.press("Enter")
        expect(entry).to_have_attribute("aria-current", "page")
        expect(page).to_have_title(f"{name} · riverrun")


def test_who_uses_the_keyboard_is_not_lost_when_the_page_changes(
    page_at: PageAt, job_id: JobIds
) -> None:
    page = page_at(f"/jobs/{job_id('shop')}")
    tabs = page.get_by_role("navigation", name="Parts of the job")
    tabs.get_by_role("link", name="Configuration").focus()
    page.keyboard.press("Enter")

    expect(page).to_have_title("Configuration · riverrun")
    expect(page.get_by_role("main")).to_be_focused()
    page.go_back()
    expect(page).to_have_title("Job · riverrun")


def test_colours_are_as_the_system_has_them_until_somebody_chooses(page: Page, home: str) -> None:
    page.emulate_media(color_scheme="dark")
    page.goto(home)
    colours = page.get_by_role("button", name="colours, change")
    expect(colours).to_have_accessible_name("system colours, change")
    dark = text_colour(page)
    page.emulate_media(color_scheme="light")
    light = text_colour(page)
    assert dark != light

    colours.click()
    expect(colours).to_have_accessible_name("light colours, change")
    colours.click()
    expect(colours).to_have_accessible_name("dark colours, change")
    assert text_colour(page) == dark
    page.reload()
    expect(colours).to_have_accessible_name("dark colours, change")
    assert text_colour(page) == dark

    colours.click()
    expect(colours).to_have_accessible_name("system colours, change")
    assert text_colour(page) == light


def test_addresses_that_lead_nowhere_say_so(page_at: PageAt, allow_errors: AllowErrors) -> None:
    allow_errors("404")
    page = page_at("/no/such/page")
    expect(page.get_by_text("There is no page at this address")).to_be_visible()

    page_at(f"/jobs/{GONE}/checkpoints")
    expect(page.get_by_text(f"This JobManager does not know the job {GONE}")).to_be_visible()
    page.get_by_role("main").get_by_role("link", name="All jobs").click()
    expect(page).to_have_title("Jobs · riverrun")


def test_an_outage_is_told_with_its_length_and_ends_by_itself(
    page: Page, allow_errors: AllowErrors, screenshot: Screenshot, tmp_path: Path
) -> None:
    allow_errors(r"ERR_CONNECTION|ERR_EMPTY_RESPONSE|404|another server: http://127\.0\.0\.1:")
    first = JobManager(tmp_path / "first", "local[1]")
    page.goto(f"{first.url}/#/jobs/{GONE}")
    unknown = page.get_by_text(f"This JobManager does not know the job {GONE}")
    expect(unknown).to_be_visible()
    page.evaluate("window.notReloaded = true")
    expect(page.get_by_text(AWAY)).to_have_count(0)

    first.kill()
    outage = page.get_by_role("alert").filter(has_text=AWAY)
    expect(outage).to_contain_text(re.compile(r"has not answered for \d+(\.\d)? s"))
    screenshot("frame-outage")

    again = JobManager(tmp_path / "again", "local[1]", port=first.port)
    expect(outage).to_have_count(0)
    expect(unknown).to_be_visible()
    assert page.evaluate("window.notReloaded")
    again.end()


def test_what_one_request_does_not_get_is_told_in_its_place(
    page_at: PageAt, job_id: JobIds, allow_errors: AllowErrors
) -> None:
    allow_errors("500")
    job = job_id("shop")
    page = page_at(f"/jobs/{job}")
    heading = page.get_by_role("heading", name="shop", level=1)
    main = page.get_by_role("main")
    expect(heading).to_be_visible()

    def fail(route: Route) -> None:
        route.fulfill(status=500, json={"errors": ["the disk is full"]})

    def break_off(route: Route) -> None:
        route.fulfill(content_type="application/json", body='{"jid": "')

    for answer, words in ((fail, "the disk is full"), (break_off, "expected JSON, found")):
        page.route(re.compile(f"/jobs/{job}$"), answer)
        # What was known stays, with its age.
        expect(main).to_contain_text(re.compile(rf"Shown as of .* ago: {words}"))
        expect(heading).to_be_visible()
        expect(page.get_by_text(AWAY)).to_have_count(0)

        page.unroute_all()
        expect(main).not_to_contain_text(words)


def test_an_answer_that_is_slow_is_awaited_in_words(page_at: PageAt, job_id: JobIds) -> None:
    job = job_id("shop")
    slow = True

    def answer(route: Route) -> None:
        if not slow:
            route.continue_()

    page = page_at("/")
    page.route(re.compile(f"/jobs/{job}$"), answer)
    page_at(f"/jobs/{job}")
    expect(page.get_by_text("Asking for the job …")).to_be_visible()
    late = page.get_by_text("Cannot show the job: no answer within 10 s")
    expect(late).to_be_visible()

    slow = False
    expect(page.get_by_role("heading", name="shop", level=1)).to_be_visible()
    expect(late).to_have_count(0)
    expect(page.get_by_text(AWAY)).to_have_count(0)


def test_a_token_is_asked_for_and_kept_for_the_tab(
    page: Page, allow_errors: AllowErrors, tmp_path: Path
) -> None:
    allow_errors(r"401|another server: http://127\.0\.0\.1:")
    secured = JobManager(tmp_path / "secured", "local[1]", riverrun__rest__token="s3cret")
    page.goto(secured.url)
    page.get_by_label("This JobManager asks for a token").fill("wrong")
    page.get_by_role("button", name="Use it").click()
    field = page.get_by_label("The token was not accepted")

    field.fill("s3cret")
    field.press("Enter")
    expect(page.get_by_text(re.compile(r"riverrun \d"))).to_be_visible()
    expect(field).to_have_count(0)
    page.reload()
    expect(page.get_by_text(re.compile(r"riverrun \d"))).to_be_visible()
    expect(page.locator("input[type=password]")).to_have_count(0)
    secured.end()
