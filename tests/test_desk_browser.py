"""The desk in a real browser: by keyboard alone, on a phone, in the dark, beside an attacker's page."""

import threading

import matplotlib as mpl
import numpy as np
import pytest

from browser import SCHEMES, WIDTHS, chromium, faults
from desks import DENSITY, SLOW, STEPS, spent, start, write
from dpfda import Ledger, load
from dpfda.front.desk import session as desk_session
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
    stop(server, desk)


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
        with page.expect_response(lambda answer: "/plan?live" in answer.url):
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
        # Narrow: what is wrong with a form's first field is in sight, however long the form.
        page.goto(place + "/ask/quantiles")
        page.fill("#epsilon", "-1")
        page.locator("#shown .refused", has_text="--epsilon must be").wait_for()
        box = page.locator("#shown").bounding_box()
        assert 0 < box["y"] <= 900 - box["height"]
        assert page.evaluate("document.documentElement.scrollHeight") > 1800
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


def to_the_button(page, address):
    """Go from the link to the page with the button that costs; where the desk's pages are."""
    page.set_default_timeout(PATIENCE)
    page.goto(address)
    page.wait_for_selector("#path")
    place = page.url.rstrip("/")
    for filled_in, following in (
        ({"path": "people.csv"}, "protect"),
        ({"dataset": "people", "budget": "2"}, "ask"),
    ):
        for name, value in filled_in.items():
            page.fill(f"#{name}", value)
        page.click("button.main")
        page.wait_for_url(f"**/{following}")
    page.goto(place + "/ask/quantiles")
    for name, value in DENSITY.items():
        page.locator(f'[name="{name}"]').first.fill(value)
    page.click("button.main")
    page.wait_for_url("**/plan")
    page.goto(place + "/try")
    return place


def stop(server, desk):
    """End a desk."""
    server.shutdown()
    server.server_close()
    desk.publications.join()
    desk.uploads.close()


STOPPED = "The desk was stopped"


