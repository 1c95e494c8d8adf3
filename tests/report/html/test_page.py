"""The report and the comparison as a browser shows them: headless Chromium, and no network."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, sync_playwright

from testbed.report.html.page import write_comparison, write_report
from tests.report.html.made_run import INTERVAL_PS, made_run, summary_of

NAMES = ("chromium", "chromium-browser", "google-chrome")
INJECTED = "</script><img src=x onerror=\"document.title='broken'\"> & <b>bold</b>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = next((path for path in map(shutil.which, NAMES) if path), None)
    assert found, f"these tests need a browser: one of {', '.join(NAMES)}"
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that may load files, and nothing else; whatever it complains of fails the test."""
    page = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light")
    complaints: list[str] = []

    def refuse(route: Route) -> None:
        if route.request.url.startswith("file:") and route.request.url.endswith(".html"):
            route.continue_()
        else:
            complaints.append(f"asked for {route.request.url}")
            route.abort()

    page.route("**/*", refuse)
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    page.close()
    assert complaints == []


def opened(page: Page, path: Path) -> Page:
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]", state="attached")
    return page


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = made_run(tmp_path_factory.mktemp("small") / "run", title=INJECTED)
    return write_report(run, summary_of(run))


def times(page: Page) -> set[float]:
    """The model times at which the cursor stands in the charts."""
    return {float(text) for text in page.eval_on_selector_all(".hair", "found => found.map(each => each.dataset.time)")}


def colours(page: Page) -> list[str]:
    return page.eval_on_selector_all("#fabric path", "found => found.map(each => each.getAttribute('stroke'))")


def test_a_title_is_text(page: Page, report: Path) -> None:
    opened(page, report)
    assert page.text_content("h1") == INJECTED
    assert page.title() == f"{INJECTED} - rocelab"
    assert page.locator("main img, main b").count() == 0


def test_the_first_screen_answers(page: Page, report: Path) -> None:
    opened(page, report)
    assert "took 50\u00a0µs" in (page.text_content("#answer") or "")
    assert page.locator("#results tbody tr").count() == 1
    box = page.locator("#results").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] < 900


def test_the_cursor_begins_at_the_deepest_queue_and_keys_move_it_everywhere(page: Page, report: Path) -> None:
    opened(page, report)
    assert page.locator(".hair").count() == 3
    assert times(page) == {30 * INTERVAL_PS}
    page.keyboard.press("ArrowRight")
    assert times(page) == {31 * INTERVAL_PS}
    page.keyboard.press("End")
    assert times(page) == {50 * INTERVAL_PS}
    page.keyboard.press("Home")
    assert times(page) == {0}
    assert page.locator("output.now").all_text_contents() == ["0.000 µs"] * 2


def test_the_picture_follows_the_cursor(page: Page, report: Path) -> None:
    opened(page, report)
    page.get_by_role("radio", name="Queue").click()
    at_peak = colours(page)
    page.locator("#scrub").fill("45")
    assert times(page) == {45 * INTERVAL_PS}
    assert colours(page) != at_peak
    assert "leaf0-eth1" not in (page.text_content("#busiest") or "")


@pytest.mark.parametrize("chart", ["gantt", "queues", "rates"])
def test_a_click_in_a_chart_moves_the_cursor(chart: str, page: Page, report: Path) -> None:
    opened(page, report)
    box = page.locator(f"#{chart}")
    box.evaluate("each => each.scrollIntoView({block: 'center'})")
    box.click(position={"x": 700, "y": 70})
    (found,) = times(page)
    assert found != 30 * INTERVAL_PS
    hair = page.locator(f"#{chart} .hair").evaluate("each => parseFloat(each.style.left)")
    assert hair == pytest.approx(700, abs=1)


def test_space_plays_and_pauses(page: Page, report: Path) -> None:
    opened(page, report)
    page.keyboard.press("Space")
    page.wait_for_function(f"document.querySelector('.hair').dataset.time > {30 * INTERVAL_PS}")
    assert page.get_attribute("#play", "aria-pressed") == "true"
    page.keyboard.press("Space")
    assert page.get_attribute("#play", "aria-pressed") == "false"


