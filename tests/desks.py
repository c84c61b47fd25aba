"""A desk without a socket, and who visits it."""

import os
import re
import subprocess
import sys

from dpfda import Ledger
from dpfda.front.desk.server import make_app
from dpfda.front.desk.session import Desk, Guard

HOST = "127.0.0.1:8600"
# A form that asks for a density of the people's age.
DENSITY = {"column.0": "age", "column.1": "0", "column.2": "100", "epsilon": "0.5", "name": "age"}
STEPS = ("/", "/protect", "/ask", "/ask/mean", "/plan", "/try", "/read", "/ledger", "/explore/")
# A release that waits once it is charged.
SLOW = """
import time
import dpfda.command.publishing as publishing
written = publishing.write_release
def slow(*arguments):
    open("charged", "w").close()
    time.sleep(1.5)
    return written(*arguments)
publishing.write_release = slow
"""


def start(folder, code=""):
    """A desk of its own process, and a way to ask it."""
    # Whatever the tests themselves were started with.
    patched = "import signal, sys\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    patched += f"signal.signal(signal.SIGHUP, signal.SIG_DFL)\n{code}\nfrom dpfda.front import main\n"
    patched += "sys.argv = ['dpfda', 'desk', '--no-browser']\nmain()\n"
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", patched], stdout=subprocess.PIPE, text=True, cwd=folder,
        env=os.environ | {"TMPDIR": str(folder / "kept")},
    )  # fmt: skip
    link = re.match(r"Desk: (http://127\.0\.0\.1:\d+)(/open/\S+)\n", process.stdout.readline())
    process.stdout.readline()
    return process, link


class Visitor:
    """A browser that opened the link of a desk."""

    def __init__(self, folder, enter=True):
        self.guard = Guard(frozenset({HOST}))
        self.token = self.guard.token
        self.desk = Desk(folder, self.guard)
        self.client = make_app(self.desk).test_client()
        if enter:
            assert self.client.get(f"/open/{self.token}", base_url=f"http://{HOST}").status_code == 200

    def close(self):
        """Wait for what was begun, and remove what came through the browser."""
        self.desk.publications.join()
        self.desk.uploads.close()

    def get(self, step, **headers):
        """The answer to a page of the desk."""
        return self.ask("GET", self.guard.place + step, headers=headers)

    def post(self, step, sent=None, /, **fields):
        """The answer to a form of the desk."""
        sent = {"mark": self.guard.mark, **(sent or {}), **fields}
        origin = {"Origin": f"http://{HOST}"}
        return self.ask("POST", self.guard.place + step, data=sent, headers=origin)

    def ask(self, method, path, host=HOST, **more):
        """The answer to any request."""
        return self.client.open(path, method=method, base_url=f"http://{host}", **more)

    def begin(self, file, dataset="people", budget="2", groups="", **opening):
        """Open a file and say what is protected."""
        opened = self.post("/", path=str(file), public="yes", **opening)
        assert went(opened) == "/protect", said(opened)
        answer = self.post(
            "/protect", groups=groups, ledger="budget.ledger", dataset=dataset, budget=budget
        )
        assert went(answer) == "/ask", said(answer)

    def number(self):
        """The one-use number of the page with the button that costs."""
        return re.search(r'name="number" value="([\w-]+)"', self.get("/try").text)[1]

    def publish(self, number):
        """Publish, and wait; where the browser is sent then."""
        sent = self.post("/publish", number=number)
        self.desk.publications.join()
        return self.get(went(sent))


def write(path, rows):
    """A table as a file."""
    path.write_text("\n".join(rows) + "\n")


def people(many, shift=0):
    """Rows of persons with an age, a follow-up, an ending and an arm."""
    rows = [
        f"{i},{20 + (7 * i + shift) % 60},{1 + (i + shift) % 9}.5,{(i + shift) % 3 % 2},{'ab'[i % 2]}"
        for i in range(many)
    ]
    return ["person,age,years,died,arm", *rows]


def spent(folder, dataset="people"):
    """Epsilon that a data set has spent."""
    return Ledger(folder / "budget.ledger").spent(dataset)["epsilon"]


def went(answer):
    """Where an answer leads to, without the secret part."""
    return re.sub(r"^/[\w-]+", "", answer.headers.get("Location", ""))


def said(answer):
    """The words of a page."""
    text = re.sub(r"<(style|script|svg)\b.*?</\1>", " ", answer.text, flags=re.S)
    return " ".join(re.sub(r"<[^>]+>", " ", text).replace("&#39;", "'").split())
