"""The report in a real browser: nothing goes wrong, the filter filters, every figure is seen, and a phone is enough."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from axioms.record import CheckRecord
from axioms.report.write import write_report
from tests.conftest import ROOT
from tests.records import make_claim, make_error, make_run
from tests.report.browsing import axe_source, show, start_browser, unavailable

SIZES = {"desktop": (1280, 1400), "phone": (390, 844)}
SHOTS = ROOT / "reports" / "screenshots"
UNFOLD = "document.querySelectorAll('details').forEach(details => { details.open = true })"
MOST_BYTES, MOST_SECONDS = 2_000_000, 1.0


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    started = start_browser()
    yield started
    started.quit()


@pytest.fixture(params=["every kind", "default run"])
def page(request: pytest.FixtureRequest, tmp_path: Path, varied: list[CheckRecord]) -> Path:
    """A small report with every kind of verdict; and that of `pytest specs/`, where it has been run."""
    if request.param == "every kind":
        verdicts = ("shown", "contradicted", "not_shown", "not_run")
        claims = [make_claim(f"C{at}", verdict=verdict, status="open") for at, verdict in enumerate(verdicts)]
        run = make_run(*varied, status="failed", errors=[make_error()], claims=claims)
        (tmp_path / "specs").mkdir()
        (tmp_path / "specs/a.yaml").write_text("claim: one\n# two\naxiom: three\n")
        return write_report(run, tmp_path, tmp_path).page
    latest = ROOT / "reports" / "latest" / "index.html"
    if not latest.is_file():
        unavailable("there is no report of the default run yet: pytest specs/")
    return latest


@pytest.fixture(params=["desktop-light", "desktop-dark", "phone-light", "phone-dark"])
def opened(request: pytest.FixtureRequest, browser: Any, page: Path) -> Any:
    """The browser with the page, at the size of a desk or a hand, by day and by night."""
    size, scheme = request.param.split("-")
    width, height = SIZES[size]
    show(browser, page, width=width, height=height, scheme=scheme)
    if page.parent.name == "latest":
        SHOTS.mkdir(parents=True, exist_ok=True)
        browser.save_screenshot(str(SHOTS / f"report-{size}-{scheme}.png"))
    return browser


@pytest.fixture(params=list(SIZES))
def sized(request: pytest.FixtureRequest, browser: Any, page: Path) -> Any:
    """The browser with the page at both sizes, for what no colour changes."""
    width, height = SIZES[request.param]
    show(browser, page, width=width, height=height)
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


def test_it_is_light_and_quick(browser: Any, page: Path) -> None:
    assert page.stat().st_size <= MOST_BYTES
    show(browser, page, width=1280, height=1400)
    seconds = browser.execute_script(
        "return (performance.getEntriesByType('navigation')[0].loadEventEnd || performance.now()) / 1000"
    )
    assert seconds <= MOST_SECONDS


def test_nothing_goes_wrong_and_nothing_sticks_out(opened: Any) -> None:
    opened.execute_script(UNFOLD)
    wide = opened.execute_script(
        "const edge = document.documentElement.clientWidth;"
        "return [document.documentElement.scrollWidth - edge, [...document.querySelectorAll('main *, header *')]"
        ".filter(part => !part.closest('.scroll, .paper-sheet, .lines, .skip'))"
        ".filter(part => part.getBoundingClientRect().right > edge + 1)"
        ".slice(0, 3).map(part => part.outerHTML.slice(0, 200))]"
    )
    assert wide == [0, []]
    assert [line for line in opened.get_log("browser") if line["level"] in ("SEVERE", "WARNING")] == []


def test_nobody_is_kept_out(opened: Any) -> None:
    """axe-core finds no serious violation, with everything of one spec unfolded."""
    opened.execute_script(axe_source())
    opened.execute_script(
        "document.querySelectorAll('details.group').forEach(group => { group.open = true });"
        "[document.querySelector('details.spec'), document.querySelector('details.source')]"
        ".forEach(part => { if (part) part.open = true })"
    )
    opened.set_script_timeout(120)
    violations = opened.execute_async_script(
        "const done = arguments[0]; axe.run(document, {resultTypes: ['violations']}).then(found => done("
        "found.violations.filter(rule => ['serious', 'critical'].includes(rule.impact))"
        ".map(rule => [rule.id, rule.nodes.length, rule.nodes[0].html.slice(0, 200), rule.nodes[0].failureSummary])))"
    )
    assert violations == []


def test_every_figure_is_seen(sized: Any) -> None:
    sized.execute_script(UNFOLD)
    shown = sized.execute_async_script(
        "const done = arguments[0];"
        "setTimeout(() => { const pictures = [...document.images];"
        "pictures.forEach(picture => { picture.loading = 'eager' });"
        "Promise.all(pictures.map(picture => picture.decode())).then(() => done(pictures.map(picture => ({"
        "natural: picture.naturalWidth, width: picture.getBoundingClientRect().width, alt: picture.alt}))))}, 50)"
    )
    assert shown
    assert all(picture["natural"] > 50 and picture["width"] > 50 and picture["alt"] for picture in shown)


def test_the_filter_filters_and_is_in_the_address(sized: Any, page: Path) -> None:
    choose(sized, "search", "yaml")
    every = visible_rows(sized)
    assert every
    choose(sized, "search", "")
    for control in ("method", "axiom", "kind"):
        wanted = every[-1][control]
        choose(sized, control, wanted)
        fitting = [row for row in every if wanted in (row[control], row["base"] if control == "method" else None)]
        assert visible_rows(sized) == fitting
        said = sized.find_element("id", "matches").text
        assert said.startswith(f"{len(fitting):,} of {len(every):,} checks")
        address = sized.current_url
        assert f"#?{control}=" in address
        show(sized, page, width=1280, height=1400, hash=address.partition("index.html")[2])
        assert visible_rows(sized) == fitting, "the address brings it back"
        sized.find_element("id", "reset").click()
        assert visible_rows(sized) == every
        assert "#?" not in sized.current_url
    choose(sized, "search", "no check says this")
    assert visible_rows(sized) == []


def test_a_cell_of_the_matrix_leads_to_its_checks(sized: Any) -> None:
    cell = sized.find_element("css selector", "#matrix td button")
    method, axiom = cell.get_attribute("data-method"), cell.get_attribute("data-axiom")
    sized.execute_script("arguments[0].click()", cell)
    rows = visible_rows(sized)
    assert rows
    assert all(row["axiom"] == axiom and method in (row["method"], row["base"]) for row in rows)


def test_a_line_of_a_spec_is_unfolded_where_it_is_linked(sized: Any) -> None:
    sized.execute_script("document.querySelectorAll('details.spec').forEach(spec => { spec.open = true })")
    link = sized.execute_async_script("setTimeout(() => arguments[0](document.querySelector('.checks td a')), 100)")
    name = link.get_attribute("href").partition("#")[2]
    sized.execute_script("arguments[0].click()", link)
    lines = sized.execute_async_script(
        "setTimeout(() => { const line = document.getElementById(arguments[0]);"
        "arguments[1]([line.closest('details').open, line.classList.contains('target')]) }, 100)",
        name,
    )
    assert lines == [True, True]


def test_a_word_leads_to_its_meaning(sized: Any) -> None:
    link = sized.find_element("css selector", "a.term")
    name = link.get_attribute("href").partition("#")[2]
    sized.execute_script("arguments[0].click()", link)
    assert sized.execute_script("return document.getElementById(arguments[0]).nextElementSibling.textContent", name)


def test_keys_reach_everything(sized: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    sized.execute_script(UNFOLD)
    names = sized.execute_script(
        "const named = part => part.labels?.length || part.getAttribute('aria-label') || part.textContent.trim();"
        "return [...document.querySelectorAll('input, select, button, summary, a')]"
        ".filter(part => part.tabIndex < 0 || !named(part)).map(part => part.outerHTML)"
    )
    assert names == []
    group = sized.find_element("css selector", "details.group > summary")
    group.send_keys(Keys.ENTER)
    assert not sized.execute_script("return document.querySelector('details.group').open")
    button = sized.find_element("css selector", "#matrix td button")
    button.send_keys(Keys.ENTER)
    assert visible_rows(sized)