def test_zoom_keeps_the_cursor_where_it_is(page: Page, report: Path) -> None:
    opened(page, report)
    page.click("#zoom-in")
    assert times(page) == {30 * INTERVAL_PS}
    width = page.locator("#queues").evaluate("each => each.clientWidth")
    assert page.locator("#queues .hair").evaluate("each => parseFloat(each.style.left)") == pytest.approx(
        width / 2, rel=0.1
    )


def test_a_table_sorts_both_ways(page: Page, report: Path) -> None:
    opened(page, report)
    page.click("#table-ports summary")
    cells = page.locator("#table-ports tbody td:last-child")
    button = page.locator("#table-ports th button", has_text="sent")
    in_order = cells.all_text_contents()
    button.click()
    assert page.locator("#table-ports th[aria-sort=descending]").text_content() == "sent"
    assert cells.first.text_content() == in_order[-1] != in_order[0]
    button.click()
    assert cells.all_text_contents() == in_order


def test_the_story_moves_the_cursor(page: Page, report: Path) -> None:
    opened(page, report)
    assert "Behind <i>others</i>." in (page.text_content("#story") or "")
    page.locator("#story button").click()
    assert times(page) == {10 * INTERVAL_PS}


def test_dark_is_the_systems_choice_until_the_button_is_pressed(page: Page, report: Path) -> None:
    opened(page, report)
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.emulate_media(color_scheme="dark")
    page.wait_for_selector("html[data-theme=dark]")
    assert page.evaluate(background) != light
    page.click("#theme")
    assert page.evaluate(background) == light


def test_nothing_is_wider_than_a_narrow_screen(page: Page, report: Path) -> None:
    page.set_viewport_size({"width": 400, "height": 800})
    opened(page, report)
    assert page.evaluate("document.documentElement.scrollWidth") == 400


def test_it_prints(page: Page, report: Path) -> None:
    opened(page, report)
    assert len(page.pdf()) > 20_000
    page.emulate_media(media="print")
    assert not page.is_visible("#transport")


def test_what_was_not_recorded_is_said(page: Page, tmp_path: Path) -> None:
    run = made_run(tmp_path / "run")
    for name in ("series.parquet", "events.parquet", "waits.parquet", "messages.parquet", "explanation.json"):
        (run / name).unlink()
    opened(page, write_report(run, summary_of(run)))
    said = page.locator(".lacking").all_text_contents()
    assert len(said) == 5
    assert all("measure: {" in text for text in said)


def test_a_large_run_stays_small_enough_to_use(page: Page, tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", leaves=8, hosts_per_leaf=16, intervals=500)
    path = write_report(run, summary_of(run))
    assert path.stat().st_size < 5_000_000
    opened(page, path)
    assert page.locator("*").count() < 6_000
    assert (page.text_content("#queues-note") or "").startswith("12 of 288 queues")
    page.fill("#queues-filter", "leaf7-")
    assert (page.text_content("#queues-note") or "").startswith("12 of 288 queues")
    page.fill("#gantt-filter", "h127")
    assert page.locator("#gantt").evaluate("each => each.clientHeight") == 120


def test_a_comparison_has_every_run(page: Page, tmp_path: Path) -> None:
    runs = [made_run(tmp_path / name, intervals=length) for name, length in (("one", 50), ("two", 80))]
    write_comparison([(run.name, run, summary_of(run)) for run in runs], tmp_path / "compare.html")
    opened(page, tmp_path / "compare.html")
    assert page.locator("#results thead th").all_text_contents() == ["", "one", "two"]
    assert "+60.0 %" in (page.text_content("#results") or "")
    assert page.locator("#multiples .hair").count() == 4
    page.keyboard.press("ArrowRight")
    assert times(page) == {INTERVAL_PS}
