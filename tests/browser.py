"""A browser for tests of pages, where there is one; the reason to skip where there is none."""

import os
import shutil
from contextlib import contextmanager

import pytest

WIDTHS = (1200, 380)
SCHEMES = ("light", "dark")


@contextmanager
def chromium(*more):
    """Headless Chromium, by playwright, with more of its options; skips where either is missing."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    found = os.environ.get("DPFDA_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("needs Chromium: put it on the path, or name it in DPFDA_CHROMIUM")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=found, args=["--no-sandbox", *more])
        try:
            yield browser
        finally:
            browser.close()


def faults(page):
    """What an accessibility checker finds."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe")
    return [(found["id"], found["help"]) for found in axe.Axe().run(page).response["violations"]]