def test_a_desk_that_was_stopped_is_said_and_the_next_one_goes_on(folder):
    server, desk, link = serve(folder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with chromium() as browser:
        context = browser.new_context()
        page, form = context.new_page(), context.new_page()
        place = to_the_button(page, link)
        form.set_default_timeout(PATIENCE)
        form.goto(place + "/ask/quantiles")
        port = server.port
        stop(server, desk)
        page.click("button.cost")
        page.locator("form .refused", has_text=STOPPED).wait_for()
        # What was filled in stays in sight, while one types and where it is sent.
        form.fill("#epsilon", "0.25")
        form.locator("#shown .refused", has_text=STOPPED).wait_for()
        form.click("button.main")
        form.locator("form .refused", has_text=STOPPED).wait_for()
        assert form.input_value("#epsilon") == "0.25"
        # The next one, at the same address, takes nothing from a page of the one before.
        server, desk, link = serve(folder, port)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            page.click("button.cost")
            form.fill("#epsilon", "0.5")
            form.locator("#shown .refused", has_text=STOPPED).wait_for()
            assert page.url == place + "/try"
            assert spent(folder) == 0
            place = to_the_button(page, link)
            page.click("button.cost")
            # Closed in the middle: the release is found all the same, and charged once.
            page.wait_for_url(lambda url: "/publish" in url or "/read/" in url)
            page.close()
            desk.publications.join()
            form.goto(place + "/read")
            form.click("main >> text=age")
            form.wait_for_selector("a[href$='/report.html']")
            assert spent(folder) == 0.5
            form.goto(place + "/ledger")
            assert form.locator("tr", has_text="age.json").count() == 1
        finally:
            stop(server, desk)


def test_what_is_too_large_is_said(folder, address, monkeypatch):
    monkeypatch.setattr(desk_session, "LARGEST_FILE", 10_000)
    write(folder / "large.csv", ["a", *["1"] * 10_000])
    with chromium() as browser:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(address)
        page.wait_for_selector("#path")
        place = page.url.rstrip("/")
        page.set_input_files("#upload", folder / "large.csv")
        page.click("button.main")
        page.locator(".refused", has_text="What was sent is too large").wait_for()
        page.click("text=To the first step")
        page.wait_for_selector("#path")
        sent = """(place) => fetch(place + "/publish", {method: "POST", body: new URLSearchParams(
            {mark: document.querySelector("[name=mark]").value, number: "x".repeat(2 ** 18)}
        )}).then((answer) => answer.status)"""
        assert page.evaluate(sent, place) == 413


ATTACK = """
<form id="f" method="post" action="{place}/publish"><input name="number" value="{number}">
<input name="mark" value="{mark}"></form>
<script>
const all = {{credentials: "include"}};
const large = {{...all, method: "POST", mode: "no-cors", body: "x".repeat(2 ** 19)}};
fetch("{place}/", all).then((x) => x.text())
  .then(console.log, () => console.log("unread"))
  .then(() => fetch("{place}/", large)).catch(() => 0)
  .then(() => document.getElementById("f").submit());
</script>
"""
# What a name that was made to point here asks of the desk, as of its own server.
REBOUND = """([path, sent]) => Promise.all([
  fetch(path + "/", {credentials: "include"}),
  fetch(path + "/publish", {method: "POST", credentials: "include", body: new URLSearchParams(sent)}),
]).then((answers) => Promise.all(answers.map(async (x) => [x.status, await x.text()])))"""


def test_a_page_of_another_origin_can_neither_read_nor_publish(folder, address):
    from werkzeug.serving import make_server
    from werkzeug.wrappers import Request, Response

    with chromium("--host-resolver-rules=MAP evil.example 127.0.0.1") as browser:
        context = browser.new_context()
        page = context.new_page()
        place = to_the_button(page, address)
        number, mark = (page.get_attribute(f"[name={name}]", "value") for name in ("number", "mark"))
        # Even one that knows all but the cookie, on this very machine and on another port.
        attack = ATTACK.format(place=place, number=number, mark=mark)
        served = make_server(
            "127.0.0.1", 0, Request.application(lambda asked: Response(attack, mimetype="text/html"))
        )
        threading.Thread(target=served.serve_forever, daemon=True).start()
        try:
            for host in ("127.0.0.1", "localhost", "evil.example"):
                attacker, asked, told = context.new_page(), [], []
                attacker.on("request", lambda request, asked=asked: asked.append(request.url))
                attacker.on("console", lambda message, told=told: told.append(message.text))
                attacker.set_default_timeout(PATIENCE)
                with attacker.expect_response(lambda answer: "/publish" in answer.url) as posted:
                    attacker.goto(f"http://{host}:{served.port}/")
                assert len([url for url in asked if url.startswith(place)]) == 3
                assert posted.value.status in (401, 403)
                # The page's own script could not even see that it was refused.
                assert "unread" in told
        finally:
            served.shutdown()
            served.server_close()
        # The desk's own port under a name of the attacker's: no address of it is answered.
        desk, path = place.rsplit("/", 1)
        rebound = context.new_page()
        evil = desk.replace("127.0.0.1", "evil.example")
        for step in (f"/{path}/", f"/{path}/try", "/open/any"):
            assert rebound.goto(evil + step).status == 421
        sent = {"number": number, "mark": mark}
        assert rebound.evaluate(REBOUND, [f"/{path}", sent]) == [[421, "421 Misdirected Request\n"]] * 2
        assert spent(folder) == 0
        page.click("button.cost")
        page.wait_for_url("**/read/age**")
        assert spent(folder) == 0.5


def test_a_desk_that_was_killed_while_it_published_is_said_and_charged_once(folder):
    (folder / "kept").mkdir()
    with chromium() as browser:
        process, link = start(folder, SLOW.replace("1.5", "600"))
        with process:
            try:
                page = browser.new_page()
                to_the_button(page, link[1] + link[2])
                page.click("button.cost")
                # The page that says so is there before the desk is not.
                page.wait_for_url("**/published/**")
                while not (folder / "charged").exists():
                    page.wait_for_timeout(50)
            finally:
                process.kill()
            page.locator(".refused", has_text=STOPPED).wait_for()
    # It was charged before it was written, which never came.
    assert spent(folder) == 0.5
    assert not (folder / "age.json").exists()


def test_a_file_is_dropped_on_its_field(folder, address, tmp_path):
    dropped = tmp_path / "dropped.csv"
    dropped.write_bytes((folder / "people.csv").read_bytes())
    with chromium() as browser:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(address)
        field = page.locator("input[type=file]")
        field.scroll_into_view_if_needed()
        box = field.bounding_box()
        at = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        files = {"items": [], "files": [str(dropped)], "dragOperationsMask": 1}
        for event in ("dragEnter", "dragOver", "drop"):
            page.context.new_cdp_session(page).send(
                "Input.dispatchDragEvent", {"type": event, **at, "data": files}
            )
        page.wait_for_function("document.querySelector('input[type=file]').files.length == 1")
        page.locator("form", has=field).locator("button").click()
        page.wait_for_url("**/protect")
        page.goto(page.url.removesuffix("protect"))
        assert "dropped.csv" in page.content()
