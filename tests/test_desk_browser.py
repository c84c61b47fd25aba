"""The desk in a real browser: by keyboard alone, on a phone, in the dark, beside an attacker's page."""

import threading

import matplotlib as mpl
import pytest

from browser import SCHEMES, WIDTHS, chromium, faults
from desks import DENSITY, STEPS, spent
from dpfda import Ledger
from dpfda.front.desk.server import serve

mpl.use("Agg")
# What comes out is tested; elsewhere, how exact the bands in it are.
pytestmark = pytest.mark.usefixtures("few_draws")


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
        page.locator("#checked .refused", has_text="--domain must be two numbers").wait_for()
        assert page.locator("[name=domain]").last.get_attribute("aria-invalid") == "true"
        page.locator("[name=domain]").last.focus()
        page.keyboard.press("ControlOrMeta+a")
        page.keyboard.insert_text("10")
        page.locator("#checked .fine").wait_for()
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
        page.wait_for_url("**/read/**")
        assert len(Ledger(folder / "budget.ledger").releases("people")) == 1


def test_narrow_and_wide_light_and_dark(folder, address):
    with chromium() as browser:
        context = browser.new_context()
        page, asked, told = context.new_page(), [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: told.append(str(error)))
        page.on("console", lambda message: told.append(message.text))
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
        page.wait_for_url("**/read/age**")
        assert len(Ledger(folder / "budget.ledger").releases("people")) == 1
        forms = ("/ask/mean", "/ask/effects", "/ask/quantiles", "/read/age")
        for width, scheme in zip(WIDTHS, SCHEMES, strict=True):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            for step in (*STEPS, *forms):
                page.goto(place + step)
                page.evaluate("document.querySelectorAll('details').forEach((each) => each.open = true)")
                assert faults(page) == [], step
                assert page.evaluate("document.documentElement.scrollWidth") <= width, step
        assert all(url.startswith(address.partition("/open")[0]) or url == "data:," for url in asked)
        assert [text for text in told if "422" not in text] == []


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
