"""The explorer, a page of the desk: what is shown, and that its commands can be typed as they stand."""

import json
import re
import shlex
import signal
import subprocess
import sys
import threading
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, Request, build_opener, urlopen

import matplotlib as mpl
import numpy as np
import pytest
from typer.testing import CliRunner

from browser import SCHEMES, WIDTHS, chromium, faults
from desks import Visitor
from dpfda import load
from dpfda.errors import ParameterError
from dpfda.front.app import app
from dpfda.front.desk import explorer as room
from dpfda.front.desk.examples import SHAPES
from dpfda.front.desk.explorer import KERNELS, NEIGHBOURS, Setting
from dpfda.front.desk.server import serve
from dpfda.front.verbs import declared_verbs

mpl.use("Agg")


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def get(explorer, path=""):
    """Status and text of an answer."""
    answer = explorer.get("/explore/" + path)
    return answer.status_code, answer.text


@pytest.fixture(scope="module")
def explorer(tmp_path_factory):
    visitor = Visitor(tmp_path_factory.mktemp("desk"))
    yield visitor
    visitor.close()


def test_it_is_a_page_of_the_desk(explorer):
    status, text = get(explorer)
    assert status == 200
    assert 'aria-current="step">Explore<' in text
    assert get(explorer, "x")[0] == 404
    assert explorer.post("/explore/").status_code == 405


def test_it_takes_no_file():
    names = {option.flag for option in declared_verbs()["explore"].all_options()}
    assert names == {"--port", "--no-browser"}
    fields = set(Setting.__dataclass_fields__)
    assert fields == {
        "shape", "epsilon", "delta", "curves", "low", "high", "points", "kernel", "neighbours"
    }  # fmt: skip
    assert run("explore", "private.csv").exit_code == 2


def test_what_is_shown_is_what_was_asked(explorer):
    status, text = get(explorer, "?live=1&" + urlencode({"shape": "height", "epsilon": "0.25"}))
    assert status == 200
    for words in ("0.25-differential privacy (pure)", "Height of a child", "--epsilon 0.25", "<svg"):
        assert words in text
    assert "<html" not in text
    whole = get(explorer, "?" + urlencode({"shape": "height", "epsilon": "0.25"}))[1]
    assert "What is promised" in whole
    assert re.search(r'<option value="height" selected', whole)


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({"epsilon": "0"}, "epsilon must lie between 0.01 and 20 here"),
        ({"epsilon": "<b>"}, "epsilon must be a finite number"),
        ({"curves": "1.5"}, "curves must be an integer"),
        ({"curves": "1000000000"}, "curves must be an integer"),
        ({"points": "5000"}, "points must be an integer"),
        ({"low": "7", "high": "3"}, "bounds must"),
        ({"low": "nan", "high": "3"}, "low must"),
        ({"low": "x", "high": "3"}, "low must be a number"),
        ({"kernel": "rbf:0.001%"}, "kernel must be one of"),
        ({"shape": "mine.csv"}, "shape must be one of"),
    ],
)
def test_what_cannot_be_used_is_said(explorer, sent, words):
    status, text = get(explorer, "?live=1&" + urlencode(sent))
    assert status == 422
    assert words in text
    assert "<b>" not in text
    whole = get(explorer, "?" + urlencode(sent))
    assert whole[0] == 422
    assert words in whole[1]


def test_bounds_of_another_shape_are_put_back():
    bounds = {"low": "0", "high": "5"}
    assert Setting.read({"shape": "height", "was": "load", **bounds}).high == 210
    assert Setting.read({"shape": "height", "was": "height", **bounds}).high == 5
    assert Setting.read({"shape": "height"}).low == 60


def test_the_noise_is_fresh_and_of_the_size_that_is_foretold():
    setting = Setting(curves=480)
    once, again = setting.imagine(), setting.imagine()
    assert once.release.noisy_sum != again.release.noisy_sum
    # Less noise than 1e-6 of the bounds: what is released is the mean of the people.
    quiet = Setting(curves=1_000_000, epsilon="20", kernel="exponential:10%").imagine()
    grid, (_, bounded) = quiet.release.grid_points, quiet.means
    assert np.max(np.abs(quiet.release(grid) - bounded)) < 0.05


def test_people_in_excess_of_whole_rounds_count():
    """The mean of n people is that of the first n, round after round, in exact integers."""
    shape = SHAPES["load"]
    curves = shape.curves(48)
    for count in (100, 997, 2500):
        made = Setting(curves=count).imagine()
        every = curves[np.arange(count) % len(curves)].clip(0, 5)
        assert np.allclose(made.means[1], every.mean(axis=0))


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_is_drawn_within_its_bounds(name):
    shape = SHAPES[name]
    curves = shape.curves(24)
    assert np.isfinite(curves).all()
    assert shape.bounds[0] <= curves.min() < curves.max() <= shape.bounds[1]
    assert "no value" in Setting.read({"shape": name}).imagine().facts["Bounds"]
    assert shape.labels["value"].endswith(")")


def test_what_bounds_cut_is_said():
    facts = Setting(high=1.0).imagine().facts
    assert re.match(r"\d+\.\d% of the values lie outside", facts["Bounds"])


