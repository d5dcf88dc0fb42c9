"""The site in a real browser: every page loads without an error, fits a phone, and its search works from disk."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.report.browsing import start_browser

pytestmark = [
    pytest.mark.docs_slow,
    pytest.mark.skipif("not config.getoption('-m')", reason="builds the site: .ci/run runs it by -m docs_slow"),
]
SIZES = {"desktop": (1280, 1400), "phone": (390, 844)}
SHOTS = ROOT / "reports" / "screenshots"
SHOWN = ("index", "tutorials/first_spec", "reference/axioms", "results/index", "explanation/engine")
"""Pages whose pictures are kept, one of each kind."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True)
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    started = start_browser()
    yield started
    started.quit()


def open_page(browser: Any, page: Path, size: str, scheme: str) -> None:
    """Open a page at a size and in a colour scheme; the browser has loaded it when this returns."""
    width, height = SIZES[size]
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == "phone"}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.get("about:blank")
    browser.get(page.as_uri())


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_no_page_has_an_error_or_sticks_out(site: Path, browser: Any, size: str, scheme: str) -> None:
    pages = sorted(page for page in site.rglob("*.html") if page.name != "404.html")
    assert len(pages) > 40
    problems: dict[str, Any] = {}
    for page in pages:
        name = page.relative_to(site).with_suffix("").as_posix()
        open_page(browser, page, size, scheme)
        said = [line["message"] for line in browser.get_log("browser") if line["level"] in ("SEVERE", "WARNING")]
        wide = browser.execute_script(
            "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        palette = browser.execute_script("return document.body.dataset.mdColorScheme")
        if said or wide > 0 or palette != {"light": "default", "dark": "slate"}[scheme]:
            problems[name] = (said, wide, palette)
        if name in SHOWN:
            SHOTS.mkdir(parents=True, exist_ok=True)
            browser.save_screenshot(str(SHOTS / f"site-{name.replace('/', '-')}-{size}-{scheme}.png"))
    assert problems == {}


def test_search_works_from_disk(site: Path, browser: Any) -> None:
    open_page(browser, site / "index.html", "desktop", "light")
    field = browser.find_element("css selector", ".md-search__input")
    browser.execute_script("document.querySelector('#__search').click()")
    field.send_keys("leave-one-out")
    browser.set_script_timeout(20)
    results = browser.execute_async_script(
        "const done = arguments[0];"
        "const look = () => { const links = [...document.querySelectorAll('.md-search-result__link')];"
        "links.length ? done(links.map(link => link.href)) : setTimeout(look, 50) }; look()"
    )
    assert any("leave_one_out.html" in link for link in results), results
