"""A real browser for the tests of pages: Chromium, driven by chromedriver."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any, NoReturn

import pytest

REQUIRED = "AXIOMS_REQUIRE_BROWSER"
AXE = "AXIOMS_AXE"
"""The file axe.min.js, or a folder that npm installed axe-core into."""
FLAGS = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync --disable-quic --hide-scrollbars"
)


def unavailable(reason: str) -> NoReturn:
    """Skip, or fail where a browser is required, as it is in CI."""
    if os.environ.get(REQUIRED):
        pytest.fail(reason)
    pytest.skip(reason)


def start_browser() -> Any:
    """Start Chromium; skip or fail where it is not installed."""
    binaries = [shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome")]
    binary, driver = next((path for path in binaries if path), None), shutil.which("chromedriver")
    if binary is None or driver is None:
        unavailable("no Chromium with its chromedriver: apt-get install chromium chromium-driver")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in FLAGS.split():
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service(driver))


def axe_source() -> str:
    """Return axe-core's script, which finds what readers with other eyes or hands cannot use."""
    named = Path(os.environ.get(AXE, "node_modules/axe-core"))
    files = [
        named,
        *(named / tail for tail in ("axe.min.js", "axe-core/axe.min.js", "node_modules/axe-core/axe.min.js")),
    ]
    file = next((path for path in files if path.is_file()), None)
    if file is None:
        unavailable(f"no axe-core: npm install --prefix FOLDER axe-core, and {AXE}=FOLDER")
    return file.read_text(encoding="utf-8")


def show(browser: Any, page: Path, *, width: int, height: int, scheme: str = "light", hash: str = "") -> None:
    """Open a page anew at a size and in a colour scheme, and wait until it is ready."""
    small = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", small)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.get("about:blank")
    browser.get(page.as_uri() + hash)
    browser.set_script_timeout(20)
    browser.execute_async_script(
        "const done = arguments[0], ready = () => document.documentElement.dataset.ready;"
        "const look = () => ready() ? done() : setTimeout(look, 10); look()"
    )