@pytest.mark.parametrize(
    "setting",
    [
        Setting(),
        Setting("temperature", "0.3", "1e-6", 1000, -20, 45, 24, "matern:30%:2.5"),
        Setting("height", "2", neighbours="add-remove", low=60, high=210),
    ],
)
def test_the_commands_can_be_typed_as_they_stand(setting, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = setting.imagine()
    plan, mean = (shlex.split(typed)[1:] for typed in made.commands().values())
    shown = run(*plan, "--json")
    assert shown.exit_code == 0, shown.output
    told = json.loads(shown.output)
    assert told["guarantee"] == str(made.plan.guarantee)
    foretold = made.plan.typical(made.plan.expected_error(room.DRAWS).total)
    assert told["expected"]["typical"] == pytest.approx(foretold, rel=0.15)
    curves = made.shape.curves(setting.points)
    header = ",".join(f"t{i}" for i in range(setting.points))
    np.savetxt("curves.csv", curves, delimiter=",", header=header, comments="")
    published = run(*mean)
    assert published.exit_code == 0, published.output
    release = load("mean.json")
    assert str(release.guarantee) == str(made.release.guarantee)
    assert release.unit == made.shape.unit
    assert release.neighbours == made.release.neighbours
    assert np.allclose(release.grid_points, made.release.grid_points)
    assert release.view().title.split(" of ")[0] == made.release.view().title.split(" of ")[0]


def test_all_choices_of_the_page_are_taken():
    for kernel in KERNELS:
        for neighbours in NEIGHBOURS:
            setting = Setting.read({"kernel": kernel, "neighbours": neighbours, "points": "12"})
            assert setting.imagine().release.neighbours == neighbours


def test_a_server_on_loopback_answers_who_has_the_link(tmp_path):
    server, desk, link = serve(tmp_path)
    assert server.server_address[0] == "127.0.0.1"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    browser = build_opener(HTTPCookieProcessor())
    try:
        entrance = browser.open(link + "?explore").read().decode()
        address = link.partition("/open")[0] + re.search(r"url=([^\"]+)", entrance)[1]
        with browser.open(address) as answer:
            assert b"Imaginary releases of a mean curve" in answer.read()
        with pytest.raises(HTTPError, match="401"):
            urlopen(address)  # noqa: S310
        with pytest.raises(HTTPError, match="421"):
            browser.open(Request(address, headers={"Host": "attacker.example"}))  # noqa: S310
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        desk.uploads.close()


def test_the_command_says_where_and_stops_at_an_interrupt():
    # In the background of a shell an interrupt is ignored, and so it is in what is started there.
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    typed = [sys.executable, "-c", heard + "from dpfda.front import main; main()"]
    process = subprocess.Popen(  # noqa: S603
        [*typed, "explore", "--no-browser"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    first = process.stdout.readline()
    assert re.fullmatch(r"Explorer: http://127\.0\.0\.1:\d+/open/[\w-]{20,}\?explore\n", first)
    port = re.search(r":(\d+)/", first)[1]
    taken = run("explore", "--no-browser", "--port", port)
    assert taken.exit_code == 1
    assert "in use" in taken.output
    process.send_signal(signal.SIGINT)
    rest, errors = process.communicate(timeout=30)
    assert process.returncode == 0
    assert rest.endswith("stopped\n")
    assert errors == ""


def test_a_port_that_is_none_is_refused():
    found = run("explore", "--port", "70000", "--no-browser")
    assert found.exit_code == 2
    assert "--port must lie between 0 and 65535; found 70000" in " ".join(found.output.split())
    with pytest.raises(ParameterError, match=r"delta must lie between 0 and 0\.001 here"):
        Setting(delta="0.5").checked()


def test_in_a_browser(tmp_path):
    """Narrow and wide, light and dark: no fault that a checker finds, nothing fetched from elsewhere."""
    server, desk, link = serve(tmp_path)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with chromium() as browser:
            first = browser.new_context()
            entered = first.new_page()
            entered.goto(link + "?explore")
            entered.wait_for_url("**/explore/**")
            address, known = entered.url.partition("?")[0], first.storage_state()
            for width, scheme in zip(WIDTHS, SCHEMES, strict=True):
                context = browser.new_context(
                    viewport={"width": width, "height": 900}, color_scheme=scheme, storage_state=known
                )
                page = context.new_page()
                asked, told = [], []
                page.on("request", lambda request, asked=asked: asked.append(request.url))
                page.on("pageerror", lambda error, told=told: told.append(str(error)))
                page.goto(address)
                page.locator("#shown:not([aria-busy])").wait_for()
                page.focus("[aria-label='Epsilon, slider']")
                with page.expect_response(lambda answer: "live" in answer.url):
                    page.keyboard.press("PageDown")
                page.locator("pre", has_text="--epsilon 0.47").first.wait_for()
                assert page.input_value("#epsilon") == "0.47"
                assert "epsilon=0.47" in page.url
                assert faults(page) == []
                assert page.evaluate("document.documentElement.scrollWidth") <= width
                assert all(url.startswith(address) or url == "data:," for url in asked)
                assert told == []
                context.close()
            # Without scripts the form alone does it.
            page = browser.new_context(java_script_enabled=False, storage_state=known).new_page()
            page.goto(address)
            page.fill("#epsilon", "0.2")
            page.click("button")
            page.locator("pre", has_text="--epsilon 0.2").first.wait_for()
    finally:
        server.shutdown()
        server.server_close()
        desk.uploads.close()
