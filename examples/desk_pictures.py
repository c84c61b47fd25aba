"""Walk through the desk in a browser and take the pictures of its page.

Run with: python examples/desk_pictures.py FOLDER
Needs the extras dpfda[desk] and dpfda[browser], and Chromium on the path or in DPFDA_CHROMIUM.
"""

import io
import os
import shutil
import sys
import tempfile
import threading
from pathlib import Path

import matplotlib as mpl
import numpy as np
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from dpfda.front.desk.asking import UNITS
from dpfda.front.desk.server import serve

SIZE = {"width": 900, "height": 640}


def trial(path: Path) -> None:
    """A made-up trial: 600 patients, two arms, followed for up to ten years."""
    random = np.random.default_rng(2026)
    arm = random.integers(0, 2, 600)
    event, end = random.exponential(np.where(arm == 1, 9.0, 5.0)), random.uniform(2, 10, 600)
    rows = [
        f"{100 + i},{min(event[i], end[i]):.2f},{int(event[i] <= end[i])},{('usual', 'new')[arm[i]]}"
        for i in range(600)
    ]
    path.write_text("\n".join(["patient,years,died,arm", *rows]) + "\n", encoding="utf-8")


def walk(page: Page, link: str, out: Path) -> None:
    """Every step, with a picture of each."""

    def keep(name: str, whole: bool = False) -> None:
        taken = Image.open(io.BytesIO(page.screenshot(full_page=whole)))
        taken.convert("P", palette=Image.Palette.ADAPTIVE, colors=64).save(
            out / f"desk_{name}.png", optimize=True
        )

    page.set_default_timeout(120_000)
    page.goto(link)
    page.fill("#path", "trial.csv")
    page.check("[name=public]")
    keep("1_file")
    page.click("button.main")
    page.wait_for_url("**/protect")
    for name, text in {"groups": "patient", "dataset": "trial-2026", "budget": "1"}.items():
        page.fill(f"#{name}", text)
    keep("2_protect", whole=True)
    page.click("button.main")
    page.wait_for_url("**/ask")
    keep("3_ask")
    page.click("a[href$='/ask/survival']")
    answers = {"epsilon": "0.5", "time": "years", "event": "died", "by.0": "arm", "by.1": "usual,new"}
    for name, text in answers.items():
        page.fill(f'[name="{name}"]', text)
    first, last = page.locator("[name=domain]").all()
    first.fill("0")
    last.fill("1o")
    page.locator("#shown .refused").wait_for()
    keep("4_form", whole=True)
    last.fill("10")
    page.click("button.main")
    page.wait_for_url("**/plan")
    page.fill(f"#{UNITS}", "600")
    with page.expect_response(lambda answer: "/plan?live" in answer.url):
        page.keyboard.press("Tab")
    page.locator("#shown:not([aria-busy])").wait_for()
    keep("5_plan")
    page.click("button.main")
    page.wait_for_url("**/try")
    keep("6_try")
    page.click("button.cost")
    page.wait_for_url("**/read/**")
    keep("7_read")
    # The account, the last step but one.
    page.locator("nav a").nth(-2).click()
    page.get_by_role("heading", name="trial-2026").wait_for()
    keep("8_account")


def main(out: Path) -> None:
    """Serve a desk in a folder that is thrown away, and walk through it."""
    mpl.use("Agg")
    browser = os.environ.get("DPFDA_CHROMIUM") or shutil.which("chromium")
    # A folder of a plain name, since pages show it; it must be new.
    folder = Path(tempfile.gettempdir()) / "trial"
    folder.mkdir()
    try:
        os.chdir(folder)
        trial(folder / "trial.csv")
        server, desk, link = serve(folder)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with sync_playwright() as started:
            page = started.chromium.launch(
                executable_path=browser, args=["--no-sandbox"]
            ).new_page(viewport=SIZE)  # fmt: skip
            walk(page, link, out)
        server.shutdown()
        server.server_close()
        desk.uploads.close()
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
