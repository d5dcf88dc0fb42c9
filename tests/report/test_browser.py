"""The report in a real browser: nothing goes wrong, the filter filters, every figure is seen, and a phone is enough."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from axioms.record import CheckRecord
from axioms.report.write import write_report
from tests.conftest import ROOT
from tests.records import make_run

REQUIRED = "AXIOMS_REQUIRE_BROWSER"
SIZES = {"desktop": (1280, 1400), "phone": (390, 844)}
FLAGS = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync --disable-quic --hide-scrollbars"
)
SHOTS = ROOT / "reports" / "screenshots"


def unavailable(reason: str) -> None:
    """Skip, or fail where a browser is required, as it is in CI."""
    if os.environ.get(REQUIRED):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    binaries = [shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome")]
    binary, driver = next((each for each in binaries if each), None), shutil.which("chromedriver")
    if binary is None or driver is None:
        unavailable("no Chromium with its chromedriver: apt-get install chromium chromium-driver")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(binary)
    for flag in FLAGS.split():
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(driver))
    yield started
    started.quit()


@pytest.fixture(params=["every kind", "default run"])
def page(request: pytest.FixtureRequest, tmp_path: Path, varied: list[CheckRecord]) -> Path:
    """A small report with every kind of verdict; and that of `pytest specs/`, where it has been run."""
    if request.param == "every kind":
        return write_report(make_run(*varied, status="failed"), tmp_path, tmp_path).page
    latest = ROOT / "reports" / "latest" / "index.html"
    if not latest.is_file():
        unavailable("there is no report of the default run yet: pytest specs/")
    return latest


@pytest.fixture(params=list(SIZES))
def opened(request: pytest.FixtureRequest, browser: Any, page: Path) -> Any:
    """The browser with the page, at the size of a desk or a hand."""
    width, height = SIZES[request.param]
    small = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": request.param == "phone"}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", small)
    browser.get(page.as_uri())
    if page.parent.name == "latest":
        SHOTS.mkdir(parents=True, exist_ok=True)
        browser.save_screenshot(str(SHOTS / f"report-{request.param}.png"))
    return browser


def visible_rows(browser: Any) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = browser.execute_script(
        "return [...document.querySelectorAll('.checks tbody tr')].filter(row => !row.hidden)"
        ".map(row => ({...row.dataset}))"
    )
    return rows


def choose(browser: Any, control: str, value: str) -> None:
    browser.execute_script(
        "const field = document.getElementById(arguments[0]); field.value = arguments[1];"
        "field.dispatchEvent(new Event('input', {bubbles: true}))",
        control,
        value,
    )


def test_nothing_goes_wrong_and_nothing_sticks_out(opened: Any) -> None:
    opened.execute_script("document.querySelectorAll('details').forEach(each => { each.open = true })")
    wide = opened.execute_script(
        "const edge = document.documentElement.clientWidth;"
        "return [document.documentElement.scrollWidth - edge, [...document.querySelectorAll('main *')]"
        ".filter(each => !each.closest('.scroll, .paper-sheet, .source ol'))"
        ".filter(each => each.getBoundingClientRect().right > edge + 1)"
        ".slice(0, 3).map(each => each.outerHTML.slice(0, 200))]"
    )
    assert wide == [0, []]
    assert [line for line in opened.get_log("browser") if line["level"] in ("SEVERE", "WARNING")] == []


def test_every_figure_is_seen(opened: Any) -> None:
    opened.execute_script("document.querySelectorAll('details').forEach(each => { each.open = true })")
    shown = opened.execute_async_script(
        "const done = arguments[0], pictures = [...document.images];"
        "pictures.forEach(each => { each.loading = 'eager' });"
        "Promise.all(pictures.map(each => each.decode())).then(() => done(pictures.map(each => ({"
        "natural: each.naturalWidth, width: each.getBoundingClientRect().width, alt: each.alt}))))"
    )
    assert shown
    assert all(each["natural"] > 50 and each["width"] > 50 and each["alt"] for each in shown)


def test_the_filter_filters(opened: Any) -> None:
    every = visible_rows(opened)
    assert every
    for control, key in (("method", "method"), ("axiom", "axiom"), ("kind", "kind")):
        wanted = every[-1][key]
        choose(opened, control, wanted)
        assert visible_rows(opened) == [row for row in every if row[key] == wanted]
        said = opened.find_element("id", "found").text
        assert said.startswith(f"{len(visible_rows(opened)):,} of {len(every):,} checks")
        opened.find_element("id", "reset").click()
        assert visible_rows(opened) == every
    choose(opened, "search", "no check says this")
    assert visible_rows(opened) == []


def test_a_cell_of_the_matrix_leads_to_its_checks(opened: Any) -> None:
    every = visible_rows(opened)
    cell = opened.find_element("css selector", "#matrix button")
    method, axiom = cell.get_attribute("data-method"), cell.get_attribute("data-axiom")
    opened.execute_script("arguments[0].click()", cell)
    assert visible_rows(opened) == [row for row in every if (row["method"], row["axiom"]) == (method, axiom)]


def test_a_line_of_a_spec_is_unfolded_where_it_is_linked(opened: Any) -> None:
    if not opened.find_elements("css selector", ".source"):
        return  # the small report has no specs beside it
    link = opened.find_element("css selector", ".checks td a")
    opened.execute_script("arguments[0].click()", link)
    target = opened.execute_script("return document.querySelector(':target').closest('details').open")
    assert target


def test_keys_reach_everything(opened: Any) -> None:
    names = opened.execute_script(
        "const named = each => each.labels?.length || each.getAttribute('aria-label') || each.textContent.trim();"
        "return [...document.querySelectorAll('input, select, button')]"
        ".filter(each => each.tabIndex < 0 || !named(each)).map(each => each.outerHTML)"
    )
    assert names == []
