"""The report and the comparison as a browser shows them: headless Chromium, and no network."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect, sync_playwright

from testbed.report.html.page import write_comparison, write_report
from tests.report.html.made_run import (
    INTERVAL_PS,
    made_flows_run,
    made_packet_run,
    made_run,
    made_trace_run,
    summary_of,
)

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


def moved(page: Page, from_ps: int) -> set[float]:
    """Wait until the cursor is elsewhere; return where. (The page's policy forbids what `wait_for_function` does.)"""
    expect(page.locator("#gantt .hair")).not_to_have_attribute("data-time", str(from_ps))
    return times(page)


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
    assert page.locator(".hair").count() == 4
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


@pytest.mark.parametrize("chart", ["gantt", "queues", "rates", "when"])
def test_a_click_in_a_chart_moves_the_cursor(chart: str, page: Page, report: Path) -> None:
    opened(page, report)
    box = page.locator(f"#{chart}")
    box.evaluate("each => each.scrollIntoView({block: 'center'})")
    box.click(position={"x": 700, "y": 40})
    (found,) = times(page)
    assert found != 30 * INTERVAL_PS
    hair = page.locator(f"#{chart} .hair").evaluate("each => parseFloat(each.style.left)")
    assert hair == pytest.approx(700, abs=1)


def test_space_plays_and_pauses(page: Page, report: Path) -> None:
    opened(page, report)
    page.keyboard.press("Space")
    (found,) = moved(page, 30 * INTERVAL_PS)
    assert found > 30 * INTERVAL_PS
    assert page.get_attribute("#play", "aria-pressed") == "true"
    page.keyboard.press("Space")
    assert page.get_attribute("#play", "aria-pressed") == "false"


def test_every_chart_over_time_has_the_cursor_and_one_left_edge(page: Page, report: Path) -> None:
    """The one that has none, time lost by rank, is over lengths of time, not over the run."""
    opened(page, report)
    placed = page.eval_on_selector_all(
        ".plot", "all => all.map(each => [each.id, each.querySelector('.hair') !== null])"
    )
    assert dict(placed) == {"gantt": True, "queues": True, "rates": True, "causes": False, "when": True}
    lefts = page.eval_on_selector_all(".hair", "found => found.map(each => parseFloat(each.style.left))")
    assert max(lefts) - min(lefts) < 1


def test_a_bar_of_time_lost_moves_the_cursor_to_when_that_began(page: Page, report: Path) -> None:
    opened(page, report)
    box = page.locator("#causes")
    box.evaluate("each => each.scrollIntoView({block: 'center'})")
    box.click(position={"x": 100, "y": 110})
    assert times(page) == {10 * INTERVAL_PS}
    assert page.locator("#story li.now").count() == 1
    page.keyboard.press("End")
    assert page.locator("#story li.now").count() == 0


def test_zoom_keeps_the_cursor_where_it_is(page: Page, report: Path) -> None:
    opened(page, report)
    page.click("#zoom-in")
    assert times(page) == {30 * INTERVAL_PS}
    width = page.locator("#queues").evaluate("each => each.clientWidth")
    middle = page.locator("#queues .hair").evaluate("each => parseFloat(each.style.left)")
    assert middle == pytest.approx((148 + width - 20) / 2, abs=5), "between the chart's two edges"


def test_keys_work_wherever_the_focus_is_but_in_what_needs_them(page: Page, report: Path) -> None:
    opened(page, report)
    page.focus("#play")
    page.keyboard.press("ArrowRight")
    assert times(page) == {31 * INTERVAL_PS}
    page.focus("#queues-filter")
    page.keyboard.type("leaf0 -")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Home")
    assert times(page) == {31 * INTERVAL_PS}
    page.focus("#scrub")
    page.keyboard.press("Shift+ArrowRight")
    assert times(page) == {50 * INTERVAL_PS}
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    moved(page, 0)
    page.keyboard.press("ArrowLeft")
    assert page.get_attribute("#play", "aria-pressed") == "false", "who steps does not want to play"


def test_keys_zoom(page: Page, report: Path) -> None:
    opened(page, report)
    middle = "document.querySelector('#queues .hair').style.left"
    at_first = page.evaluate(middle)
    page.keyboard.press("+")
    assert page.evaluate(middle) != at_first
    page.keyboard.press("0")
    assert page.evaluate(middle) == at_first


def test_metrics_are_one_stop_of_the_tab_key_and_arrows_choose(page: Page, report: Path) -> None:
    opened(page, report)
    radios = page.get_by_role("radio")
    assert radios.evaluate_all("all => all.map(each => each.tabIndex)") == [0, -1, -1]
    radios.first.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(":focus").text_content() == "Queue"
    assert page.locator("[aria-checked=true]").text_content() == "Queue"
    assert times(page) == {30 * INTERVAL_PS}
    page.keyboard.press("End")
    assert page.locator("[aria-checked=true]").text_content() == "Paused"


def test_every_control_is_reached_by_the_tab_key_and_shows_it(page: Page, report: Path) -> None:
    """The focus goes through all that can be operated, and is drawn around each of them."""
    opened(page, report)
    wanted = page.eval_on_selector_all(
        "button, input, select, summary", "all => all.filter(e => e.tabIndex >= 0 && e.checkVisibility()).length"
    )
    seen, outlined = 0, 0
    for _ in range(wanted + 20):
        page.keyboard.press("Tab")
        tag, style, width = page.evaluate(
            "(() => { const e = document.activeElement, s = getComputedStyle(e);"
            " return [e.tagName, s.outlineStyle, parseFloat(s.outlineWidth)]; })()"
        )
        if tag == "BODY":
            break
        seen += tag in ("BUTTON", "INPUT", "SELECT", "SUMMARY")
        outlined += tag in ("BUTTON", "INPUT", "SELECT", "SUMMARY") and style != "none" and width >= 2
    assert seen == outlined == wanted > 15


def test_what_the_charts_have_at_the_cursor_is_text_too(page: Page, report: Path) -> None:
    opened(page, report)
    assert page.text_content("#queues-now") == "At the cursor: leaf0-eth1 p3 293 KiB."
    page.keyboard.press("Home")
    assert "10 Gb/s" in (page.text_content("#rates-now") or "")
    page.keyboard.press("End")
    assert page.text_content("#rates-now") == "At the cursor: nothing."


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
    height = "each => each.clientHeight"
    assert page.locator("#gantt").evaluate(height) == 60 + 17 * 32
    assert page.input_value("#gantt-order") == "stall", "who stalled most comes first"
    assert page.text_content("#gantt-note") == "Ranks 1 to 32 of 128."
    page.focus("#gantt-from")
    page.keyboard.press("End")
    assert page.text_content("#gantt-note") == "Ranks 97 to 128 of 128."
    page.fill("#gantt-filter", "h127")
    assert page.text_content("#gantt-note") == "Ranks 1 to 1 of 1."
    assert page.locator("#gantt").evaluate(height) == 120
    assert not page.is_visible("#gantt-from")


def test_a_comparison_has_every_run(page: Page, tmp_path: Path) -> None:
    runs = [made_run(tmp_path / name, intervals=length) for name, length in (("one", 50), ("two", 80))]
    write_comparison([(run.name, run, summary_of(run)) for run in runs], tmp_path / "compare.html")
    opened(page, tmp_path / "compare.html")
    assert page.locator("#results thead th").all_text_contents() == ["", "one", "two"]
    assert "+60.0 %" in (page.text_content("#results") or "")
    assert page.locator("#multiples .hair").count() == 4
    page.keyboard.press("ArrowRight")
    assert times(page) == {INTERVAL_PS}


def first_screen(page: Page, path: Path) -> str:
    return opened(page, path).locator("header").inner_text()


def test_a_trace_has_its_results_and_bars(page: Page, tmp_path: Path) -> None:
    run = made_trace_run(tmp_path / "run")
    shown = first_screen(page, write_report(run, summary_of(run)))
    for text in ("Chakra trace of 4 ranks", "no network", "12.5\u00a0µs", "exposed, worst", "28\u00a0ns"):
        assert text.replace("\u00a0", " ") in shown.replace("\u00a0", " ")
    assert page.locator("#gantt canvas").count() == 1
    assert page.text_content("#table-trace-collectives summary") == "Collectives of traces (1)"


def test_packets_of_a_capture_have_their_results(page: Page, tmp_path: Path) -> None:
    run = made_packet_run(tmp_path / "run")
    shown = first_screen(page, write_report(run, summary_of(run)))
    for text in ("captures/a.pcap", "1.125\u00d7", "latency p99", "Not sent of captures/a.pcap: 2 ARP."):
        assert text in shown
    assert "nobody waits for them" in (page.text_content("#gantt .lacking") or "")
    assert page.text_content("#table-replay-flows summary") == "Flows of captures (1)"


def test_flows_have_their_percentiles_by_size(page: Page, tmp_path: Path) -> None:
    run = made_flows_run(tmp_path / "run")
    shown = first_screen(page, write_report(run, summary_of(run)))
    for text in (
        "background",
        "below 10 kB",
        "1 MB and more",
        "slowdown p99",
        "4.25\u00d7",
        "The 4 slowest of 20 flows",
    ):
        assert text in shown


def test_both_pages_have_the_same_controls_of_time(page: Page, report: Path, tmp_path: Path) -> None:
    """From one script, and within one frame."""
    run = made_run(tmp_path / "run")
    write_comparison([("a", run, summary_of(run))], tmp_path / "compare.html")
    found = [opened(page, path).locator("#transport").inner_html() for path in (report, tmp_path / "compare.html")]
    without_times = [re.sub(r'(?:value|max|aria-valuetext)="[^"]*"|>[^<]*</output>', "", text) for text in found]
    assert without_times[0] == without_times[1]
    assert "Zoom in around the cursor" in found[0]
