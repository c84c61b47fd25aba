"""The desk in a real browser: by keyboard alone, on a phone, in the dark, beside an attacker's page."""

import threading

import matplotlib as mpl
import numpy as np
import pytest

from browser import SCHEMES, WIDTHS, chromium, faults
from desks import DENSITY, STEPS, spent, write
from dpfda import Ledger, load
from dpfda.front.desk.server import serve

mpl.use("Agg")
# What comes out is tested; elsewhere, how exact the bands in it are.
pytestmark = pytest.mark.usefixtures("few_draws")

# Milliseconds that a page may take on a machine that is busy.
PATIENCE = 120_000


@pytest.fixture
def folder(desk_folder):
    return desk_folder


def to(page, name):
    """Go by the Tab key to the element with a name that is read out."""
    for _ in range(80):
        page.keyboard.press("Tab")
        found = page.evaluate(
            "(document.activeElement.labels?.[0] ?? document.activeElement).textContent.trim()"
        )
        if found.startswith(name):
            return
    raise AssertionError(f"no {name} that the Tab key reaches")


@pytest.fixture
def address(folder):
    server, desk, link = serve(folder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield link
    server.shutdown()
    server.server_close()
    desk.publications.join()
    desk.uploads.close()


def test_by_the_keyboard_alone(folder, address):
    with chromium() as browser:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(address)
        page.wait_for_selector("#path")
        to(page, "A file that lies on this machine")
        page.keyboard.insert_text("people.csv")
        page.keyboard.press("Enter")
        page.wait_for_url("**/protect")
        to(page, "Groups")
        page.keyboard.insert_text("person")
        to(page, "Dataset")
        page.keyboard.insert_text("people")
        to(page, "Budget of a new data set")
        page.keyboard.insert_text("2")
        page.keyboard.press("Enter")
        page.wait_for_url("**/ask")
        to(page, "survival")
        page.keyboard.press("Enter")
        page.wait_for_url("**/ask/survival")
        answers = {"Epsilon": "0.5", "first": "0", "last": "1o", "Time": "years", "Event": "died"}
        for name, text in {**answers, "column": "arm", "labels": "a,b"}.items():
            to(page, name)
            page.keyboard.insert_text(text)
        # What is wrong is said while one types, and at its field.
        page.locator("#shown .refused", has_text="--domain must be two numbers").wait_for()
        assert page.locator("[name=domain]").last.get_attribute("aria-invalid") == "true"
        page.locator("[name=domain]").last.focus()
        page.keyboard.press("ControlOrMeta+a")
        page.keyboard.insert_text("10")
        page.locator("#shown .fine").wait_for()
        page.keyboard.press("Enter")
        page.wait_for_url("**/plan")
        to(page, "Epsilon")
        page.keyboard.press("Tab")
        with page.expect_response(lambda answer: "/plan/shown" in answer.url):
            page.keyboard.press("PageDown")
        assert page.input_value("#epsilon") != "0.5"
        to(page, "Take this epsilon")
        page.keyboard.press("Enter")
        page.wait_for_url("**/try")
        to(page, "Publish, and charge")
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")
        page.wait_for_selector("a[href$='/report.html']")
        assert len(Ledger(folder / "budget.ledger").releases("people")) == 1


def test_narrow_and_wide_light_and_dark(folder, address):
    with chromium() as browser:
        context = browser.new_context()
        page, asked, told = context.new_page(), [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: told.append(str(error)))
        page.on("console", lambda message: told.append(message.text))
        page.set_default_timeout(PATIENCE)
        page.goto(address)
        page.wait_for_selector("#path")
        place = page.url.rstrip("/")
        page.set_input_files("#upload", folder / "people.csv")
        page.check("[name=public]")
        page.click("button.main")
        page.fill("#dataset", "people")
        page.fill("#budget", "2")
        page.click("button.main")
        page.wait_for_url("**/ask")
        page.goto(place + "/ask/quantiles")
        for name, value in DENSITY.items():
            page.locator(f'[name="{name}"]').first.fill(value)
        page.click("button.main")
        page.wait_for_url("**/plan")
        page.goto(place + "/try")
        page.dblclick("button.cost")
        # The second press breaks the first one's way off, which is no fault here.
        page.wait_for_selector("a[href$='/report.html']")
        assert "/read/age" in page.url
        assert len(Ledger(folder / "budget.ledger").releases("people")) == 1
        forms = ("/ask/mean", "/ask/effects", "/ask/quantiles", "/read/age")
        for width, scheme in zip(WIDTHS, SCHEMES, strict=True):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            for step in (*STEPS, *forms):
                page.goto(place + step)
                page.evaluate("document.querySelectorAll('details').forEach((each) => each.open = true)")
                if step == "/plan":
                    # The example, the errors and the trade-off, which are drawn when they are opened.
                    page.locator("#shown figure").nth(2).wait_for()
                assert faults(page) == [], step
                assert page.evaluate("document.documentElement.scrollWidth") <= width, step
        assert all(url.startswith(address.partition("/open")[0]) or url == "data:," for url in asked)
        assert [text for text in told if "422" not in text] == []


def hospital():
    """Glucose by the hour as a European table has it: decimal commas, and cells that are missing."""
    hours = 110 + 40 * np.sin(np.linspace(0, 6, 24)) + 3 * np.arange(40)[:, None] / 4
    cells = [[f"{value:.1f}".replace(".", ",") for value in day] for day in hours]
    rows = [
        ["k.A." if (i + k) % 29 == 0 else x for k, x in enumerate(day)] for i, day in enumerate(cells)
    ]
    return [
        "patient;" + ";".join(map(str, range(24))),
        *(f"p{i};{';'.join(x)}" for i, x in enumerate(rows)),
    ]


def tariffs():
    """Loads of homes on two tariffs, by the hour."""
    loads = 1 + np.sin(np.linspace(0, 6, 24)) + np.arange(60)[:, None] / 60
    rows = [f"h{i},{'AB'[i % 2]}," + ",".join(f"{x:.2f}" for x in day) for i, day in enumerate(loads)]
    return ["home,tariff," + ",".join(f"kW_{hour}" for hour in range(24)), *rows]


PERSONAS = {
    "hospital": (hospital, ",", "patient", "mean", ("40", "400"),
                 {"na": "k.A.", "missing": "complete", "y-label": "glucose (mg/dl)"}),
    "tariffs": (tariffs, ".", "home", "compare", ("0", "4"),
                {"columns": "kW_*", "by.0": "tariff", "by.1": "A,B", "grid": "0:23:1"}),
}  # fmt: skip


@pytest.mark.parametrize("persona", PERSONAS)
def test_the_whole_way_with_a_wrong_answer_at_each_step(folder, address, persona):
    rows, decimal, unit, verb, bounds, answers = PERSONAS[persona]
    write(folder / "table.csv", rows())
    with chromium() as browser:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(address)
        page.wait_for_selector("#path")
        page.click("button.main")
        page.locator(".refused", has_text="The file must be chosen").wait_for()
        page.set_input_files("#upload", folder / "table.csv")
        page.select_option("#decimal", decimal)
        page.check("[name=public]")
        page.click("button.main")
        page.wait_for_url("**/protect")
        page.fill("#groups", unit)
        page.click("button.main")
        page.locator(".refused", has_text="--ledger and --dataset must be given").wait_for()
        page.fill("#dataset", "mine")
        page.fill("#budget", "2")
        page.click("button.main")
        page.click(f"a[href$='/ask/{verb}']")
        page.evaluate("document.querySelectorAll('details').forEach((each) => each.open = true)")
        for name, text in {"epsilon": "-1", **answers}.items():
            field = page.locator(f'[name="{name}"]').first
            if field.evaluate("(each) => each.tagName") == "SELECT":
                field.select_option(text)
            else:
                field.fill(text)
        for field, text in zip(page.locator("[name=bounds]").all(), bounds, strict=True):
            field.fill(text)
        page.locator("#shown .refused", has_text="--epsilon must be").wait_for()
        page.fill("#epsilon", "1")
        page.locator("#shown .fine").wait_for()
        page.click("button.main")
        page.wait_for_url("**/plan")
        page.fill("#units", "x")
        page.keyboard.press("Tab")
        page.locator("#shown .refused", has_text="--units must be").wait_for()
        page.fill("#units", "60")
        page.keyboard.press("Tab")
        page.locator('#shown figure[aria-label^="Made up: "]').wait_for()
        page.click("button.main")
        page.wait_for_url("**/try")
        page.click("button.cost")
        page.wait_for_url("**/read/**")
        assert page.locator("main figure svg").count() > 0
        with page.expect_download() as got:
            page.click("text=Report to print and sign")
        report = got.value.path().read_text(encoding="utf-8")
        assert "Signature" in report or "signed" in report.lower()
        assert spent(folder, "mine") == 1
        assert load(folder / f"{verb}.json").unit == unit
        page.locator("nav a", has_text="Ledger").click()
        page.get_by_role("heading", name="mine").wait_for()


ATTACK = """
<form id="f" method="post" action="{place}/publish"><input name="number" value="{number}"></form>
<script>
fetch("{place}/", {{credentials: "include"}}).then((x) => x.text()).then((x) => document.title = x,
  () => document.title = "unread").then(() => document.getElementById("f").submit());
</script>
"""


def test_a_page_of_another_origin_can_neither_read_nor_publish(folder, address):
    from werkzeug.serving import make_server
    from werkzeug.wrappers import Request, Response

    with chromium() as browser:
        context = browser.new_context()
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(address)
        page.wait_for_selector("#path")
        place = page.url.rstrip("/")
        for step, filled_in in (
            ("/", {"path": "people.csv"}),
            ("/protect", {"dataset": "people", "budget": "2"}),
        ):
            page.goto(place + step)
            for name, value in filled_in.items():
                page.fill(f"#{name}", value)
            page.click("button.main")
        page.goto(place + "/ask/quantiles")
        for name, value in DENSITY.items():
            page.locator(f'[name="{name}"]').first.fill(value)
        page.click("button.main")
        page.wait_for_url("**/plan")
        page.goto(place + "/try")
        number = page.get_attribute("[name=number]", "value")
        # Even one that knows all but the cookie, on this very machine and on another port.
        attack = ATTACK.format(place=place, number=number)
        served = make_server(
            "127.0.0.1", 0, Request.application(lambda asked: Response(attack, mimetype="text/html"))
        )
        threading.Thread(target=served.serve_forever, daemon=True).start()
        try:
            for host in ("127.0.0.1", "localhost"):
                attacker = context.new_page()
                with attacker.expect_response(lambda answer: "/publish" in answer.url) as posted:
                    attacker.goto(f"http://{host}:{served.port}/")
                assert posted.value.status in (401, 403)
        finally:
            served.shutdown()
            served.server_close()
        assert spent(folder) == 0
        page.click("button.cost")
        page.wait_for_url("**/read/age**")
        assert spent(folder) == 0.5
